# AddressSanitizer's checks as calls: they find the same as inline, run longer and are a fifth less to compile.
set(occ_checks_as_calls "")
# What sanitizers make of a module takes GCC a third longer with -O1 than with -Og, and does not run much faster.
set(occ_sanitized_for_debugging "")
if(OCCBENCH_SANITIZE)
  set(occ_checks_as_calls $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=asan-instrumentation-with-call-threshold=0>)
  set(occ_sanitized_for_debugging $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Og>)
endif()

# occ_module(NAME SOURCES file... [LINKS module...] [PUBLIC_LINKS target...] [PRIVATE_LINKS target...] [OPTIMIZED])
#
# OPTIMIZED: the module computes much.
# One folder of the house as one static library. A module sees its own headers and those of the modules it links, as
# "name/header.hpp", and no others: each module's include root holds nothing but itself, so that an include that the
# design does not allow fails to build (tests/cmake/link_rules.cmake shows it).
function(occ_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "" "SOURCES;LINKS;PRIVATE_LINKS;PUBLIC_LINKS")
  set(target occ_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(occbench::${name} ALIAS ${target})
  set(root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${root}>)
  foreach(link IN LISTS arg_LINKS)
    target_link_libraries(${target} PUBLIC occ_${link})
  endforeach()
  target_link_libraries(${target} PUBLIC ${OCC_FMT} ${arg_PUBLIC_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  occ_compile_options(${target})
  if(NOT arg_OPTIMIZED)
    target_compile_options(${target} PRIVATE ${occ_checks_as_calls} ${occ_sanitized_for_debugging})
  endif()
endfunction()

# occ_build_quickly(): a build that is tested and thrown away takes a sixth less processor time.
macro(occ_build_quickly)
  # GCC collects its garbage from 1 GB on, which most modules never need, and not from 128 MB on.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)
  find_program(OCCBENCH_LLD ld.lld)
  if(OCCBENCH_LLD)
    add_link_options($<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>)
  endif()
endmacro()

# occ_compile_quickly(TARGET [SOURCE...]): for targets, or sources of one, that include much, instantiate more and spend their
# time in the libraries that they call. The optimizer and UBSan, which then has every function of those headers to
# instrument, would take two thirds of their compile time.
function(occ_compile_quickly target)
  set(options $<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>:-O0>)
  if(OCCBENCH_SANITIZE)
    list(APPEND options ${occ_checks_as_calls} $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
  endif()
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
  else()
    target_compile_options(${target} PRIVATE ${options})
  endif()
endfunction()

# occ_unite_cuda(VARIABLE): makes one source of this folder's CUDA sources that the variable lists, where a unity build is
# wanted of a CMake that unites no CUDA. nvcc reads each source five times, and most of what it reads is headers.
function(occ_unite_cuda sources)
  if(NOT CMAKE_UNITY_BUILD OR CMAKE_VERSION VERSION_GREATER_EQUAL 3.31)
    return()
  endif()
  list(TRANSFORM ${sources} REPLACE "(.+)" "#include \"${CMAKE_CURRENT_SOURCE_DIR}/\\1\"\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" text)
  set(united ${CMAKE_CURRENT_BINARY_DIR}/united.cu)
  file(CONFIGURE OUTPUT ${united} CONTENT "${text}" @ONLY)
  set(${sources} ${united} PARENT_SCOPE)
endfunction()

function(occ_compile_options target)
  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${warnings}>
                         $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>
                         $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  if(OCCBENCH_WHEEL) # tells nobody where it was built
    set(map -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${map}> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${map}>)
  endif()
  if(OCCBENCH_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings> $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Werror>)
  endif()
  if(OCCBENCH_FUZZ)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
    target_link_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
  if(OCCBENCH_SANITIZE)
    # GCC warns of uninitialized values inside the standard library once it has instrumented it.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # A fifth of GCC's compile time. AddressSanitizer sees what the first two are for; Clang's build of the readers has all.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      list(APPEND sanitizers -fno-sanitize=null,object-size,alignment,vptr)
    endif()
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${sanitizers}>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fsanitize=address>)
    target_link_options(${target} PUBLIC ${sanitizers})
  endif()
endfunction()
