# Compiler settings of every target, and two helpers that keep the per-folder lists short.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH FOCUS_ROOT)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

# g++ 12 warns falsely: -Wrestrict on "literal" + std::string at -O3, -Wmaybe-uninitialized inside nlohmann/json,
# -Wmissing-field-initializers on designated initialisers.
add_library(focus_options INTERFACE)
target_compile_options(
  focus_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict
                          -Wno-maybe-uninitialized -Wno-missing-field-initializers -ffp-contract=off
                          $<$<BOOL:${FOCUS_WERROR}>:-Werror>)
if(FOCUS_SANITIZE)
  target_compile_options(focus_options INTERFACE -fsanitize=${FOCUS_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(focus_options INTERFACE -fsanitize=${FOCUS_SANITIZE})
endif()

# focus_library(NAME SOURCES a.cc ... [DEPS target ...]): the static library of one folder.
function(focus_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${FOCUS_ROOT}/src")
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE focus_options)
endfunction()

# focus_test(NAME SOURCES a_test.cc ... [DEPS target ...] [LABELS label ...] [TIMEOUT seconds]): one gtest binary,
# registered case by case. Tests see FOCUS_SOURCE_DIR (the project's root) as a macro.
function(focus_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # GOMP_SPINCOUNT: tests run side by side, and libgomp's idle threads would hold the cores (apps/focus/main.cc).
  # gtest_discover_tests loses all of a list but its first element. ctest matches -L and -LE as regular expressions,
  # so one joined label is found by each of its words.
  string(REPLACE ";" "," labels "${ARG_LABELS}")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} focus_options GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE FOCUS_SOURCE_DIR="${FOCUS_ROOT}")
  gtest_discover_tests(${name} TEST_PREFIX "${name}." DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT GOMP_SPINCOUNT=1000)
endfunction()
