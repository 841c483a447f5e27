#include "cli/text_table.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "files/output.hpp"
#include "files/utf8.hpp"

namespace occbench {
namespace {

/// Characters of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::string text_table(std::span<const std::vector<std::string>> lines, std::string_view alignment) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t cell = 0; cell < line.size(); ++cell) {
      widths[cell] = std::max(widths[cell], width_of(line[cell]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t cell = 0; cell < line.size(); ++cell) {
      const std::string padding(widths[cell] - width_of(line[cell]), ' ');
      const bool to_the_left = alignment[std::min(cell, alignment.size() - 1)] == '<';
      text += (cell > 0 ? "  " : "") + (to_the_left ? line[cell] + padding : padding + line[cell]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string repeated(std::string_view symbol, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += symbol;
  return text;
}

std::string counted(long long count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string percent_text(double value) {
  return number_text(value) + " %";
}

namespace {

bool is_shown_as_it_is(const Utf8Character& character) {
  const std::uint32_t code = character.code;
  if (!character.valid) return false;
  if (code < 0x20) return code == '\t' || code == '\n';
  const bool is_control = code >= 0x7f && code <= 0x9f;
  const bool turns_text = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                          (code >= 0x2066 && code <= 0x2069);
  return !is_control && !turns_text;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (is_shown_as_it_is(character)) {
      shown += text.substr(0, character.bytes);
    } else {
      shown += character.bytes == 1 ? fmt::format("\\x{:02x}", character.code)
                                    : fmt::format("\\u{:04x}", character.code);
    }
    text.remove_prefix(character.bytes);
  }
  return shown;
}

bool TerminalStream::Buffer::pass_on(std::size_t end) {
  const std::string shown = printable(std::string_view(waiting_).substr(0, end));
  waiting_.erase(0, end);
  return to_->sputn(shown.data(), static_cast<std::streamsize>(shown.size())) ==
         static_cast<std::streamsize>(shown.size());
}

std::streamsize TerminalStream::Buffer::xsputn(const char* text, std::streamsize size) {
  waiting_.append(text, static_cast<std::size_t>(size));
  // A character may come in two pieces: of the last one only the begin is here.
  std::size_t end = waiting_.size();
  for (std::size_t back = 1; back <= 3 && back <= waiting_.size(); ++back) {
    const std::size_t at = waiting_.size() - back;
    if ((static_cast<unsigned char>(waiting_[at]) & 0xc0) == 0x80) continue;
    if (first_character(std::string_view(waiting_).substr(at)).cut) end = at;
    break;
  }
  return pass_on(end) ? size : 0;
}

TerminalStream::Buffer::int_type TerminalStream::Buffer::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  const char text = traits_type::to_char_type(letter);
  return xsputn(&text, 1) == 1 ? letter : traits_type::eof();
}

int TerminalStream::Buffer::sync() {
  const bool passed = pass_on(waiting_.size());
  return passed && to_->pubsync() == 0 ? 0 : -1;
}

TerminalStream::TerminalStream(std::ostream& to, int descriptor)
    : std::ostream(nullptr), buffer_(to.rdbuf()) {
  rdbuf(::isatty(descriptor) != 0 ? &buffer_ : to.rdbuf());
  if ((to.flags() & std::ios::unitbuf) != 0) setf(std::ios::unitbuf);
}

namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 2s;
constexpr auto kBetween = 1s;

}  // namespace

Waiting::Waiting(std::string what, std::size_t total) : what_(std::move(what)), total_(total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  // Signals are for the thread that works.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { tell(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Waiting::tell() {
  const auto begin = std::chrono::steady_clock::now();
  bool told = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, told ? kBetween : kPatience, [this] { return over_; })) {
    const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string steps = total_ > 1 ? fmt::format(" {} of {}", done_.load(), total_) : "";
    write_all(STDERR_FILENO,
              fmt::format("\r\033[K{}{}: {:.0f} s; Ctrl-C ends it", printable(what_), steps, elapsed));
    told = true;
  }
  if (told) write_all(STDERR_FILENO, "\r\033[K");
}

}  // namespace occbench
