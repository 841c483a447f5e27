# Runs bench binaries under one tool of compute-sanitizer, small and with occbench's own counters off.
# -DTOOL=memcheck|racecheck|initcheck|synccheck "-DBENCHES=file|file|..." -DCOUNT=how many [-DFLAGS=flag;...]
# [-DFINDS=ON: there is a fault]
# -DTOOLKIT=folder of the toolkit's programs
string(REPLACE "|" ";" BENCHES "${BENCHES}")
list(LENGTH BENCHES count)
if(NOT count EQUAL COUNT)
  message(FATAL_ERROR "${count} bench binaries arrived, ${COUNT} were meant: ${BENCHES}")
endif()
list(GET BENCHES 0 any)
execute_process(COMMAND ${any} --occ_list RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE errors)
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
foreach(bench IN LISTS BENCHES)
  execute_process(COMMAND ${sanitizer} --tool ${TOOL} --error-exitcode ${found}
                          ${bench} --occ_profile --occ_small --occ_suite=smoke ${FLAGS}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${TOOL} ${bench}: ${status}")
  if(FINDS AND NOT status EQUAL found)
    message(FATAL_ERROR "${TOOL} did not find the fault of ${bench} (status ${status}):\n${output}")
  elseif(NOT FINDS AND NOT status EQUAL 0)
    message(FATAL_ERROR "${TOOL} of ${bench} ended with ${status}:\n${output}")
  endif()
endforeach()
