#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace occbench {

/// Text that moves no cursor, rings no bell and reorders nothing on a terminal. It spells out ("\x1b", "\u202e")
/// control characters except tab and line feed, marks that change the direction of text, and bytes that are not
/// UTF-8.
std::string printable(std::string_view text);

/// A stream to a standard stream of the process. On a terminal all of its text is printable(). Elsewhere it is
/// unchanged, because files keep names as they are.
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
    std::string waiting_;  ///< the start of a line
  };

  Buffer buffer_;
};

}  // namespace occbench
