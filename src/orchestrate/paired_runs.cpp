#include <cerrno>
#include <cstring>
#include <ostream>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/ostream.h>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statuses.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/run.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

fs::path program_of(const fs::path& build) {
  const fs::path program = fs::absolute(build) / "bin" / "occbench";
  if (::access(program.c_str(), X_OK) == 0) return program;
  throw InputError("{} is no build folder: {}: {}", build.string(), program.string(), std::strerror(errno));
}

bool measured(Ending ending) {
  return ending == Ending{.status = static_cast<int>(ExitStatus::done)} ||
         ending == Ending{.status = static_cast<int>(ExitStatus::no_verdict)};
}

/// Output of `occbench run` itself; log_of() has the output of its programs.
fs::path log_of_run(fs::path rows) {
  return rows.replace_extension(".log");
}

/// The reason why the program wrote no file of rows; empty if it did.
std::string run_once(const fs::path& program, const PairPlan& plan, const fs::path& out) {
  std::vector<std::string> arguments = {"run"};
  arguments.insert(arguments.end(), plan.arguments.begin(), plan.arguments.end());
  arguments.insert(arguments.end(), {"--out", out.string()});
  const fs::path log = log_of_run(out);
  const Ending ending =
      ChildProcess(ProgramStart{.program = program, .arguments = std::move(arguments), .output = log}).wait();
  if (measured(ending) && fs::exists(out)) return "";
  return fmt::format("{} ended with {} and wrote no rows; see {}", program.string(), to_string(ending),
                     log.string());
}

}  // namespace

PairedRuns run_pairs(const PairPlan& plan, std::ostream& progress) {
  const fs::path program_a = program_of(plan.build_a);
  const fs::path program_b = program_of(plan.build_b);
  std::error_code error;
  fs::create_directories(plan.folder, error);
  if (error) throw InputError("cannot write {}: {}", plan.folder.string(), error.message());

  // A B B A A B B A ...
  const auto is_of_a = [](int run) { return run % 4 == 0 || run % 4 == 3; };
  const auto rows_of = [&](int run) {
    return plan.folder / fmt::format("{:02}-{}.csv", run + 1, is_of_a(run) ? 'a' : 'b');
  };
  for (int run = 0; run < 2 * plan.pairs; ++run) {
    require_log(log_of_run(rows_of(run)));
    require_log(log_of(rows_of(run)));
  }
  PairedRuns runs;
  for (int run = 0; run < 2 * plan.pairs; ++run) {
    const bool is_a = is_of_a(run);
    const fs::path out = rows_of(run);
    set_aside(out);  // a run of before
    fmt::print(progress, "run {} of {}: {}\n", run + 1, 2 * plan.pairs,
               (is_a ? plan.build_a : plan.build_b).string());
    progress.flush();
    runs.failure = run_once(is_a ? program_a : program_b, plan, out);
    if (!runs.failure.empty()) return runs;
    (is_a ? runs.a : runs.b).push_back(out);
  }
  return runs;
}

}  // namespace occbench
