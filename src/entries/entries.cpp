#include "entries/entries.hpp"

#include <algorithm>

namespace occbench {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::size_t kMostPayload = kMostEntryBytes - sizeof(EntryHead);

static_assert(kEntriesMagic.size() % kAlignment == 0 && sizeof(EntryHead) == 16);

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void append_entry(std::string& file, EntryKind kind, std::uint32_t number, std::uint32_t other,
                  std::span<const std::byte> payload) {
  EntryHead head;
  head.bytes = static_cast<std::uint32_t>(sizeof head + std::min(payload.size(), kMostPayload));
  head.kind = kind;
  head.number = number;
  head.other = other;
  const std::size_t begin = file.size();
  file.resize(begin + aligned(head.bytes));
  std::memcpy(file.data() + begin, &head, sizeof head);
  if (head.bytes > sizeof head)
    std::memcpy(file.data() + begin + sizeof head, payload.data(), head.bytes - sizeof head);
}

void append_text(std::string& file, EntryKind kind, std::uint32_t number, std::string_view text) {
  for (std::size_t at = 0; at < text.size(); at += kMostPayload)
    append_cut_text(file, kind, number, static_cast<std::uint32_t>(at), text.substr(at));
}

void append_cut_text(std::string& file, EntryKind kind, std::uint32_t number, std::uint32_t other,
                     std::string_view text) {
  append_entry(file, kind, number, other, std::as_bytes(std::span(text)));
}

bool for_each_entry(std::string_view file, const std::function<void(const EntryView&)>& visit) {
  if (!file.starts_with(kEntriesMagic)) return false;
  file.remove_prefix(kEntriesMagic.size());
  EntryView entry;
  while (file.size() >= sizeof entry.head) {
    std::memcpy(&entry.head, file.data(), sizeof entry.head);
    const std::size_t bytes = entry.head.bytes;
    if (bytes < sizeof entry.head || bytes > kMostEntryBytes || aligned(bytes) > file.size()) break;
    entry.payload = file.substr(sizeof entry.head, bytes - sizeof entry.head);
    visit(entry);
    file.remove_prefix(aligned(bytes));
  }
  return true;
}

}  // namespace occbench
