# cmake -DCOMMAND=program;argument;... -DFILE=file -DREMEDY=text -P output_is_file.cmake
#
# A committed file that a command makes is what the command prints. With -DTABLE=ON it ends with that.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${FILE} committed)
if(TABLE)
  string(FIND "${committed}" "| column |" begin)
  string(SUBSTRING "${committed}" ${begin} -1 committed)
endif()
if(NOT printed STREQUAL committed)
  message(FATAL_ERROR "${FILE} is out of date; make it again: ${REMEDY}")
endif()
