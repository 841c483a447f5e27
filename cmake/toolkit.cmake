# The CUDA toolkit and its CUPTI, for this project and, installed beside its package, for those that use it. CUDA is an
# enabled language.

# CMake 3.25 does not know yet that nvcc compiles C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# CMake 3.25's FindCUDAToolkit marks this target as deprecated without looking whether the toolkit has the library,
# which CUDA 13 has not, and stops. A target of that name that nothing links lets it pass.
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit 12.6 QUIET)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR "CUDA Toolkit 12.6 or later was not found beside ${CMAKE_CUDA_COMPILER}; its CUPTI has the "
                      "Range Profiler that occbench reads counters with.")
endif()
# CMake takes nvcc's library folder from its verbose output, and cuts it at a space in the path.
link_directories("${CUDAToolkit_LIBRARY_DIR}")
# A toolkit assembled from wheels has no extras/CUPTI, and CMake 4 takes another folder for its libraries'.
find_path(OCCBENCH_CUPTI_INCLUDE cupti_range_profiler.h
          PATHS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include
          NO_DEFAULT_PATH)
find_library(OCCBENCH_CUPTI_LIBRARY cupti
             PATHS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64 ${CUDAToolkit_LIBRARY_ROOT}/lib64
             NO_DEFAULT_PATH)
if(NOT OCCBENCH_CUPTI_INCLUDE OR NOT OCCBENCH_CUPTI_LIBRARY)
  message(FATAL_ERROR "CUPTI with cupti_range_profiler.h was not found in ${CUDAToolkit_LIBRARY_ROOT}. "
                      "Install the toolkit's CUPTI component (package cuda-cupti-dev-*).")
endif()
# Its library is opened at run time (src/measure/cupti_library.hpp).
get_filename_component(OCCBENCH_CUPTI_FOLDER ${OCCBENCH_CUPTI_LIBRARY} DIRECTORY)
add_library(occbench::cupti INTERFACE IMPORTED)
target_include_directories(occbench::cupti SYSTEM INTERFACE ${OCCBENCH_CUPTI_INCLUDE})
