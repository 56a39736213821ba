# A front for the documented steps; CMake presets do the work. `make` alone prints the targets.
JOBS ?= $(shell nproc)
MINUTES ?= 10

# Libraries and headers of a CUDA toolkit or another environment must not reach the build, the tests or the command.
unexport LD_LIBRARY_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH CUDA_HOME CUDA_PATH

.DEFAULT_GOAL := help
.PHONY: help deps build model test quickstart format tidy clean

help:
	@echo 'make quickstart   install, build, train an adapter on real text, judge it, generate with it'
	@echo '                  (FRESH=1 trains anew, MINUTES=10 of training at most)'
	@echo 'make test         install, build, run the tests (all but those labelled slow)'
	@echo 'make build        install and build: build/release/bin/focus'
	@echo 'make deps         install Debian packages and libtorch; nothing else'
	@echo 'make format       clang-format on all sources'
	@echo 'make tidy         clang-tidy on src/ and apps/'
	@echo 'make clean        remove build/ (out/ and .venv/ stay)'
	@echo 'JOBS=N            parallel jobs, one per core by default'

deps:
	@scripts/deps.sh

# Ninja configures again by itself when a CMakeLists.txt changes, but does not read the presets.
build/release/build.ninja: CMakePresets.json | deps
	cmake --preset release
	@touch $@

build: deps build/release/build.ninja
	cmake --build --preset release -j $(JOBS)

model: deps
	@scripts/fetch_model.py

test: build model
	ctest --preset release -j $(JOBS)

quickstart: build model
	@FRESH=$(FRESH) MINUTES=$(MINUTES) scripts/quickstart.sh

format:
	@scripts/sources.sh | xargs clang-format-14 -i

tidy: deps build/release/build.ninja
	@scripts/tidy.sh $(JOBS)

clean:
	rm -rf build
