# Every dependency is found, never fetched; what is missing is named with the package that has it.
# A macro, so that what the package sets is seen here.
macro(occ_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} ${ARGN} was not found. On Debian and Ubuntu: apt-get install ${debian_package}")
  endif()
endmacro()

find_package(Threads REQUIRED)
occ_require(fmt libfmt-dev)
occ_require(CLI11 libcli11-dev)
occ_require(nlohmann_json nlohmann-json3-dev)
occ_require(ZLIB zlib1g-dev)
if(OCCBENCH_CUDA OR OCCBENCH_TESTS)
  occ_require(benchmark libbenchmark-dev 1.7)
endif()
if(OCCBENCH_TESTS)
  occ_require(GTest libgtest-dev)
endif()

if(OCCBENCH_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "No CUDA compiler (nvcc) was found. Install the CUDA Toolkit 12.6 or later and put nvcc on "
                        "the PATH, or build without it: cmake --preset cpu")
  endif()
  enable_language(CUDA)
  # CMake 3.25 does not know yet that nvcc compiles C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  # CMake 3.25's FindCUDAToolkit marks this target as deprecated without looking whether the toolkit has the library,
  # which CUDA 13 has not, and stops. A target of that name that nothing links lets it pass.
  if(CMAKE_VERSION VERSION_LESS 3.26)
    add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
  endif()
  find_package(CUDAToolkit 12.6 QUIET)
  if(NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "CUDA Toolkit 12.6 or later was not found beside ${CMAKE_CUDA_COMPILER}; its CUPTI has the "
                        "Range Profiler that occbench reads counters with.")
  endif()
  # CMake takes nvcc's library folder from its verbose output, and cuts it at a space in the path.
  link_directories("${CUDAToolkit_LIBRARY_DIR}")
  # A toolkit assembled from wheels has no extras/CUPTI: FindCUDAToolkit then sees only the library.
  find_path(OCCBENCH_CUPTI_INCLUDE cupti_range_profiler.h
            PATHS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include
            NO_DEFAULT_PATH)
  find_library(OCCBENCH_CUPTI_LIBRARY cupti
               PATHS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/lib64
               NO_DEFAULT_PATH)
  if(NOT OCCBENCH_CUPTI_INCLUDE OR NOT OCCBENCH_CUPTI_LIBRARY)
    message(FATAL_ERROR "CUPTI with cupti_range_profiler.h was not found in ${CUDAToolkit_LIBRARY_ROOT}. "
                        "Install the toolkit's CUPTI component (package cuda-cupti-dev-*).")
  endif()
  add_library(occ_cupti INTERFACE)
  target_include_directories(occ_cupti SYSTEM INTERFACE ${OCCBENCH_CUPTI_INCLUDE})
  target_link_libraries(occ_cupti INTERFACE ${OCCBENCH_CUPTI_LIBRARY})
  get_filename_component(occ_cupti_folder ${OCCBENCH_CUPTI_LIBRARY} DIRECTORY)
  # The toolkit of the machine that runs, where the folder is the usual one, serves as well as the one that built.
  list(APPEND CMAKE_BUILD_RPATH ${occ_cupti_folder} /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64)
endif()
