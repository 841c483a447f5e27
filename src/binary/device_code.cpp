#include "binary/device_code.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <future>
#include <map>
#include <optional>
#include <ostream>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "binary/cuobjdump.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/waiting.hpp"
#include "record/case_filter.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

constexpr std::int64_t kLinkedReserve = 1024;

/// Cubins that are on disk at once: a library may have thousands, of half a megabyte each.
constexpr std::size_t kCubinsAtOnce = 400;

/// A kernel and the cubin that it stands in.
struct KernelOfCubin {
  std::size_t cubin;
  DeviceKernel kernel;
  bool may_recurse = false;  ///< it has functions within its code, whose recursion has no counted stack
};

/// "sm_90a" of "libexample.12.sm_90a.cubin"
std::string architecture_of(const std::string& cubin_name) {
  const std::size_t begin = cubin_name.rfind(".sm_");
  if (begin == std::string::npos) return "";
  return cubin_name.substr(begin + 1, cubin_name.rfind('.') - begin - 1);
}

/// Its number: 9.0 of "sm_90a".
ComputeCapability capability_of(std::string_view architecture) {
  return parse_compute_capability(architecture.substr(0, architecture.find_last_of("0123456789") + 1));
}

/// The names of the cubins (option -lelf) or of the PTX (-lptx) in a file.
std::vector<std::string> listed(const Cuobjdump& cuobjdump, const char* option, const fs::path& file) {
  std::vector<std::string> names;
  cuobjdump.run({option}, file, [&](std::string_view line) {
    // "ELF file    1: libexample.1.sm_90.cubin", "PTX file    1: libexample.1.sm_90.ptx"
    if (const std::size_t colon = line.find(": ");
        (line.starts_with("ELF file") || line.starts_with("PTX file")) && colon != std::string_view::npos)
      names.emplace_back(line.substr(colon + 2));
  });
  return names;
}

std::vector<KernelOfCubin> all_kernels(const ResourceListing& listing, const std::vector<std::string>& names,
                                       const fs::path& file) {
  if (listing.cubins().size() != names.size()) {
    throw InputError("{}: cuobjdump lists {} cubins and the resources of {}: is it damaged?", file.string(),
                     names.size(), listing.cubins().size());
  }
  std::vector<KernelOfCubin> kernels;
  for (std::size_t cubin = 0; cubin < names.size(); ++cubin) {
    const std::string architecture = architecture_of(names[cubin]);
    for (DeviceKernel kernel : listing.cubins()[cubin]) {
      if (kernel.architecture.empty()) kernel.architecture = architecture;
      kernel.compute_capability = capability_of(kernel.architecture);
      kernels.push_back({cubin, std::move(kernel)});
    }
  }
  return kernels;
}

std::vector<std::string> architectures_of(std::span<const KernelOfCubin> kernels) {
  std::vector<std::string> architectures;
  for (const KernelOfCubin& placed : kernels) {
    if (std::ranges::find(architectures, placed.kernel.architecture) == architectures.end())
      architectures.push_back(placed.kernel.architecture);
  }
  return architectures;
}

/// Compute capabilities of Jetson and DRIVE. Source: CUDA C++ Programming Guide, "Binary Compatibility": "supported
/// only for the desktop" and neither for Tegra nor between both.
constexpr auto kTegra =
    std::to_array<ComputeCapability>({{3, 2}, {5, 3}, {6, 2}, {7, 2}, {8, 7}, {10, 1}, {11, 0}});

/// Machine code runs on its major compute capability from its own on; code that ends in `a` or is for Tegra, only on
/// its own.
bool runs_on(const DeviceKernel& kernel, ComputeCapability gpu) {
  const auto is_tegra = [](ComputeCapability of) { return std::ranges::find(kTegra, of) != kTegra.end(); };
  if (kernel.architecture.ends_with('a') || is_tegra(gpu) || is_tegra(kernel.compute_capability))
    return kernel.compute_capability == gpu;
  return kernel.compute_capability.major == gpu.major && kernel.compute_capability <= gpu;
}

void keep_code_that_runs_on(std::vector<KernelOfCubin>& kernels, ComputeCapability gpu) {
  std::map<std::string, ComputeCapability> newest;
  for (const KernelOfCubin& placed : kernels) {
    ComputeCapability& of = newest[placed.kernel.symbol];
    if (runs_on(placed.kernel, gpu)) of = std::max(of, placed.kernel.compute_capability);
  }
  std::erase_if(kernels, [&](const KernelOfCubin& placed) {
    return !runs_on(placed.kernel, gpu) || newest[placed.kernel.symbol] != placed.kernel.compute_capability;
  });
}

/// "sm_90a" or "sm_90"; "90" and "9.0" mean the code of that number with or without a letter.
bool is_of_architecture(const DeviceKernel& kernel, const std::string& wanted) {
  return wanted.starts_with("sm_") ? kernel.architecture == wanted
                                   : kernel.compute_capability == parse_compute_capability(wanted);
}

std::vector<KernelOfCubin> selected(std::vector<KernelOfCubin> kernels, const CodeSelection& selection,
                                    const fs::path& file) {
  std::string code = fmt::format("there is code for {}", fmt::join(architectures_of(kernels), ", "));
  const auto require_some = [&](const std::string& reason) {
    if (kernels.empty()) throw InputError("{}: {}; {}", file.string(), reason, code);
  };
  if (!selection.kernels.empty()) {
    const Pattern pattern(selection.kernels);
    std::erase_if(kernels, [&](const KernelOfCubin& placed) {
      return !pattern.found_in(source_name(placed.kernel.symbol)) && !pattern.found_in(placed.kernel.symbol);
    });
    require_some(fmt::format("no kernel has a name that --kernel '{}' is found in", selection.kernels));
    code = fmt::format("of these kernels there is code for {}", fmt::join(architectures_of(kernels), ", "));
  }
  if (!selection.architecture.empty()) {
    std::erase_if(kernels, [&](const KernelOfCubin& placed) {
      return !is_of_architecture(placed.kernel, selection.architecture);
    });
    require_some(fmt::format("no machine code is of architecture {}", selection.architecture));
  }
  if (selection.runs_on) {
    keep_code_that_runs_on(kernels, *selection.runs_on);
    const auto [major, minor] = *selection.runs_on;
    // CUDA 13 builds for 7.5 and later.
    code +=
        fmt::format(": build with nvcc -arch=sm_{}{}{}", major, minor,
                    *selection.runs_on < ComputeCapability{7, 5} ? " of an older toolkit, which has it" : "");
    require_some(fmt::format("no machine code runs on compute capability {}.{}", major, minor));
  }
  return kernels;
}

/// Subtracts the driver's reserve and adds what only the cubin says.
void add_cubin(const Cubin& cubin, KernelOfCubin& placed) {
  DeviceKernel& kernel = placed.kernel;
  std::int64_t& shared = kernel.usage.static_shared_bytes;
  if (kernel.compute_capability.major >= 9 && shared >= kLinkedReserve) shared -= kLinkedReserve;
  kernel.toolkit = cubin.toolkit;
  const auto found = cubin.kernels.find(kernel.symbol);
  if (found == cubin.kernels.end()) return;
  kernel.usage.barriers = found->second.barriers;
  kernel.moves_registers = found->second.moves_registers;
  if (found->second.calls && kernel.usage.local_bytes_per_thread != 0) kernel.local.reset();
  placed.may_recurse = found->second.has_functions && kernel.usage.local_bytes_per_thread == 0;
  if (placed.may_recurse) {
    kernel.stack_bytes.reset();
    kernel.usage.local_bytes_per_thread.reset();
  }
  static_cast<LaunchBounds&>(kernel) = found->second;
}

/// cuobjdump extracts a function from a cubin in the time in which it shows about 20 of a whole one.
constexpr std::size_t kFunctionsInTheTimeOfOne = 20;

/// Whether its instructions say how often it uses local memory.
bool may_use_local(const DeviceKernel& kernel) {
  return kernel.local && kernel.usage.local_bytes_per_thread != 0;
}

/// The symbols of the kernels that may use local memory, separated by commas, and their number.
std::pair<std::string, std::size_t> local_users(std::span<const KernelOfCubin> kernels) {
  std::string symbols;
  std::size_t count = 0;
  for (const KernelOfCubin& placed : kernels) {
    if (!may_use_local(placed.kernel)) continue;
    symbols += (count > 0 ? "," : "") + placed.kernel.symbol;
    ++count;
  }
  return {symbols, count};
}

/// Sets the accesses seen in a kernel that may use local memory. If none uses its stack, generic instructions do.
void set_local(KernelOfCubin& placed, const LocalAccesses& seen) {
  DeviceKernel& kernel = placed.kernel;
  kernel.local = seen;
  if (seen.loads + seen.stores > 0) return;
  if (placed.may_recurse) {
    kernel.stack_bytes = kernel.usage.local_bytes_per_thread = 0;
  } else if (kernel.stack_bytes != 0) {
    kernel.local.reset();
  }
}

/// Counts local accesses of a cubin's kernels that may have local memory. @returns why it cannot, or an empty text
std::string add_local_accesses(const Cuobjdump& cuobjdump, const fs::path& file, std::size_t functions,
                               std::span<KernelOfCubin> kernels) {
  const auto [symbols, count] = local_users(kernels);
  std::vector<std::string> options = {"-sass"};
  if (kFunctionsInTheTimeOfOne * count < functions) options.insert(options.end(), {"-fun", symbols});
  CodeListing listing;
  const std::string complaint =
      cuobjdump.complaint_of(options, file, [&](std::string_view line) { listing.read(line); });
  if (!complaint.empty()) return complaint;
  for (KernelOfCubin& placed : kernels) {
    if (!may_use_local(placed.kernel)) continue;
    const auto found = listing.functions().find(placed.kernel.symbol);
    if (found == listing.functions().end()) {
      placed.kernel.local.reset();
    } else {
      set_local(placed, found->second);
    }
  }
  return "";
}

/// Takes cubins out of the file, some at a time, and adds what they say to their kernels, which are in the
/// order of the cubins.
class CubinReading {
 public:
  CubinReading(const Cuobjdump& cuobjdump, const fs::path& file, const std::vector<std::string>& names,
               std::ostream& remarks)
      : cuobjdump_(cuobjdump), file_(file), names_(names), remarks_(remarks) {}

  void read(std::span<KernelOfCubin> kernels, std::size_t most_disassembled) {
    std::vector<std::span<KernelOfCubin>> cubins;
    for (std::size_t begin = 0; begin < kernels.size();) {
      std::size_t end = begin;
      while (end < kernels.size() && kernels[end].cubin == kernels[begin].cubin) ++end;
      cubins.push_back(kernels.subspan(begin, end - begin));
      begin = end;
    }
    std::map<std::string, std::size_t> uncounted;
    {
      Waiting waiting("reading machine code:", cubins.size());
      for (std::size_t begin = 0; begin < cubins.size(); begin += kCubinsAtOnce)
        read_some(std::span(cubins).subspan(begin, std::min(kCubinsAtOnce, cubins.size() - begin)),
                  most_disassembled, waiting);
      uncounted = count_accesses(most_disassembled, waiting);
    }
    for (const auto& [why, count] : uncounted)
      fmt::print(remarks_, "local loads and stores of {} are not counted: {}\n",
                 counted(static_cast<std::int64_t>(count), "kernel"), why);
  }

 private:
  /// A cubin that has kernels which may use local memory.
  struct Disassembled {
    fs::path path;
    std::size_t functions;
    std::span<KernelOfCubin> kernels;
  };

  void read_some(std::span<const std::span<KernelOfCubin>> cubins, std::size_t most_disassembled,
                 Waiting& waiting) {
    std::string wanted;
    for (const std::span<KernelOfCubin> kernels : cubins)
      wanted += (wanted.empty() ? "" : ",") + names_[kernels.front().cubin];
    cuobjdump_.run(
        {"-xelf", wanted}, file_, [](std::string_view) {}, folder_.path());
    for (const std::span<KernelOfCubin> kernels : cubins) {
      const fs::path path = folder_.path() / names_[kernels.front().cubin];
      const Cubin cubin = whole_cubin(path);
      if (!cubin.linked)
        throw InputError(
            "{}: {} is relocatable code (nvcc -rdc=true), whose registers and memory are known after "
            "linking: ask the linked program, or the file that nvcc -dlink makes of this one; --kernel and "
            "--arch "
            "leave kernels out",
            file_.string(), source_name(kernels.front().kernel.symbol));
      for (KernelOfCubin& placed : kernels) add_cubin(cubin, placed);
      const bool uses_local = local_users(kernels).second > 0;
      if (uses_local) disassembled_.push_back({path, cubin.kernels.size(), kernels});
      if (!uses_local || disassembled_.size() > most_disassembled) fs::remove(path);
      if (!uses_local) waiting.step();
    }
  }

  static Cubin whole_cubin(const fs::path& path) {
    try {
      return parse_cubin(read_text(path), path.filename().string());
    } catch (const InputError& error) {
      throw InputError(with_lack_of_space(error.what()));
    }
  }

  /// Counts instructions. @returns why not, and for how many kernels: a disassembler may lack architectures
  std::map<std::string, std::size_t> count_accesses(std::size_t most, Waiting& waiting) const {
    const std::string too_many =
        disassembled_.size() <= most
            ? ""
            : fmt::format(
                  "they stand in {} cubins, of which at most {} are disassembled; ask for fewer by "
                  "--kernel RE, --arch or --cc",
                  disassembled_.size(), most);
    std::map<std::string, std::size_t> uncounted;
    for (const auto& [path, functions, kernels] : disassembled_) {
      const std::string why =
          too_many.empty() ? add_local_accesses(cuobjdump_, path, functions, kernels) : too_many;
      waiting.step();
      if (why.empty()) continue;
      uncounted[why] += local_users(kernels).second;
      for (KernelOfCubin& placed : kernels) {
        if (may_use_local(placed.kernel)) placed.kernel.local.reset();
      }
    }
    return uncounted;
  }

  const Cuobjdump& cuobjdump_;
  const fs::path& file_;
  const std::vector<std::string>& names_;
  std::ostream& remarks_;
  const TemporaryFolder folder_;
  std::vector<Disassembled> disassembled_;
};

/// The file under a name that cuobjdump accepts: it expects quotes in pairs, and a line end cuts its list.
class PlainName {
 public:
  explicit PlainName(const fs::path& file) : file_(file) {
    if (file.string().find_first_of("\"'\n\r") == std::string::npos) return;
    file_ = folder_.emplace().path() / "code";
    fs::create_symlink(fs::absolute(file), file_);
  }
  const fs::path& file() const {
    return file_;
  }

 private:
  std::optional<TemporaryFolder> folder_;
  fs::path file_;
};

}  // namespace

std::vector<DeviceKernel> read_device_code(const fs::path& named, const CodeSelection& selection,
                                           std::ostream& remarks) {
  std::error_code missing;
  if (!fs::is_regular_file(named, missing) || access(named.c_str(), R_OK) != 0) {
    throw InputError("{} is no file that can be read", named.string());
  }
  if (fs::is_empty(named)) throw InputError("{} is empty", named.string());
  if (named.extension() == ".cu" || named.extension() == ".ptx") {
    throw InputError(
        "{0} is no machine code, and the compiler decides its registers: `nvcc -arch=sm_90 -cubin -o "
        "kernel.cubin "
        "{0}`, then --from kernel.cubin",
        named.string());
  }
  const PlainName plain(named);
  const fs::path& file = plain.file();
  const Cuobjdump cuobjdump;
  // Each reads the whole file, which takes seconds if it is large.
  auto names_to_come = std::async(std::launch::async, [&] { return listed(cuobjdump, "-lelf", file); });
  ResourceListing listing;
  cuobjdump.run({"-res-usage"}, file, [&](std::string_view line) { listing.read(line); });
  const std::vector<std::string> names = names_to_come.get();
  std::vector<KernelOfCubin> kernels = all_kernels(listing, names, named);
  if (kernels.empty())
    throw InputError("{} has no kernels in {}", named.string(),
                     !names.empty() ? "its machine code, only functions: ask the linked program"
                     : listing.is_lto()
                         ? "machine code; it has NVVM IR, which is compiled at link time (nvcc "
                           "-dlto): ask the linked program"
                         : "machine code; PTX, which the driver compiles, does not say what "
                           "they will use: build for an architecture, as with nvcc -arch=sm_90");
  kernels = selected(std::move(kernels), selection, named);
  CubinReading(cuobjdump, file, names, remarks).read(kernels, selection.most_disassembled);
  std::vector<DeviceKernel> found;
  for (KernelOfCubin& placed : kernels) found.push_back(std::move(placed.kernel));
  return found;
}

namespace {

constexpr unsigned kMachineCuda = 190;  // EM_CUDA

// As cuobjdump -elf names them: EIATTR_MAX_THREADS, EIATTR_REQNTID, EIATTR_FRAME_SIZE, EIATTR_KPARAM_INFO and _V2,
// EIATTR_CTA_PER_CLUSTER, EIATTR_MAX_CLUSTER_RANK, EIATTR_NUM_BARRIERS, EIATTR_REG_RECONFIG; EIFMT_SVAL.
constexpr unsigned kMaxThreads = 0x05;
constexpr unsigned kRequiredThreads = 0x10;
constexpr unsigned kFrameSize = 0x11;
constexpr unsigned kParameter = 0x17;
constexpr unsigned kClusterBlocks = 0x3d;
constexpr unsigned kMaxClusterBlocks = 0x3f;
constexpr unsigned kLargeParameter = 0x45;
constexpr unsigned kNumBarriers = 0x4c;
constexpr unsigned kMovesRegisters = 0x54;
constexpr unsigned kFormatSized = 4;

class CubinReader {
 public:
  CubinReader(std::string_view bytes, std::string_view source) : bytes_(bytes), source_(source) {}

  Cubin read() {
    if (!bytes_.starts_with(ELFMAG)) refuse();
    const auto header = at<Elf64_Ehdr>(0);
    if (header.e_machine != kMachineCuda) refuse();
    Cubin cubin;
    cubin.linked = header.e_type == ET_EXEC;
    std::vector<Elf64_Shdr> sections;
    for (unsigned i = 0; i < header.e_shnum; ++i)
      sections.push_back(at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    slice(header.e_phoff, std::uint64_t{header.e_phnum} * header.e_phentsize);
    if (header.e_shstrndx >= sections.size()) refuse();
    const std::string_view names = part(sections[header.e_shstrndx]);
    for (const Elf64_Shdr& section : sections) read_section(name_in(names, section.sh_name), section, cubin);
    for (const Elf64_Shdr& section : sections) read_calls(names, section, sections, cubin);
    return cubin;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InputError("{} is not a whole cubin", source_);
  }

  template <typename Value>
  Value at(std::uint64_t offset) const {
    Value value;
    std::memcpy(&value, slice(offset, sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view slice(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) refuse();
    return bytes_.substr(offset, size);
  }

  std::string_view part(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? "" : slice(section.sh_offset, section.sh_size);
  }

  std::string_view name_in(std::string_view names, std::size_t begin) const {
    if (begin >= names.size()) refuse();
    return names.substr(begin, names.find('\0', begin) - begin);
  }

  void read_section(std::string_view name, const Elf64_Shdr& section, Cubin& cubin) const {
    constexpr std::string_view kInfo = ".nv.info.";
    if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_type == SHT_PROGBITS)
      cubin.code =
          fnv_hash<std::uint64_t>(fmt::format("{} {}", cubin.code, fnv_hash<std::uint64_t>(part(section))));
    if (name.starts_with(kInfo)) {
      cubin.kernels[std::string(name.substr(kInfo.size()))] = read_attributes(part(section));
    } else if (name == ".note.nv.tkinfo") {
      cubin.toolkit = version_in(part(section));
    }
  }

  /// Barriers, and which functions call others or have some within their code.
  void read_calls(std::string_view names, const Elf64_Shdr& section, const std::vector<Elf64_Shdr>& sections,
                  Cubin& cubin) const {
    constexpr std::string_view kText = ".text.";
    const auto linked_to = [&](const Elf64_Shdr& of) {
      if (of.sh_link >= sections.size()) refuse();
      return sections[of.sh_link];
    };
    const auto symbol = [&](std::uint32_t place) {
      return at<Elf64_Sym>(linked_to(section).sh_offset + place * sizeof(Elf64_Sym));
    };
    const auto name_of = [&](std::uint32_t place) {
      return std::string(name_in(part(linked_to(linked_to(section))), symbol(place).st_name));
    };
    const std::string_view name = name_in(names, section.sh_name);
    if (name.starts_with(kText)) {
      // CUDA 12 and earlier have the barriers in the flags.
      const auto function = cubin.kernels.find(name.substr(kText.size()));
      if (function != cubin.kernels.end() && function->second.barriers == 0)
        function->second.barriers = static_cast<int>(section.sh_flags >> 20 & 0x7f);
    } else if (name == ".nv.info") {
      for_each_attribute(part(section), [&](unsigned code, unsigned, std::string_view of) {
        if (code != kFrameSize || of.size() != 8) return;
        const std::string whole = name_of(word(of, 0));
        // "$kernel$function" of a function within a kernel's code
        const std::size_t end = whole.find('$', 1);
        if (!whole.starts_with('$') || end == std::string::npos) return;
        const auto kernel = cubin.kernels.find(whole.substr(1, end - 1));
        if (kernel != cubin.kernels.end()) kernel->second.has_functions = true;
      });
    } else if (name == ".nv.callgraph") {
      // Pairs of caller and callee; 0 and a negative number between them say what kind of call follows: to a symbol, or
      // by address to any function of a type. A callee that has no code here is the driver's, such as vprintf.
      constexpr int kToSymbol = -1;
      constexpr int kByAddress = -3;
      int kind = 0;
      const std::string_view pairs = part(section);
      for (std::size_t i = 0; i + 8 <= pairs.size(); i += 8) {
        const std::uint32_t caller = word(pairs, i);
        const std::uint32_t callee = word(pairs, i + 4);
        if (caller == 0) {
          kind = static_cast<int>(callee);
        } else if (kind == kByAddress || (kind == kToSymbol && symbol(callee).st_shndx != SHN_UNDEF)) {
          cubin.kernels[name_of(caller)].calls = true;
        }
      }
    }
  }

  static std::uint32_t word(std::string_view content, std::size_t place) {
    std::uint32_t value = 0;
    std::memcpy(&value, content.data() + place, sizeof value);
    return value;
  }

  /// Calls `each` with code, value and content; only attributes of that format have content.
  void for_each_attribute(std::string_view info, const auto& each) const {
    while (info.size() >= 4) {
      const std::uint32_t head = word(info, 0);  // format, code, value
      const std::size_t size = (head & 0xff) == kFormatSized ? head >> 16 : 0;
      if (info.size() - 4 < size) refuse();
      each(head >> 8 & 0xff, head >> 16, info.substr(4, size));
      info.remove_prefix(4 + size);
    }
  }

  CubinKernel read_attributes(std::string_view info) const {
    CubinKernel kernel;
    for_each_attribute(info, [&](unsigned code, unsigned value, std::string_view content) {
      if (code == kNumBarriers && content.empty()) kernel.barriers = static_cast<int>(value & 0xff);
      if (code == kMovesRegisters) kernel.moves_registers = true;
      if (code == kMaxThreads) kernel.max_block_threads = product_of(content);
      if (code == kRequiredThreads) kernel.required_block_threads = product_of(content);
      if (code == kClusterBlocks) kernel.cluster_blocks = static_cast<int>(product_of(content));
      if (code == kMaxClusterBlocks) kernel.max_cluster_blocks = static_cast<int>(product_of(content));
      if ((code == kParameter || code == kLargeParameter) && content.size() == 12) {
        // Its index, its place, its offset, and its size, which has other bits below it.
        const std::uint32_t place = word(content, 4) & 0xffff;
        kernel.parameter_bytes.resize(std::max<std::size_t>(kernel.parameter_bytes.size(), place + 1U));
        kernel.parameter_bytes[place] = word(content, 8) >> (code == kParameter ? 18 : 0);
      }
    });
    return kernel;
  }

  /// The product of the three dimensions of a block or cluster.
  static std::int64_t product_of(std::string_view dimensions) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i + 4 <= std::min<std::size_t>(dimensions.size(), 12); i += 4)
      product *= std::min<std::uint32_t>(word(dimensions, i), 1024);
    return product;
  }

  /// "Cuda compilation tools, release 13.0, V13.0.88": what follows the V.
  static std::string version_in(std::string_view note) {
    constexpr std::string_view kRelease = "release ";
    const std::size_t release = note.find(kRelease);
    if (release == std::string_view::npos) return "";
    const std::size_t version = note.find(", V", release);
    if (version == std::string_view::npos) return "";
    const std::string_view text = note.substr(version + 3);
    return std::string(text.substr(0, text.find_first_not_of("0123456789.")));
  }

  std::string_view bytes_;
  std::string_view source_;
};

}  // namespace

Cubin parse_cubin(std::string_view bytes, std::string_view source) {
  return CubinReader(bytes, source).read();
}

}  // namespace occbench
