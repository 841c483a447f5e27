/* The tag of WebAssembly that C++ exceptions are thrown with: Clang uses it and expects the runtime to define it. */
__asm__(
    ".tagtype __cpp_exception i32\n"
    ".globl __cpp_exception\n"
    "__cpp_exception:\n");
