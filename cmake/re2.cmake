# re2::re2, for this project and, installed beside its package, for those that use it. Debian's package has no CMake package
# of its own.
find_package(re2 CONFIG QUIET)
if(NOT TARGET re2::re2)
  find_path(OCCBENCH_RE2_INCLUDE re2/re2.h)
  find_library(OCCBENCH_RE2_LIBRARY re2)
  if(NOT OCCBENCH_RE2_INCLUDE OR NOT OCCBENCH_RE2_LIBRARY)
    message(FATAL_ERROR "RE2 was not found. On Debian and Ubuntu: apt-get install libre2-dev")
  endif()
  find_package(Threads REQUIRED)
  add_library(re2::re2 INTERFACE IMPORTED)
  target_include_directories(re2::re2 SYSTEM INTERFACE ${OCCBENCH_RE2_INCLUDE})
  target_link_libraries(re2::re2 INTERFACE ${OCCBENCH_RE2_LIBRARY} Threads::Threads)
endif()
