#include "cli/output_file.hpp"

#include <chrono>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/ostream.h>

#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {

namespace fs = std::filesystem;

fs::path output_file(const std::string& out, const std::string& what) {
  if (out == "-")
    throw InputError(
        "--out -: rows and samples go to files; write --out FILE.csv, and print it when it is there");
  if (!out.empty()) return out;
  // Named by the time, so that no run ever replaces another.
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fs::path("results") / "local" / fmt::format("{:%Y%m%dT%H%M%SZ}-{}.csv", fmt::gmtime(now), what);
}

void keep_older_rows(const fs::path& out, Console& console) {
  // Samples are kept beside their rows, under a name that says so.
  if (const std::vector<SetAside> kept = set_aside(out); !kept.empty())
    fmt::print(console.err, "{} was there already and is kept as {}; the new file begins empty\n",
               kept.front().file.string(), kept.front().kept_as.string());
}

}  // namespace occbench
