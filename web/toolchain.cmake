# WebAssembly by the Clang of Zig (PyPI's ziglang, which the wheel needs too), for the system interface WASI. OCCBENCH_ZIG is
# the program.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OCCBENCH_ZIG)
set(CMAKE_C_COMPILER ${OCCBENCH_ZIG} cc)
set(CMAKE_CXX_COMPILER ${OCCBENCH_ZIG} c++)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_ARCHIVE_CREATE "\"${OCCBENCH_ZIG}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_CREATE "${CMAKE_CXX_ARCHIVE_CREATE}")
set(CMAKE_CXX_ARCHIVE_FINISH "\"${OCCBENCH_ZIG}\" ranlib <TARGET>")
set(CMAKE_C_ARCHIVE_FINISH "${CMAKE_CXX_ARCHIVE_FINISH}")
# UBSan's checks are Zig's default.
set(exceptions "-fwasm-exceptions -mexception-handling -fno-sanitize=all")
set(CMAKE_C_FLAGS_INIT "${exceptions}")
set(CMAKE_CXX_FLAGS_INIT "${exceptions}")
