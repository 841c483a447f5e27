#include "harness/source_family.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "files/input.hpp"
#include "gpu/argument.hpp"
#include "gpu/prepared_arguments.hpp"
#include "occupancy/input_error.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

/// A kernel of the user's is no family of this program: it lives as long as its cases.
struct SourceKernel {
  explicit SourceKernel(const SourceOptions& from)
      : options(from),
        source{.name = from.file.filename().string(),
               .text = read_text(from.file),
               .include_folders = from.include_folders,
               .standard = from.standard},
        name(from.kernel),
        description(fmt::format("{} of {}", from.kernel, source.name)),
        kernel{.name = name, .description = description, .variants = {}, .prepare = nullptr} {
    // As the compiler of the host does it.
    source.include_folders.insert(source.include_folders.begin(),
                                  std::filesystem::absolute(from.file).parent_path());
  }
  SourceKernel(const SourceKernel&) = delete;
  SourceKernel& operator=(const SourceKernel&) = delete;

  SourceOptions options;
  KernelSource source;
  std::string name;
  std::string description;
  Kernel kernel;
  std::map<std::int64_t, std::uint64_t> results_by_grid;  ///< fingerprints of the first launch of each
};

std::vector<Argument> arguments_at(const SourceOptions& options, const Point& at) {
  std::vector<Argument> arguments;
  for (const std::string& text : options.arguments) arguments.push_back(parse_argument(at.filled_in(text)));
  return arguments;
}

CheckResults check_of(const std::shared_ptr<SourceKernel>& shared, std::int64_t grid_blocks) {
  if (!shared->options.check_equal) return {};
  return [shared, grid_blocks](const Results& results) {
    const std::uint64_t fingerprint = results.fingerprint();
    return shared->results_by_grid.try_emplace(grid_blocks, fingerprint).first->second == fingerprint;
  };
}

/// As the source names it, with its parameters: "product<32>(float const*, float*)"; a name alone where it has
/// none (extern "C").
std::string signature_of(const RuntimeKernel& code) {
  const std::string name = demangled_kernel_name(code.symbol());
  // Instances of templates are spelled with their return type.
  constexpr std::string_view kReturned = "void ";
  return name.starts_with(kReturned) ? name.substr(kReturned.size()) : name;
}

Case configure_source(const std::shared_ptr<SourceKernel>& shared, const Point& at, const Device& device) {
  KernelBuild build{.function = at.filled_in(shared->name), .compute_capability = device.compute_capability};
  for (const GivenAxis& define : shared->options.defines)
    build.defines.push_back(fmt::format("{}={}", define.name, at.text(define.name)));
  const std::vector<Argument> arguments = arguments_at(shared->options, at);
  const auto code = compile_at(at, device, shared->source, std::move(build));
  const std::string signature = signature_of(*code);
  if (const std::string why = mismatch(signature, arguments); !why.empty())
    throw InputError(fmt::format("{}: {}", signature, why));
  const Launch launch = launch_at(at, device, code->compiled().usage);
  Case chosen = case_of(shared->kernel, "source", code, launch,
                        [shared, arguments](const Case& of, const Variant& variant, const Device&) {
                          return prepare_arguments(of, variant, arguments,
                                                   check_of(shared, of.launch.grid_blocks), {1, "launches"});
                        });
  if (std::string bytes = code->loaded_bytes(); !bytes.empty()) {
    for (const std::string& argument : shared->options.arguments) bytes += at.filled_in(argument) + "\n";
    chosen.code = std::hash<std::string>()(bytes);
  }
  if (at.has("work")) chosen.work = parse_work(at.text("work"));
  return chosen;
}

/// The parameters between the outermost parentheses, which end the signature.
std::vector<std::string> parameters_of(const std::string& signature) {
  int depth = 0;
  std::size_t open = signature.size();
  for (std::size_t i = signature.size(); i-- > 0;) {
    if (signature[i] == ')') ++depth;
    if (signature[i] == '(' && --depth == 0) {
      open = i;
      break;
    }
  }
  std::vector<std::string> parameters(1);
  depth = 0;
  for (std::size_t i = open + 1; i + 1 < signature.size(); ++i) {
    const char letter = signature[i];
    depth += letter == '<' || letter == '(' ? 1 : letter == '>' || letter == ')' ? -1 : 0;
    if (letter == ',' && depth == 0) {
      parameters.emplace_back();
    } else if (letter != ' ' || !parameters.back().empty()) {
      parameters.back() += letter;
    }
  }
  if (parameters == std::vector<std::string>{""} || parameters == std::vector<std::string>{"void"}) return {};
  return parameters;
}

/// "float const* __restrict__" as "float*"
std::string plain(std::string text) {
  for (const std::string_view word :
       {" const", "const ", " volatile", " __restrict__", "__restrict__", " __restrict"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word))
      text.erase(at, word.size());
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

/// Types of the same size and kind are one: `long` is `long long`, and `signed char` `char`.
std::string canonical(const std::string& type) {
  static const std::map<std::string, std::string> kSame = {{"long", "long long"},
                                                           {"unsigned long", "unsigned long long"},
                                                           {"signed char", "char"},
                                                           {"unsigned int", "unsigned"},
                                                           {"bool", "unsigned char"}};
  const auto found = kSame.find(type);
  return found == kSame.end() ? type : found->second;
}

bool fits(const std::string& parameter, const Argument& argument) {
  const bool is_pointer = parameter.ends_with('*') || parameter.ends_with("[]");
  if (is_pointer != argument.is_buffer()) return false;
  const std::string type = canonical(plain(parameter.substr(0, parameter.find('*'))));
  // What this program has no name for is taken by its bytes: void*, float4*, a type of the user's.
  const bool is_known = type == canonical(std::string(to_string(argument.type)));
  static const std::vector<std::string> kScalars = {
      "float", "double",         "int",       "unsigned",          "char", "unsigned char",
      "short", "unsigned short", "long long", "unsigned long long"};
  const bool is_scalar = std::ranges::find(kScalars, type) != kScalars.end();
  return is_known || (is_pointer && !is_scalar);
}

}  // namespace

std::string mismatch(const std::string& signature, const std::vector<Argument>& arguments) {
  if (!signature.ends_with(')')) return {};
  const std::vector<std::string> parameters = parameters_of(signature);
  if (parameters.size() != arguments.size())
    return fmt::format("it has {} parameters, and --arg is given {} times", parameters.size(),
                       arguments.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string parameter = plain(parameters[i]);
    if (fits(parameter, arguments[i])) continue;
    return fmt::format("parameter {} is {}, and its --arg is {} {}", i + 1, parameters[i],
                       arguments[i].is_buffer() ? "a buffer of" : "a value,", to_string(arguments[i].type));
  }
  return {};
}

Family source_family(const SourceOptions& options) {
  const auto shared = std::make_shared<SourceKernel>(options);
  std::vector<SweepAxis> own = {
      registers_axis(),
      min_blocks_axis(),
      {"work", AxisKind::text,
       "what each block or warp has to do, for the prediction (occbench predict --help)", ""}};
  for (const GivenAxis& define : options.defines)
    own.push_back({define.name, AxisKind::text, "definition for the preprocessor", ""});
  return {shared->name, shared->description, joined(launch_axes("256", "4"), own),
          [shared](const Point& at, const Device& device) { return configure_source(shared, at, device); }};
}

}  // namespace occbench
