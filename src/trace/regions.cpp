#include "trace/regions.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <pthread.h>
#include <vector>

#include "files/input.hpp"

namespace occbench {
namespace {

constexpr std::size_t kMostBytes = 100;

struct Ranges {
  std::string path;
  std::vector<std::size_t> lengths;  ///< of the path before each range
  std::size_t missed = 0;            ///< ranges without memory for them, and those in them
};

/// A thread_local object with a destructor ends the program if glibc has no memory to note it.
pthread_key_t key() {
  static const pthread_key_t of_all_threads = [] {
    pthread_key_t made = 0;
    if (::pthread_key_create(&made, [](void* ranges) { delete static_cast<Ranges*>(ranges); }) != 0)
      throw std::bad_alloc();
    return made;
  }();
  return of_all_threads;
}

std::atomic<bool> used{false};
const std::string kNoPath;

/// Null before its first range.
Ranges* of_this_thread() {
  return used ? static_cast<Ranges*>(::pthread_getspecific(key())) : nullptr;
}

/// @throws std::bad_alloc
Ranges& made_for_this_thread() {
  const pthread_key_t of_all_threads = key();
  used = true;
  if (Ranges* const known = of_this_thread()) return *known;
  auto made = std::make_unique<Ranges>();
  if (::pthread_setspecific(of_all_threads, made.get()) != 0) throw std::bad_alloc();
  return *made.release();
}

std::size_t depth() {
  const Ranges* const ranges = of_this_thread();
  return ranges != nullptr ? ranges->lengths.size() : 0;
}

std::atomic<void (*)()> at_region{nullptr};

std::string printable_name(std::string_view name) {
  std::string text;
  name = name.substr(0, kMostBytes);
  while (!name.empty()) {
    const Utf8Character next = first_character(name);
    const bool kept = next.valid && next.code >= 0x20 && next.code != 0x7f && next.code != '+';
    if (!next.cut) text += kept ? std::string(name.substr(0, next.bytes)) : "_";
    name.remove_prefix(next.bytes);
  }
  return text.empty() ? "_" : text;
}

// NVTX's binary interface (nvtxTypes.h and nvToolsExt.h of version 3, which all of its versions keep): a module is a table of
// pointers to the functions that the program's calls go through.
enum : std::uint32_t { kTableOfCallbacks = 1, kCore = 1, kCoreOfDomains = 5 };
enum : unsigned { kRangePushEx = 8, kRangePushAscii = 9, kRangePushWide = 10, kRangePop = 11 };
enum : unsigned { kDomainRangePushEx = 4, kDomainRangePop = 5 };
constexpr std::int32_t kAscii = 1;

struct Callbacks {
  std::size_t size;
  int (*functions_of)(std::uint32_t module, void**** functions, unsigned* count);
};

struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const char* message;
};

int pushed(std::string_view name) {
  push_region(name);
  return static_cast<int>(depth()) - 1;
}

int popped() {
  pop_region();
  return static_cast<int>(depth());
}

/// Names that are registered or wide are not resolved.
int push_ex(const EventAttributes* attributes) {
  const bool named =
      attributes != nullptr && attributes->message_type == kAscii && attributes->message != nullptr;
  return pushed(named ? attributes->message : "range");
}

int push_ascii(const char* name) {
  return pushed(name != nullptr ? name : "");
}

int push_wide(const wchar_t*) {
  return pushed("range");
}

int push_of_domain(void*, const EventAttributes* attributes) {
  return push_ex(attributes);
}

int pop_of_domain(void*) {
  return popped();
}

}  // namespace

void push_region(std::string_view name) {
  try {
    Ranges& ranges = made_for_this_thread();
    if (ranges.missed++ > 0) return;
    if (auto* const call = at_region.load(); call != nullptr && ranges.lengths.empty()) call();
    const std::string more = (ranges.path.empty() ? "" : "/") + printable_name(name);
    ranges.path.reserve(ranges.path.size() + more.size());
    ranges.lengths.push_back(ranges.path.size());
    ranges.path += more;
    ranges.missed = 0;
  } catch (const std::exception&) {  // not the program's failure
  }
}

void pop_region() {
  Ranges* const ranges = of_this_thread();
  if (ranges == nullptr) return;
  if (ranges->missed > 0) {
    --ranges->missed;
  } else if (!ranges->lengths.empty()) {
    ranges->path.resize(ranges->lengths.back());
    ranges->lengths.pop_back();
  }
}

const std::string& current_region() {
  const Ranges* const ranges = of_this_thread();
  return ranges != nullptr ? ranges->path : kNoPath;
}

bool is_in_region(std::string_view ranges, std::string_view region) {
  return ('/' + std::string(ranges) + '/').find('/' + std::string(region) + '/') != std::string::npos;
}

bool regions_used() {
  return used;
}

void on_region(void (*call)()) {
  at_region = call;
}

bool take_nvtx(NvtxTables tables) {
  const auto* const callbacks = static_cast<const Callbacks*>(tables(kTableOfCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks)) return false;
  const auto take = [&](std::uint32_t module, unsigned number, auto* function) {
    void*** functions = nullptr;
    unsigned count = 0;
    if (callbacks->functions_of(module, &functions, &count) != 0 && number < count &&
        functions[number] != nullptr)
      *functions[number] = reinterpret_cast<void*>(function);
  };
  take(kCore, kRangePushEx, push_ex);
  take(kCore, kRangePushAscii, push_ascii);
  take(kCore, kRangePushWide, push_wide);
  take(kCore, kRangePop, popped);
  take(kCoreOfDomains, kDomainRangePushEx, push_of_domain);
  take(kCoreOfDomains, kDomainRangePop, pop_of_domain);
  return true;
}

}  // namespace occbench
