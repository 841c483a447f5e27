#pragma once

#include <exception>
#include <sys/wait.h>
#include <unistd.h>

namespace occbench {

/// Whether `body`, in a process of its own, throws nothing and is true; `meanwhile` is done in this one.
template <typename Body, typename Meanwhile = void (*)()>
bool in_a_child(
    Body&& body, Meanwhile&& meanwhile = [] {}) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(body() ? 0 : 1);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  meanwhile();
  int status = 1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace occbench
