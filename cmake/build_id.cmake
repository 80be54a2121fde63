# cmake -D SOURCE_DIR=... -D VERSION=... -D OUTPUT=FILE -D HEADER=FILE -P build_id.cmake: writes a source, and a header to be
# installed, with what the program is built from: the description of the commit by git, or VERSION where SOURCE_DIR is no work tree of its own. Every build
# runs it; the file is touched only when that has changed.
cmake_minimum_required(VERSION 3.25)

set(id ${VERSION})
set(git ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 git -C ${SOURCE_DIR})
execute_process(COMMAND ${git} rev-parse --show-prefix RESULT_VARIABLE status OUTPUT_VARIABLE prefix ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
if(status EQUAL 0 AND prefix STREQUAL "")  # a prefix: the sources lie in the work tree of something else
  execute_process(COMMAND ${git} describe --tags --always --dirty --abbrev=12 RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0 AND said MATCHES "^[-+._/0-9A-Za-z]+$")
    set(id ${said})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// Generated at each build.
#include \"core/system/build_id.h\"

const char* quadrille::build_id() { return \"@id@\"; }
")
file(CONFIGURE OUTPUT ${HEADER} @ONLY CONTENT "// Generated at each build: what the headers beside this one are of.
#pragma once

#define QUADRILLE_CPP_BUILD \"@id@\"
")
