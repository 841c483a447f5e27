# For a wheel: programs and libraries are compiled by the system's compiler and linked by Zig (OCCBENCH_ZIG), which has the
# stubs of every glibc, for 2.28 of August 2018: Debian 10, Ubuntu 20.04, RHEL 8 and what is newer run it. libstdc++ is inside.
enable_language(C)
foreach(library IN ITEMS libstdc++.a libgcc.a libgcc_s.so.1)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE file OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(APPEND occ_compiler_libraries " ${file}")
endforeach()
set(occ_missing ${PROJECT_BINARY_DIR}/glibc_2_28.o)
execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -c ${CMAKE_CURRENT_LIST_DIR}/glibc_2_28.c -o ${occ_missing} COMMAND_ERROR_IS_FATAL ANY)
set(occ_link "\"${OCCBENCH_ZIG}\" cc -target x86_64-linux-gnu.2.28 <LINK_FLAGS>")
set(occ_linked "<OBJECTS> -o <TARGET> <LINK_LIBRARIES> ${occ_missing} ${occ_compiler_libraries} -lm -lpthread -ldl -lrt")
# This machine's libgcc_s needs a newer glibc than it will meet where there is an older libgcc_s too.
set(CMAKE_CXX_LINK_EXECUTABLE "${occ_link} -Wl,--allow-shlib-undefined ${occ_linked}")
set(CMAKE_CXX_CREATE_SHARED_LIBRARY "${occ_link} -shared <SONAME_FLAG><TARGET_SONAME> ${occ_linked}")
