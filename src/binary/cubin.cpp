#include "binary/cubin.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr unsigned kMachineCuda = 190;  // EM_CUDA

// As cuobjdump -elf names them: EIATTR_MAX_THREADS, EIATTR_REQNTID, EIATTR_NUM_BARRIERS; EIFMT_SVAL.
constexpr unsigned kMaxThreads = 0x05;
constexpr unsigned kRequiredThreads = 0x10;
constexpr unsigned kNumBarriers = 0x4c;
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
    return cubin;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InputError(fmt::format("{} is not a whole cubin", source_));
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
    if (name.starts_with(kInfo)) {
      cubin.kernels[std::string(name.substr(kInfo.size()))] = read_attributes(part(section));
    } else if (name == ".note.nv.tkinfo") {
      cubin.toolkit = version_in(part(section));
    }
  }

  CubinKernel read_attributes(std::string_view info) const {
    CubinKernel kernel;
    while (info.size() >= 4) {
      const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(info[place]); };
      const unsigned format = byte(0);
      const unsigned code = byte(1);
      const unsigned value = byte(2) | static_cast<unsigned>(byte(3)) << 8;
      const std::size_t size = format == kFormatSized ? value : 0;
      if (info.size() - 4 < size) refuse();
      const std::string_view content = info.substr(4, size);
      if (code == kNumBarriers && format != kFormatSized) kernel.barriers = static_cast<int>(value & 0xff);
      if (code == kMaxThreads) kernel.max_block_threads = product_of(content);
      if (code == kRequiredThreads) kernel.required_block_threads = product_of(content);
      info.remove_prefix(4 + size);
    }
    return kernel;
  }

  /// Of the three dimensions of a block.
  static std::int64_t product_of(std::string_view dimensions) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i + 4 <= std::min<std::size_t>(dimensions.size(), 12); i += 4) {
      std::uint32_t extent = 0;
      std::memcpy(&extent, dimensions.data() + i, sizeof extent);
      product *= std::min<std::uint32_t>(extent, 1024);
    }
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
