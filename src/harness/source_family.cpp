#include "harness/source_family.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "binary/device_code.hpp"
#include "files/input.hpp"
#include "gpu/prepared_arguments.hpp"
#include "harness/experiment.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/text.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

/// A user's kernel is not a family of this program: it lives as long as its cases.
struct SourceKernel {
  explicit SourceKernel(const SourceOptions& from)
      : options(from),
        source{.name = from.file.filename().string(),
               .text = read_text(from.file),
               .include_folders = from.include_folders,
               .standard = from.standard},
        name(fmt::format("{}", fmt::join(from.kernels, ","))),
        description(fmt::format("{} of {}", name, source.name)) {
    // As the host compiler does it.
    source.include_folders.insert(source.include_folders.begin(),
                                  std::filesystem::absolute(from.file).parent_path());
    source.included = included_by(source);
  }
  SourceKernel(const SourceKernel&) = delete;
  SourceKernel& operator=(const SourceKernel&) = delete;

  SourceOptions options;
  KernelSource source;
  std::string name;
  std::string description;

  /// The kernel of this name. Threads may call it at once.
  const Kernel& kernel(const std::string& named) {
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = kernels.try_emplace(named);
    if (is_new)
      found->second = {.name = found->first, .description = description, .variants = {}, .prepare = nullptr};
    return found->second;
  }

  std::mutex mutex;
  std::map<std::string, Kernel> kernels;
  std::shared_ptr<ArgumentBuffers> buffers;      ///< of the case before
  std::vector<Argument> expected_of;             ///< the arguments that `expected` belongs to
  std::vector<std::vector<std::byte>> expected;  ///< of each argument; empty: not compared
  FirstResults first_results;
};

std::vector<Argument> arguments_at(const SourceOptions& options, const Point& at) {
  return mapped(options.arguments,
                [&](const std::string& text) { return parse_argument(at.filled_in(text)); });
}

/// "naive<<<64x64,16x16>>>"
struct Reference {
  std::string kernel;
  Launch launch;
};

Reference parse_reference(const std::string& text) {
  const std::size_t open = text.find("<<<");
  const std::size_t comma = text.find(',', open);
  if (open == std::string::npos || comma == std::string::npos || !text.ends_with(">>>") || open == 0)
    throw InputError(
        "--check-against {}: it is neither a file, @expected.bin, nor a kernel with its launch, "
        "naive<<<64x64,16x16>>> (grid, block)",
        text);
  const Shape grid = parse_shape(text.substr(open + 3, comma - open - 3), "--check-against");
  const Shape block = parse_shape(text.substr(comma + 1, text.size() - comma - 4), "--check-against");
  require_within(grid, kMostGridShape, "--check-against");
  require_within(block, kMostBlockShape, "--check-against");
  return {text.substr(0, open),
          {.block_threads = static_cast<int>(block.total()),
           .grid_blocks = grid.total(),
           .block_shape = block,
           .grid_shape = grid}};
}

/// The argument with which a file is compared, and the file's name; empty if the text names none.
std::optional<std::pair<std::size_t, std::string>> expected_file(const std::string& text,
                                                                 const std::vector<Argument>& arguments) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos || text.find("<<<") < at) return std::nullopt;
  std::size_t number = arguments.size();
  if (at > 0) {
    const auto given = read_number<std::size_t>(text.substr(0, at - 1), 1, arguments.size());
    if (text[at - 1] != '=' || !given)
      throw InputError("--check-against {}: write N=@FILE with N from 1 to {}, the argument's place", text,
                       arguments.size());
    number = *given;
  } else {
    while (number > 0 && !arguments[number - 1].is_buffer()) --number;
  }
  if (number == 0 || !arguments[number - 1].is_buffer())
    throw InputError("--check-against {}: argument {} is no buffer; name one with N=@FILE", text, number);
  return std::pair(number - 1, text.substr(at + 1));
}

/// @throws InputError if the arguments do not fit its parameters, or its launch bounds do not allow such a block
void require_launchable(const RuntimeKernel& code, const std::vector<Argument>& arguments,
                        const Launch& launch) {
  const std::string signature = source_name(code.symbol());
  const CubinKernel kernel = parse_cubin(code.cubin(), signature).kernels[code.symbol()];
  if (const std::string why = mismatch(signature, arguments, kernel.parameter_bytes); !why.empty())
    throw InputError("{}: {}", signature, why);
  if (const std::string why = kernel.why_not(launch); !why.empty()) throw InputError(why);
}

/// @throws InputError if the file has no such kernel, or it cannot be launched so
std::shared_ptr<RuntimeKernel> compile_reference(const SourceKernel& shared, KernelBuild build,
                                                 const Reference& reference,
                                                 const std::vector<Argument>& arguments) {
  build.function = reference.kernel;
  build.register_cap.reset();
  try {
    auto code = compile_kernel(shared.source, build);
    require_launchable(*code, arguments, reference.launch);
    return code;
  } catch (const std::runtime_error& refused) {
    throw InputError("--check-against {}: {}", shared.options.check_against, refused.what());
  }
}

/// The data that launches must leave in the buffers, computed once for the same arguments.
void make_expected(SourceKernel& shared, const KernelBuild& build, const std::vector<Argument>& arguments) {
  if (!shared.expected.empty() && shared.expected_of == arguments) return;
  const std::string& text = shared.options.check_against;
  std::vector<std::vector<std::byte>> expected(arguments.size());
  if (const auto file = expected_file(text, arguments)) {
    const Argument& of = arguments[file->first];
    expected[file->first] =
        bytes_of_file(file->second, static_cast<std::size_t>(of.count) * bytes_of(of.type));
  } else {
    const Reference reference = parse_reference(text);
    const auto code = compile_reference(shared, build, reference, arguments);
    shared.buffers.reset();
    const Results results = results_of(code->function(), reference.launch, arguments);
    // Data that the reference does not write is not a result.
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].is_buffer() && results.bytes_before(i) != results.bytes_after(i))
        expected[i] = results.bytes_after(i);
    }
    if (std::ranges::all_of(expected, [](const auto& bytes) { return bytes.empty(); }))
      throw InputError("--check-against {}: it changes no buffer, so there is nothing to compare", text);
  }
  shared.expected = std::move(expected);
  shared.expected_of = arguments;
}

CheckResults check_of(const std::shared_ptr<SourceKernel>& shared, const std::vector<Argument>& arguments,
                      const Case& of) {
  if (!shared->options.check_against.empty()) {
    return [shared, arguments](const Results& results) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!shared->expected[i].empty() && !equal_within(arguments[i].type, results.bytes_after(i),
                                                          shared->expected[i], shared->options.tolerance))
          return false;
      }
      return true;
    };
  }
  if (!shared->options.check_equal) return {};
  return
      [shared, arguments, name = case_name(of), grid_blocks = of.launch.grid_blocks](const Results& results) {
        return shared->first_results.compare(name, grid_blocks, arguments, results.fingerprint());
      };
}

Case configure_source(const std::shared_ptr<SourceKernel>& shared, const Point& at, const Device& device) {
  const std::string& name = at.has("kernel") ? at.text("kernel") : shared->name;
  KernelBuild build{.function = at.filled_in(name), .compute_capability = device.compute_capability};
  for (const GivenAxis& define : shared->options.defines)
    build.defines.push_back(fmt::format("{}={}", define.name, at.text(define.name)));
  const std::vector<Argument> arguments = arguments_at(shared->options, at);
  const bool against_kernel =
      !shared->options.check_against.empty() && !expected_file(shared->options.check_against, arguments);
  const auto code = compile_at(at, device, shared->source, build);
  Cubin cubin = parse_cubin(code->cubin(), code->symbol());
  const Launch launch =
      launch_at(at, device, code->compiled().usage, cubin.kernels[code->symbol()].cluster_blocks);
  require_launchable(*code, arguments, launch);
  if (against_kernel)
    compile_reference(*shared, build, parse_reference(shared->options.check_against), arguments);
  Case chosen = case_of(shared->kernel(name), "source", code, launch,
                        [shared, arguments, build](const Case& of, const Variant& variant, const Device&) {
                          std::vector<bool> compared;
                          if (!shared->options.check_against.empty()) {
                            make_expected(*shared, build, arguments);
                            for (const auto& bytes : shared->expected) compared.push_back(!bytes.empty());
                          }
                          return prepare_arguments(of, variant, arguments, check_of(shared, arguments, of),
                                                   {1, "launches"}, std::move(compared), &shared->buffers);
                        });
  std::string of_launch = fmt::to_string(cubin.code);
  for (const std::string& argument : shared->options.arguments) of_launch += "\n" + at.filled_in(argument);
  chosen.code = fnv_hash<std::uint64_t>(of_launch);
  if (at.has("work"))
    chosen.work = parse_work(work_in_cycles(at.text("work"), highest_clock_mhz(device.name)));
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
  if (open == signature.size()) return {};
  const std::string_view within = std::string_view(signature).substr(open + 1, signature.size() - open - 2);
  if (trimmed(within).empty() || within == "void") return {};
  return mapped(split(within, ','), [](std::string_view each) { return std::string(trimmed(each)); });
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

bool fits(const std::string& parameter, const Argument& argument) {
  const bool is_pointer = parameter.ends_with('*') || parameter.ends_with("[]");
  if (is_pointer != argument.is_buffer()) return false;
  const auto type = type_of(plain(parameter.substr(0, parameter.find('*'))));
  // A type without a name in this program is accepted by its bytes: void*, float4*, a user's type.
  return type ? *type == argument.type : is_pointer;
}

}  // namespace

std::string mismatch(const std::string& signature, const std::vector<Argument>& arguments,
                     const std::vector<std::uint32_t>& parameter_bytes) {
  const bool has_types = signature.ends_with(')');
  const std::vector<std::string> parameters =
      has_types ? parameters_of(signature)
                : mapped(parameter_bytes, [](std::uint32_t bytes) { return fmt::format("{} bytes", bytes); });
  if (parameters.size() != arguments.size())
    return fmt::format("it has {} parameters, and --arg is given {} times", parameters.size(),
                       arguments.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t bytes = arguments[i].is_buffer() ? sizeof(void*) : bytes_of(arguments[i].type);
    if (has_types ? fits(plain(parameters[i]), arguments[i]) : parameter_bytes[i] == bytes) continue;
    return fmt::format("parameter {} is {}, and its --arg is {} {}", i + 1, parameters[i],
                       arguments[i].is_buffer() ? "a buffer of" : "a value,", to_string(arguments[i].type));
  }
  return {};
}

ResultsAnswer FirstResults::compare(const std::string& case_name, std::int64_t grid_blocks,
                                    const std::vector<Argument>& arguments, std::uint64_t fingerprint) {
  const auto first = std::ranges::find_if(firsts_, [&](const First& each) {
    return each.grid_blocks == grid_blocks && each.arguments == arguments;
  });
  if (first == firsts_.end()) {
    firsts_.push_back({case_name, grid_blocks, arguments, fingerprint});
    return true;
  }
  if (first->fingerprint == fingerprint) return true;
  return {false,
          fmt::format("its result differs from that of {}, which has as many blocks and the same arguments",
                      first->case_name)};
}

Family source_family(const SourceOptions& options) {
  const auto shared = std::make_shared<SourceKernel>(options);
  std::vector<SweepAxis> own = {
      registers_axis(),
      min_blocks_axis(),
      {"work", AxisKind::text,
       "what each block or warp has to do, for the prediction (occbench predict --help)", ""}};
  if (options.kernels.size() > 1)
    own.push_back({"kernel", AxisKind::text, "kernels of the file", shared->name});
  for (const GivenAxis& define : options.defines)
    own.push_back({define.name, AxisKind::text, "definition for the preprocessor", ""});
  return {shared->name, shared->description, joined(launch_axes("256", "4"), own),
          [shared](const Point& at, const Device& device) { return configure_source(shared, at, device); }};
}

}  // namespace occbench
