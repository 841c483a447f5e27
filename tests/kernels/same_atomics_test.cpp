#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace occbench {
namespace {

template <typename Value>
Value value_at(const std::string& bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes.substr(offset, sizeof value).data(), sizeof value);
  return value;
}

/// The machine code of each kernel of a cubin by its name: the bytes of its section `.text.NAME`.
std::map<std::string, std::string> code_of_kernels(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const auto header = value_at<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](std::size_t i) {
    return value_at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const std::size_t names = section(header.e_shstrndx).sh_offset;
  const std::string prefix = ".text.";
  std::map<std::string, std::string> code;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const std::string name = bytes.c_str() + names + section(i).sh_name;
    if (name.starts_with(prefix))
      code[name.substr(prefix.size())] = bytes.substr(section(i).sh_offset, section(i).sh_size);
  }
  return code;
}

class SameAtomics : public testing::Test {
 protected:
  /// Whether two adds are the same machine code.
  bool same(const std::string& one, const std::string& other) const {
    return code_.at(one) == code_.at(other);
  }

 private:
  std::map<std::string, std::string> code_ = code_of_kernels(OCC_SAME_ATOMICS);
};

TEST_F(SameAtomics, CudaStdAtomicRefIsThatOfSystemScope) {
  for (const std::string form :
       {"relaxed_float_", "relaxed_unsigned_", "ordered_float_", "ordered_unsigned_"})
    EXPECT_TRUE(same(form + "std", form + "system")) << form;
  EXPECT_FALSE(same("relaxed_unsigned_std", "relaxed_unsigned_device"));
  EXPECT_FALSE(same("relaxed_unsigned_std", "ordered_unsigned_std"));
}

TEST_F(SameAtomics, AtomicAddOfIntIsThatOfUnsignedAndAtomicRefIsAnInstructionOfItsOwn) {
  EXPECT_TRUE(same("function_int_device", "function_unsigned_device"));
  EXPECT_FALSE(same("relaxed_int_device", "relaxed_unsigned_device"));
}

TEST_F(SameAtomics, AtomicAddOfDoubleIsNotThatOfAtomicRef) {
  EXPECT_FALSE(same("function_double_device", "relaxed_double_device"));
}

}  // namespace
}  // namespace occbench
