#include "trace/entry_file.hpp"

#include <algorithm>

#include "entries/entries.hpp"
#include "files/output.hpp"

namespace occbench {
namespace {

/// How much longer than its content a file may become by appending.
constexpr std::size_t kMostAppended = 4;

}  // namespace

void EntryFile::update(const std::function<void(std::string& text, bool all)>& entries) {
  const bool whole = !is_whole_ || appended_ > longest_;
  is_whole_ = false;
  std::string text;
  entries(text, whole);
  if (!text.empty()) whole ? replace(text) : append(text);
  is_whole_ = true;
}

void EntryFile::append(const std::string& text) {
  AppendFile(file_, WrittenTo::system).append(text);
  appended_ += text.size();
}

void EntryFile::replace(const std::string& text) {
  replace_text(file_, std::string(kEntriesMagic) + text, WrittenTo::system);
  appended_ = 0;
  longest_ = std::max(longest_, kMostAppended * text.size());
}

}  // namespace occbench
