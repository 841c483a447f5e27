#include "record/kernel_name.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <optional>
#include <regex.h>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/kernel_library.hpp"

/// From GCC's C++ library (cmake/demangler.cmake). @returns 0 if the name is a mangled one
extern "C" int __gcclibcxx_demangle_callback(const char* mangled,
                                             void (*piece)(const char*, std::size_t, void*), void* opaque);

namespace occbench {
namespace {

/// Template arguments deeper than this are cut in any name.
constexpr int kDeepest = 8;

/// nvcc's names of anonymous namespaces begin so.
constexpr std::string_view kAnonymousIdentifier = "_GLOBAL__N__";

/// The inline namespaces of CUB and Thrust begin so. The version follows, then the architectures of the build, as in
/// CUB_300001_SM_800_900 or, before CCCL 2.8, THRUST_200700_860_NS.
constexpr std::string_view kLibraries[] = {"CUB_", "THRUST_"};

bool is_name_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' || character == '$';
}

/// The parts of a text between separators that stand outside of all brackets.
std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.substr(i).starts_with(separator)) {
      parts.push_back(text.substr(begin, i - begin));
      i += separator.size();
      begin = i;
    } else if (std::string_view("<({[").find(text[i]) != std::string_view::npos) {
      i = end_of_bracket(text, i);
    } else {
      ++i;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// "128ul" -> "128", "(int)4" -> "4"; others as they are.
std::string_view plain_number(std::string_view text) {
  if (text.starts_with('(')) {
    const std::size_t end = end_of_bracket(text, 0);
    if (end < text.size() && is_digit(text[end])) text.remove_prefix(end);
  }
  std::size_t digits = text.find_first_not_of("0123456789", text.starts_with('-') ? 1 : 0);
  if (digits == std::string_view::npos) digits = text.size();
  const bool is_number = digits > 0 && is_digit(text[digits - 1]);
  const bool is_suffix = text.find_first_not_of("ul", digits) == std::string_view::npos;
  return is_number && is_suffix ? text.substr(0, digits) : text;
}

std::string shortened_type(std::string_view type, int depth);

std::string shortened_arguments(std::string_view list, int depth) {
  if (depth <= 0) return "<...>";
  std::string text;
  for (const std::string_view argument : split(list, ",")) {
    text += text.empty() ? "" : ", ";
    text += shortened_type(trimmed(argument), depth - 1);
  }
  return "<" + text + ">";
}

/// One word, as in ns::name<arguments>*: its last component.
std::string shortened_word(std::string_view word, int depth) {
  const std::vector<std::string_view> components = split(word, "::");
  std::string_view last = components.back();
  // A template's member type tells less than the template.
  if (components.size() > 1 && (last == "type" || last == "Params" || last == "Arguments")) {
    last = components[components.size() - 2];
  }
  if (last.starts_with("{lambda") || last.starts_with("'lambda")) return "lambda";
  const std::size_t bracket = last.find_first_of("<(");
  if (bracket == std::string_view::npos) return std::string(plain_number(last));
  if (last[bracket] == '(') {
    return std::string(bracket == 0 ? plain_number(last) : last.substr(0, bracket));
  }
  const std::size_t end = end_of_bracket(last, bracket);
  const std::size_t inner = end > bracket + 1 ? end - bracket - 2 : 0;
  std::string text(last.substr(0, bracket));
  text += shortened_arguments(last.substr(bracket + 1, inner), depth);
  // Pointers and references that follow it.
  for (const char character : last.substr(end)) {
    if (character == '*' || character == '&') text += character;
  }
  return text;
}

std::string shortened_type(std::string_view type, int depth) {
  std::string text;
  for (const std::string_view word : split(type, " ")) {
    if (word.empty()) continue;
    text += text.empty() ? "" : " ";
    text += shortened_word(word, depth);
  }
  return text;
}

/// "cub::detail::..." of "cub::CUB_300001_SM_800_900::detail::..."
std::string without_architectures(std::string text) {
  constexpr std::string_view kScope = "::";
  for (const std::string_view library : kLibraries) {
    const std::string begin = std::string(kScope).append(library);
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      const std::size_t end = text.find(kScope, at + kScope.size());
      if (end != std::string::npos) text.erase(at, end - at);
    }
  }
  return text;
}

/// Reads a length at `at`, then `before`, then a text of that length. @returns the text and its end; empty if they
/// are not there
std::optional<std::pair<std::string_view, std::size_t>> text_of_length(std::string_view name, std::size_t at,
                                                                       std::string_view before = "") {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), length);
  const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
  if (error != std::errc() || !rest.starts_with(before) || length > rest.size() - before.size())
    return std::nullopt;
  return std::pair(rest.substr(before.size(), length), name.size() - rest.size() + before.size() + length);
}

/// "_GLOBAL__N__sample_cu" of nvcc's "_GLOBAL__N__303738f4_9_sample_cu_main": a hash, the length of the file's name,
/// the name, and a part that distinguishes modules. Empty for others.
std::string anonymous_of_any_build(std::string_view identifier) {
  constexpr std::size_t kHashDigits = 8;
  const std::string_view rest = identifier.substr(kAnonymousIdentifier.size());
  if (rest.size() <= kHashDigits || rest[kHashDigits] != '_') return {};
  const auto file = text_of_length(rest, kHashDigits + 1, "_");
  const bool is_whole = file && file->second + 1 < rest.size() && rest[file->second] == '_';
  return is_whole ? std::string(kAnonymousIdentifier).append(file->first) : std::string();
}

/// "CUB_300001" of "CUB_300001_SM_800_900". Empty for others.
std::string library_of_any_build(std::string_view identifier) {
  const std::size_t version = identifier.find('_') + 1;
  const std::size_t end = identifier.find('_', version);
  const bool is_one = end != std::string_view::npos && end > version && end + 1 < identifier.size() &&
                      std::ranges::all_of(identifier.substr(version, end - version), is_digit) &&
                      std::ranges::all_of(identifier.substr(end), is_name_character);
  return is_one ? std::string(identifier.substr(0, end)) : std::string();
}

/// Replaces the identifiers of a mangled name that begin so, each with its length before it. The digits before an
/// identifier may belong to another that ends there, so several lengths are possible. The shortest that `replace`
/// accepts is used.
void replace_identifiers(std::string& name, std::string_view beginning,
                         std::string (*replace)(std::string_view identifier)) {
  for (std::size_t at = name.find(beginning); at != std::string::npos; at = name.find(beginning, at + 1)) {
    std::size_t length = 0;
    std::size_t scale = 1;
    for (std::size_t begin = at; begin > 0 && is_digit(name[begin - 1]) && scale < 10'000; scale *= 10) {
      --begin;
      length += scale * static_cast<std::size_t>(name[begin] - '0');
      if (length < beginning.size() || at + length > name.size()) continue;
      const std::string replacement = replace(std::string_view(name).substr(at, length));
      if (replacement.empty()) continue;
      name.replace(begin, at + length - begin, fmt::format("{}{}", replacement.size(), replacement));
      at = begin;
      break;
    }
  }
}

/// Removes numba's tags of a function: "B2v1", the number of its compilation in the process, and then a hash of how
/// it was compiled.
void remove_tags_of_numba(std::string& name) {
  for (std::size_t at = name.find('B'); at != std::string::npos; at = name.find('B', at + 1)) {
    const auto version = text_of_length(name, at + 1);
    if (!version || version->first.size() < 2 || version->first[0] != 'v') continue;
    if (!std::ranges::all_of(version->first.substr(1), is_digit)) continue;
    if (version->second >= name.size() || name[version->second] != 'B') continue;
    const auto hash = text_of_length(name, version->second + 1);
    if (hash) name.erase(at, hash->second - at);
  }
}

/// Receives the demangler's output piece by piece, up to kMostOfDemangledName. The demangler can only be stopped by
/// leaving it: all that it has is on its stack.
class BoundedText {
 public:
  /// @returns false if the name is not mangled or stands for too much
  bool is_demangled(const char* mangled) {
    return setjmp(too_much_) == 0 && __gcclibcxx_demangle_callback(mangled, add, this) == 0;
  }
  std::string text() const {
    return {text_.data(), size_};
  }

 private:
  static void add(const char* piece, std::size_t size, void* self) {
    auto& bounded = *static_cast<BoundedText*>(self);
    if (size > bounded.text_.size() - bounded.size_) std::longjmp(bounded.too_much_, 1);
    std::memcpy(bounded.text_.data() + bounded.size_, piece, size);
    bounded.size_ += size;
  }

  std::jmp_buf too_much_{};
  std::vector<char> text_ = std::vector<char>(kMostOfDemangledName);
  std::size_t size_ = 0;
};

std::string cut_to_length(const std::string& text) {
  constexpr std::string_view kBetween = "...";
  // Kernels of libraries differ at both ends of their names.
  constexpr std::size_t kTail = kLongestKernelName / 3;
  return shortened(text, kLongestKernelName, kLongestKernelName - kTail - kBetween.size(), kBetween);
}

/// For relocatable device code nvcc puts the module, with hashes of its path, in front of a file's internal names.
///   __nv_static_25__f2289418_4_k_cu_a83b04ce__Z4statPf -> _Z4statPf
std::string without_module(const std::string& name) {
  constexpr std::string_view kStatic = "__nv_static_";
  const auto module = name.starts_with(kStatic) ? text_of_length(name, kStatic.size(), "_") : std::nullopt;
  return module && module->second + 1 < name.size() ? name.substr(module->second + 1) : name;
}

}  // namespace

std::string demangled_kernel_name(const std::string& name) {
  const std::string mangled = without_module(name);
  if (!mangled.starts_with("_Z")) return name;
  BoundedText text;
  return text.is_demangled(mangled.c_str()) ? without_architectures(text.text()) : name;
}

std::string source_name(const std::string& symbol) {
  // Demangled template instances include the return type.
  const std::string name = demangled_kernel_name(symbol);
  return name.starts_with("void ") ? name.substr(5) : name;
}

std::string kernel_name_of_any_build(std::string name) {
  name = without_module(name);
  if (!name.starts_with("_Z")) return name;
  replace_identifiers(name, kAnonymousIdentifier, anonymous_of_any_build);
  for (const std::string_view library : kLibraries) replace_identifiers(name, library, library_of_any_build);
  remove_tags_of_numba(name);
  return name;
}

std::string shortened_kernel_name(std::string_view demangled) {
  const std::string_view function = function_of(demangled);
  if (std::ranges::none_of(function, is_name_character)) return cut_to_length(std::string(demangled));
  std::string text;
  for (int depth = kDeepest; depth >= 0; --depth) {
    text = shortened_word(function, depth);
    if (cut_to_length(text) == text) break;
  }
  return cut_to_length(text.empty() ? std::string(demangled) : text);
}

std::function<bool(std::string_view)> kernel_filter(const std::string& text) {
  if (text.empty() || text == "all") {
    return [](std::string_view) { return true; };
  }
  const bool negative = text.front() == '-';
  auto compiled = std::make_unique<regex_t>();
  const int error = ::regcomp(compiled.get(), text.c_str() + (negative ? 1 : 0), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::string why(200, '\0');
    why.resize(::regerror(error, compiled.get(), why.data(), why.size()) - 1);
    throw InputError("'{}' is not an extended regular expression: {}", text, why);
  }
  const std::shared_ptr<regex_t> pattern(compiled.release(), [](regex_t* each) {
    ::regfree(each);
    delete each;
  });
  return [=](std::string_view name) {
    const std::string looked_at(name.substr(0, kMostOfName));
    return (::regexec(pattern.get(), looked_at.c_str(), 0, nullptr, 0) == 0) != negative;
  };
}

}  // namespace occbench
