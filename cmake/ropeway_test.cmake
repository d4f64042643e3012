# ropeway_test(NAME SOURCES... LIBRARIES libs...): one Criterion binary, one ctest entry.
# Criterion and nng both export nanomsg's symbols: unit tests must not link nng.
function(ropeway_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBRARIES} PkgConfig::CRITERION)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS unit
    ENVIRONMENT "ASAN_OPTIONS=abort_on_error=1")
endfunction()

# ropeway_pure(TARGET): proves by nm -u that a pure library does no I/O and calls no clock.
function(ropeway_pure target)
  add_test(NAME pure_${target}
    COMMAND ${CMAKE_SOURCE_DIR}/tests/check_symbols pure $<TARGET_FILE:${target}>)
  set_tests_properties(pure_${target} PROPERTIES LABELS unit)
endfunction()
