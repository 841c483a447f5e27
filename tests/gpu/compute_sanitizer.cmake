# Runs a bench program under one tool of compute-sanitizer, small and with occbench's own counters off.
# -DTOOL=memcheck|racecheck|initcheck|synccheck -DBENCH=file [-DFLAGS=flag;...] [-DFINDS=ON: there is a fault]
# -DTOOLKIT=folder of the toolkit's programs
execute_process(COMMAND ${BENCH} --occ_list RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE errors)
if(status EQUAL 2)
  message("SKIPPED: ${errors}")
  return()
endif()
find_program(sanitizer compute-sanitizer PATHS ${TOOLKIT} /usr/local/cuda/bin)
if(NOT sanitizer)
  message("SKIPPED: there is no compute-sanitizer, in ${TOOLKIT} or on the PATH (package cuda-sanitizer-*)")
  return()
endif()
set(found 86)
execute_process(COMMAND ${sanitizer} --tool ${TOOL} --error-exitcode ${found}
                        ${BENCH} --occ_profile --occ_small --occ_suite=smoke ${FLAGS}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(FINDS AND NOT status EQUAL found)
  message(FATAL_ERROR "${TOOL} did not find the fault of ${BENCH} (status ${status}):\n${output}")
elseif(NOT FINDS AND NOT status EQUAL 0)
  message(FATAL_ERROR "${TOOL} of ${BENCH} ended with ${status}:\n${output}")
endif()
