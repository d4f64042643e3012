# llhttp >= 9.3, the HTTP/1.1 parser: the system's where it is new enough, else sources.
# Sources are looked for in ROPEWAY_LLHTTP_DIR, the build tree and the user's cache; the
# set-up step puts them there. Older parsers accept known request-smuggling bytes.
include_guard(GLOBAL)
pkg_check_modules(LLHTTP_SYSTEM QUIET IMPORTED_TARGET libllhttp>=9.3)
if(LLHTTP_SYSTEM_FOUND)
  add_library(ropeway_llhttp ALIAS PkgConfig::LLHTTP_SYSTEM)
  return()
endif()

file(GLOB llhttp_cached $ENV{HOME}/.cache/ropeway/llhttp-*)
find_path(ROPEWAY_LLHTTP_DIR include/llhttp.h
  HINTS ${CMAKE_BINARY_DIR}/llhttp ${llhttp_cached} NO_DEFAULT_PATH)
if(NOT ROPEWAY_LLHTTP_DIR)
  message(FATAL_ERROR "llhttp >= 9.3 was not found: run ./serve or ./check, which fetch its "
    "sources, or pass -DROPEWAY_LLHTTP_DIR=<folder with include/llhttp.h and src/>")
endif()

file(STRINGS ${ROPEWAY_LLHTTP_DIR}/include/llhttp.h llhttp_lines
  REGEX "#define LLHTTP_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" llhttp_version
  "${llhttp_lines}")
if(llhttp_version VERSION_LESS 9.3)
  message(FATAL_ERROR "llhttp ${llhttp_version} in ${ROPEWAY_LLHTTP_DIR} is older than 9.3")
endif()

add_library(ropeway_llhttp STATIC ${ROPEWAY_LLHTTP_DIR}/src/api.c
  ${ROPEWAY_LLHTTP_DIR}/src/http.c ${ROPEWAY_LLHTTP_DIR}/src/llhttp.c)
target_include_directories(ropeway_llhttp SYSTEM PUBLIC ${ROPEWAY_LLHTTP_DIR}/include)
target_compile_options(ropeway_llhttp PRIVATE -w) # generated code, not ours to warn about
