# Every library we link, found once. DESIGN: see docs/ARCHITECTURE.md for why each is here.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# msgpack-c was renamed after Debian 12: both names of the C library are accepted.
find_package(msgpack-c CONFIG QUIET)
if(TARGET msgpack-c)
  add_library(ropeway_msgpack ALIAS msgpack-c)
else()
  find_package(msgpack CONFIG REQUIRED)
  set_target_properties(msgpackc PROPERTIES IMPORTED_GLOBAL TRUE)
  add_library(ropeway_msgpack ALIAS msgpackc)
endif()

find_package(nng CONFIG REQUIRED)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(INIH REQUIRED IMPORTED_TARGET inih)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
if(ROPEWAY_TESTS)
  pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
endif()
