#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "occupancy/statuses.hpp"
#include "predict/device_profile.hpp"
#include "record/case_record.hpp"

// Plan of a run, before anything is measured.
namespace occbench {

/// Options of `occbench run`.
struct RunOptions {
  std::string suite = "quick";
  std::string filter;
  std::string rehearse;  ///< file of rows whose cases are predicted instead of measured
  std::string device = "auto";
  std::string counters = "auto";
  std::string out;
  std::filesystem::path benches;     ///< folder of the bench programs; empty = that of this program
  std::vector<std::string> metrics;  ///< hardware metrics in addition to those of the columns
  std::vector<std::filesystem::path> programs;  ///< replace the bench programs of the folder
  std::vector<std::string> flags;               ///< further flags of these programs, --occ_NAME=VALUE
  bool list = false;
  bool resume = false;
};

/// A bench program and the cases of it in this run.
struct Bench {
  std::filesystem::path program;
  std::vector<CaseRecord> cases;   ///< with their data before a launch
  std::vector<std::string> notes;  ///< on the device and on the options, the same from every program
};

/// A bench program could not list its cases; the message has its output. The status is that of `occbench run`: the
/// program's own if that says that nothing can be measured.
using CannotList = StatusError<ExitStatus>;

/// Arguments of every command for a program. Listing cases has them too, so that a wrong value is refused before a
/// file is touched.
std::vector<std::string> common_arguments(const RunOptions& options);

/// Folder of the programs that measure: the user's, or that of this program.
std::filesystem::path programs_folder(const std::filesystem::path& asked_for);

/// The bench programs of such a folder: the suite, bench_all, and the user's own. A link to bench_all, named after
/// one of the suite's experiments, does not count as a program.
std::vector<std::filesystem::path> bench_programs(const std::filesystem::path& asked_for);

/// Asks every program for its cases of the suite and the filter. A case of several programs is measured by the first
/// of them.
/// @throws InputError if there are no programs, nothing matches or one refuses an option, CannotList if one cannot
/// answer
std::vector<Bench> planned_benches(const RunOptions& options);

/// Predicts planned cases in their order, as far as a list's limit allows, and tells `err` how many have no
/// prediction. @param given  the user's profile, else the best known one of the cases' GPU. @throws CannotList if it
/// is interrupted
void predict_listed(std::vector<CaseRecord>& cases, const std::optional<DeviceProfile>& given,
                    std::ostream& err);

/// Approximate time of a case, s: the mean beside its launches, and the work of one wave after another. The same on
/// every machine, for GPUs of one model.
double expected_seconds(const CaseRecord& record);

/// An axis of a kernel, as its program describes it.
struct DescribedAxis {
  std::string name;
  std::string meaning;
  std::string values;  ///< if the user gives none
};

/// A kernel that can be swept, and the program that measures it.
struct SweptKernel {
  std::filesystem::path program;
  std::string name;
  std::string description;
  std::vector<DescribedAxis> axes;
};

/// The kernels of the programs in a folder: those of `sweep` first, then those of the user's bench binaries. Needs no
/// GPU.
/// @throws InputError if there is no such program: this build has no CUDA
std::vector<SweptKernel> swept_kernels(const std::filesystem::path& folder);

/// @throws InputError for a kernel that is not in the list, naming the nearest
const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name);

/// `sweep` in the folder, which compiles and measures kernels in files. @throws InputError as swept_kernels()
std::filesystem::path sweep_program(const std::filesystem::path& folder);

}  // namespace occbench
