# -DBUILD=folder -DSOURCE=folder -DWORK=folder -DGENERATOR=name -DCXX_COMPILER=file -DCUDA_COMPILER=file
# "-DCUDA_ARCHITECTURES=list"
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/examples/matrix_product DESTINATION ${WORK})

function(succeed)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

succeed(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/occbench)
file(GLOB_RECURSE package_files ${WORK}/occbench/*.cmake)
foreach(file IN LISTS package_files)
  file(STRINGS ${file} lines)
  foreach(folder IN ITEMS ${SOURCE} ${BUILD})
    if("${lines}" MATCHES "${folder}/(src|cmake|include)")
      message(FATAL_ERROR "${file} of the package names the source tree or its build")
    endif()
  endforeach()
endforeach()

succeed(${CMAKE_COMMAND} -S ${WORK}/matrix_product -B ${WORK}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/occbench
        -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER}
        "-DCMAKE_CUDA_ARCHITECTURES=${CUDA_ARCHITECTURES}" -DCMAKE_BUILD_TYPE=Release)
succeed(${CMAKE_COMMAND} --build ${WORK}/build)
succeed(${WORK}/build/bench_matrix_product --help)
if(NOT output MATCHES "matrix_product: the tile that fills the SMs best is the fastest")
  message(FATAL_ERROR "the bench binary does not know its experiment:\n${output}")
endif()
