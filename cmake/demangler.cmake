# occ_demangler: the demangler of GCC's C++ library as an object of its own. The shared C++ library has only
# abi::__cxa_demangle of it, which writes a name to its end whatever that takes: names of 500 characters can stand for
# gigabytes. The archive also has __gcclibcxx_demangle_callback, which tells a name piece by piece.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libsupc++.a OUTPUT_VARIABLE archive
                OUTPUT_STRIP_TRAILING_WHITESPACE)
set(folder ${PROJECT_BINARY_DIR}/demangler)
file(MAKE_DIRECTORY ${folder})
execute_process(COMMAND ${CMAKE_AR} x ${archive} cp-demangle.o WORKING_DIRECTORY ${folder} RESULT_VARIABLE status
                ERROR_QUIET)
if(NOT status EQUAL 0 OR NOT EXISTS ${folder}/cp-demangle.o)
  message(FATAL_ERROR "libsupc++.a of ${CMAKE_CXX_COMPILER} was not found, or has no demangler. On Debian and Ubuntu: "
                      "apt-get install g++; on Fedora: dnf install libstdc++-static")
endif()
set(OCC_DEMANGLER ${folder}/cp-demangle.o)
