# cmake -DSOURCE=folder -DHEADER=file [-DCOMMIT=text] -P build_commit.cmake
#
# Writes a header with the commit of SOURCE: COMMIT if it is given, else that of the git checkout, else the one that
# `git archive` wrote into archived_commit.txt. A header that says so already is left alone, so that nothing is compiled again.
if(NOT COMMIT)
  # A folder that git does not track may lie inside somebody else's checkout.
  execute_process(COMMAND git -C ${SOURCE} ls-files --error-unmatch CMakeLists.txt
                  RESULT_VARIABLE untracked OUTPUT_QUIET ERROR_QUIET)
  if(untracked EQUAL 0)
    execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty
                    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(NOT COMMIT AND EXISTS ${SOURCE}/cmake/archived_commit.txt)
  file(STRINGS ${SOURCE}/cmake/archived_commit.txt archived REGEX "^[0-9a-f]+$")
  string(SUBSTRING "${archived}" 0 12 COMMIT)
endif()
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
set(text "#pragma once\n\nnamespace occbench {\ninline constexpr const char* kBuildCommit = \"${COMMIT}\";\n}\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${HEADER} "${text}")
endif()
