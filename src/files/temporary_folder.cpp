#include "files/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code missing;
  const fs::path folder = fs::temp_directory_path(missing);
  std::string name = (folder / "occbench-XXXXXX").string();
  const bool made = !missing && ::mkdtemp(name.data()) != nullptr;
  const std::string why = missing ? missing.message() : std::strerror(errno);
  if (!made) {
    const char* const named = std::getenv("TMPDIR");
    throw InputError(fmt::format("cannot make a temporary folder in {}: {}; name one in the variable TMPDIR",
                                 missing ? (named == nullptr ? "/tmp" : named) : folder.string(), why));
  }
  path_ = std::move(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace occbench
