# find_package(occbench): the libraries as occbench::NAME, the command as occbench::occbench, and
#
#   occbench_add_benchmark(NAME source...)
#
# which makes the program bench_NAME of sources that define one `const occbench::Experiment experiment`
# (harness/experiment.hpp) and the kernels that it measures. CUDA has to be an enabled language.
get_property(occbench_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT CUDA IN_LIST occbench_languages)
  set(occbench_FOUND FALSE)
  set(occbench_NOT_FOUND_MESSAGE "occbench needs CUDA: project(... LANGUAGES CXX CUDA)")
  return()
endif()

include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/toolkit.cmake)
find_dependency(fmt)
find_dependency(CLI11)
find_dependency(nlohmann_json)
find_dependency(benchmark)
include(${CMAKE_CURRENT_LIST_DIR}/occbench-targets.cmake)

function(occbench_add_benchmark name)
  add_executable(bench_${name} ${ARGN})
  target_link_libraries(bench_${name} PRIVATE occbench::harness_main)
  set_target_properties(bench_${name} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
                                                 CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
endfunction()
