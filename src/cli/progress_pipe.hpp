#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace occbench {

/// A pipe through which a program that this one starts tells its progress, line by line.
class ProgressPipe {
 public:
  /// @throws std::system_error
  ProgressPipe();
  ~ProgressPipe();
  ProgressPipe(const ProgressPipe&) = delete;
  ProgressPipe& operator=(const ProgressPipe&) = delete;

  /// The end for the program, which only ChildProcess passes on.
  int write_end() const {
    return write_end_;
  }

  /// To be called once the program has it: the pipe then ends with the program.
  void close_write_end();

  /// For poll(2), where several are waited for; -1, which it passes over, once the pipe has ended.
  int read_end() const {
    return ended_ ? -1 : read_end_;
  }

  /// The whole lines that have come, without their line ends: all that the pipe holds, or else what comes within
  /// `patience`, less where a signal comes first. Empty also where the pipe has ended.
  std::vector<std::string> lines(std::chrono::milliseconds patience);

  /// The line that has come without its end.
  const std::string& begun_line() const {
    return begun_line_;
  }

  /// Whether nothing will come any more.
  bool ended() const {
    return ended_;
  }

 private:
  int read_end_ = -1;
  int write_end_ = -1;
  bool ended_ = false;
  std::string begun_line_;
};

}  // namespace occbench
