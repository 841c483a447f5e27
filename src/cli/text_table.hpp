#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace occbench {

/// Lines of a table for a terminal: columns as wide as their widest cell, two spaces apart.
/// @param alignment '<' or '>' for each column; the last holds for all further ones
std::string text_table(std::span<const std::vector<std::string>> lines, std::string_view alignment);

/// A symbol so many times.
std::string repeated(std::string_view symbol, int count);

/// "1 block", "3 blocks"
std::string counted(long long count, const char* one);

/// "75", "41.67"
std::string number_text(double value);

/// "75 %", "41.67 %"
std::string percent_text(double value);

/// Text that moves no cursor, rings no bell and reorders nothing on a terminal: control characters but tab and line feed,
/// marks that change the direction of text, and bytes that are no UTF-8 are spelled out ("\x1b", "\u202e").
std::string printable(std::string_view text);

/// A stream to a standard stream of the process. On a terminal all of its text is printable(); elsewhere it is as it was
/// written, since files keep names as they are.
class TerminalStream : public std::ostream {
 public:
  /// @param descriptor  where `to` writes
  TerminalStream(std::ostream& to, int descriptor);

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(std::streambuf* to) : to_(to) {}

   protected:
    int_type overflow(int_type letter) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

   private:
    bool pass_on(std::size_t end);

    std::streambuf* to_;
    std::string waiting_;  ///< the begin of a character
  };

  Buffer buffer_;
};

/// While it lives, a line on standard error tells what takes so long and for how long: on a terminal, from two seconds
/// on. The line goes with it.
class Waiting {
 public:
  /// @param what   "predicting"
  /// @param total  steps that there are; 0 or 1 where they are not told
  explicit Waiting(std::string what, std::size_t total = 0);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// One more step is done. Any thread may say so.
  void step() {
    ++done_;
  }

 private:
  void tell();

  std::string what_;
  std::size_t total_;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  ///< none where there is no terminal
};

}  // namespace occbench
