#include <cstdint>
#include <filesystem>
#include <iostream>

#include "files/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Gives a fuzzer's kept inputs to it once more, in a build without libFuzzer: what it once found stays
/// mended.
int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::string text = occbench::read_text(entry.path());
      std::cout << entry.path().filename().string() << std::endl;
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
      ++inputs;
    }
  }
  return inputs > 0 ? 0 : 1;
}
