# cmake -DSCRIPT=cmake/build_commit.cmake -DFOLDER=scratch -P build_commit_test.cmake
#
# The commit that every row carries: of a clean checkout, of one with changes, outside git, given by hand.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/checkout ${FOLDER}/checkout/unpacked)
set(header ${FOLDER}/commit.hpp)

function(git)
  execute_process(COMMAND git -C ${FOLDER}/checkout -c user.name=test -c user.email=test@example.org ${ARGN}
                  OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(output ${output} PARENT_SCOPE)
endfunction()

function(expect source wanted)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DHEADER=${header} ${ARGN} -P ${SCRIPT} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${header} text)
  if(NOT text MATCHES "\"${wanted}\"")
    message(FATAL_ERROR "expected the commit ${wanted}, found: ${text}")
  endif()
endfunction()

file(WRITE ${FOLDER}/checkout/CMakeLists.txt "one\n")
file(WRITE ${FOLDER}/checkout/unpacked/CMakeLists.txt "a source archive unpacked inside somebody's checkout\n")
git(init -q)
git(add CMakeLists.txt)
git(commit -q -m one)
git(tag -m "a tag must not stand in for the hash" v1)
git(rev-parse --short=12 HEAD)
set(commit ${output})

expect(${FOLDER}/checkout ${commit})
file(TIMESTAMP ${header} before "%s.%f")
expect(${FOLDER}/checkout ${commit})
file(TIMESTAMP ${header} after "%s.%f")
if(NOT before STREQUAL after)
  message(FATAL_ERROR "the header was written again though nothing had changed: every build would compile")
endif()
expect(${FOLDER}/checkout/unpacked unknown)
file(APPEND ${FOLDER}/checkout/CMakeLists.txt "two\n")
expect(${FOLDER}/checkout ${commit}-dirty)
expect(${FOLDER}/checkout 0123abc -DCOMMIT=0123abc)
