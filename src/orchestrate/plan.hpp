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

// What a run will measure, before anything is measured.
namespace occbench {

/// What `occbench run` was asked for.
struct RunOptions {
  std::string suite = "quick";
  std::string filter;
  std::string rehearse;  ///< file of rows whose cases are predicted instead of measured
  std::string device = "auto";
  std::string counters = "auto";
  std::string out;
  std::filesystem::path benches;     ///< folder of the bench programs; empty = that of this program
  std::vector<std::string> metrics;  ///< hardware metrics beside those of the columns
  std::vector<std::filesystem::path> programs;  ///< instead of the bench programs of the folder
  std::vector<std::string> flags;               ///< further ones of theirs, --occ_NAME=VALUE
  bool list = false;
  bool resume = false;
};

/// A bench program and the cases of it that this run wants.
struct Bench {
  std::filesystem::path program;
  std::vector<CaseRecord> cases;   ///< with what is known of them before a launch
  std::vector<std::string> notes;  ///< on the device and on what was asked for, the same from every program
};

/// A bench program could not say which cases it has; the message has its output. The status is what `occbench run` ends with: the
/// program's own where that says that nothing can be measured.
using CannotList = StatusError<ExitStatus>;

/// What a program is told by every command: when it lists its cases too, so that a wrong value is refused
/// before a file is touched.
std::vector<std::string> common_arguments(const RunOptions& options);

/// Where programs that measure lie: in the folder that the user names, or beside this program.
std::filesystem::path programs_folder(const std::filesystem::path& asked_for);

/// The bench programs of such a folder: the suite, bench_all, and those of the user's own. A name of the suite's
/// experiments that is a link to bench_all is no program of its own.
std::vector<std::filesystem::path> bench_programs(const std::filesystem::path& asked_for);

/// Asks every program which cases it has of the suite and the filter. A case that several have is measured by
/// the first of them.
/// @throws InputError if there are no programs, nothing matches or one refuses what is asked for, CannotList
/// if one cannot answer
std::vector<Bench> planned_benches(const RunOptions& options);

/// Predicts planned cases, as far as the work goes, in their order, and tells `err` how many are left without. @param given  the
/// profile that the user names, else the best that is known of the cases' GPU. @throws CannotList if it is interrupted
void predict_listed(std::vector<CaseRecord>& cases, const std::optional<DeviceProfile>& given,
                    std::ostream& err);

/// About how long a case takes, s: the mean beside its launches, and the work of one wave after another. The
/// same on every machine, for GPUs of one model.
double expected_seconds(const CaseRecord& record);

/// An axis of a kernel, as its program describes it.
struct DescribedAxis {
  std::string name;
  std::string meaning;
  std::string values;  ///< where the user gives none
};

/// A kernel that can be swept, and the program that measures it.
struct SweptKernel {
  std::filesystem::path program;
  std::string name;
  std::string description;
  std::vector<DescribedAxis> axes;
};

/// The kernels of the programs in a folder: those of `sweep` first, then those of the bench binaries of the
/// user's own. Needs no GPU.
/// @throws InputError where there is no such program: this build has no CUDA
std::vector<SweptKernel> swept_kernels(const std::filesystem::path& folder);

/// @throws InputError for a kernel that is not among them, naming the nearest
const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name);

/// `sweep` in the folder, which compiles and measures kernels in files. @throws InputError as swept_kernels()
std::filesystem::path sweep_program(const std::filesystem::path& folder);

}  // namespace occbench
