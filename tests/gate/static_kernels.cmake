# cmake -DOCCBENCH=program -DLIBRARY=archive -DBASELINE=rows -DROWS=rows -P static_kernels.cmake
#
# The kernels of a build, of one architecture, need no more registers, shared memory or spills than was recorded.
get_filename_component(architecture ${BASELINE} NAME_WE)
execute_process(COMMAND ${OCCBENCH} calc --from ${LIBRARY} --arch ${architecture} --format csv
                OUTPUT_FILE ${ROWS} ERROR_VARIABLE messages RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "occbench calc: ${messages}")
endif()
execute_process(COMMAND ${OCCBENCH} gate ${BASELINE} ${ROWS} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the gate ended with ${status}: if the change is meant, record the baseline again by scripts/kernels --record")
endif()
