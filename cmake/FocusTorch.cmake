# libtorch from the pinned PyPI wheel, CPU half only (docs/decisions/0001-libtorch-from-the-wheel.md):
# find_package(Torch) of that wheel drags in libtorch_cuda, so the target is made by hand.
set(FOCUS_TORCH_VERSION 2.11.0)
file(GLOB focus_torch_guess "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
# find_path looks again as long as it found nothing: a first configure before 'make deps' leaves no trace.
find_path(FOCUS_TORCH_DIR NAMES lib/libtorch_cpu.so PATHS ${focus_torch_guess} NO_DEFAULT_PATH
          DOC "The wheel's torch folder (site-packages/torch)")
if(NOT EXISTS "${FOCUS_TORCH_DIR}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "expected libtorch ${FOCUS_TORCH_VERSION} in FOCUS_TORCH_DIR='${FOCUS_TORCH_DIR}', found none; "
                      "run 'make deps', or set FOCUS_TORCH_DIR to the torch folder of the wheel")
endif()
file(STRINGS "${FOCUS_TORCH_DIR}/version.py" focus_torch_found REGEX "^__version__ = ")
if(NOT focus_torch_found MATCHES "'${FOCUS_TORCH_VERSION}[+']")
  message(FATAL_ERROR "expected torch ${FOCUS_TORCH_VERSION} in ${FOCUS_TORCH_DIR}, found ${focus_torch_found}; run 'make deps'")
endif()

add_library(focus_torch INTERFACE)
# -idirafter: searched after the system's folders, because the wheel carries its own fmt, of another version.
# -fopenmp only compiles: linked is the wheel's libgomp, so that one OpenMP runtime is loaded.
target_compile_options(focus_torch INTERFACE "SHELL:-idirafter ${FOCUS_TORCH_DIR}/include"
                       "SHELL:-idirafter ${FOCUS_TORCH_DIR}/include/torch/csrc/api/include" -fopenmp)
target_compile_definitions(focus_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
target_link_libraries(focus_torch INTERFACE "${FOCUS_TORCH_DIR}/lib/libtorch_cpu.so" "${FOCUS_TORCH_DIR}/lib/libc10.so"
                      "${FOCUS_TORCH_DIR}/lib/libgomp.so.1" Threads::Threads)
target_link_options(focus_torch INTERFACE "-Wl,-rpath,${FOCUS_TORCH_DIR}/lib" "-Wl,-rpath-link,${FOCUS_TORCH_DIR}/lib"
                    "-Wl,--allow-shlib-undefined")
