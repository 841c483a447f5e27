#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/core.h>

#include "gate/compare.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

struct FilePair {
  fs::path baseline;
  fs::path candidate;
};

/// Which files are compared, and what has no counterpart.
struct Plan {
  std::vector<FilePair> pairs;
  std::vector<GateFinding> general;
};

void doubt(Plan& plan, Grade grade, std::string message) {
  plan.general.push_back({grade, "", "", "", std::move(message)});
}

std::optional<fs::path> of_name(const std::vector<fs::path>& files, const fs::path& name) {
  const auto found = std::ranges::find(files, name, [](const fs::path& file) { return file.filename(); });
  return found == files.end() ? std::nullopt : std::optional(*found);
}

Plan plan_of(const fs::path& baseline, const fs::path& candidate) {
  Plan plan;
  if (!fs::exists(candidate))
    throw InputError(fmt::format("the candidate {} does not exist", candidate.string()));
  if (!fs::exists(baseline)) {
    doubt(plan, Grade::no_verdict, fmt::format("no baseline: {} does not exist", baseline.string()));
    return plan;
  }
  const bool folders = fs::is_directory(baseline) || fs::is_directory(candidate);
  if (!folders) return {{{baseline, candidate}}, {}};
  const auto files_of = [](const fs::path& path) {
    return fs::is_directory(path) ? run_files(path) : std::vector<fs::path>{path};
  };
  const std::vector<fs::path> before = files_of(baseline);
  const std::vector<fs::path> now = files_of(candidate);
  for (const fs::path& file : now) {
    if (const auto counterpart = of_name(before, file.filename())) {
      plan.pairs.push_back({*counterpart, file});
    } else {
      doubt(plan, before.empty() || !fs::is_directory(candidate) ? Grade::no_verdict : Grade::note,
            fmt::format("no baseline: {} has no {}", baseline.string(), file.filename().string()));
    }
  }
  // A candidate that is one file is asked about nothing else.
  for (const fs::path& file : before) {
    if (fs::is_directory(candidate) && !of_name(now, file.filename())) {
      doubt(plan, Grade::no_verdict,
            fmt::format("the candidate {} has no {}", candidate.string(), file.filename().string()));
    }
  }
  if (plan.pairs.empty()) {
    doubt(plan, Grade::no_verdict,
          fmt::format("nothing was compared: {} and {} share no file of rows", baseline.string(),
                      candidate.string()));
  }
  return plan;
}

}  // namespace

Comparison compare_paths(const fs::path& baseline, const fs::path& candidate, const Tolerances& tolerances) {
  const Plan plan = plan_of(baseline, candidate);
  Comparison all;
  all.baseline = baseline.string();
  all.candidate = candidate.string();
  all.general = plan.general;
  for (const FilePair& pair : plan.pairs) {
    Comparison one = compare(read_run(pair.baseline), read_run(pair.candidate), tolerances);
    for (ComparedCase& compared : one.cases) {
      if (plan.pairs.size() > 1) compared.file = pair.candidate.filename().string();
      all.cases.push_back(std::move(compared));
    }
    all.simulated = all.simulated || one.simulated;
    all.general.insert(all.general.end(), one.general.begin(), one.general.end());
  }
  if (plan.pairs.size() > 1) all.sort_worst_first();
  return all;
}

}  // namespace occbench
