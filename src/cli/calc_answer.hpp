#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/limits.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/theory_advice.hpp"
#include "predict/profile_choice.hpp"
#include "record/json.hpp"

namespace occbench {

/// How `occbench calc` writes its answers.
enum class AnswerFormat { table, csv, json };

/// A question to `occbench calc`: a configuration on an SM, and on a device if its SMs are known.
struct Question {
  Limits limits;  ///< of the compute capability, narrowed by a kernel's launch bounds if any
  Configuration configuration;
  std::optional<int> sm_count;
  std::vector<int> sms_per_gpc;  ///< empty = not known
  std::string gpu = {};          ///< as the user named it; empty = not named
  std::string gpcs_by = {};      ///< the profile with these sms_per_gpc; empty = they are given or not known

  /// If not, they are 0 and do not limit.
  bool registers_given() const {
    return configuration.usage.registers_per_thread > 0;
  }
};

/// The text of an answer if registers were not given.
inline constexpr std::string_view kRegistersAssumed = "registers assumed not to limit";

/// Uses the GPCs in the profile of the GPU's model if none are given and a launch in clusters depends on them.
void use_known_gpcs(Question& question, const GpuIdentity& gpu);

/// @throws InputError for a grid below 0 blocks, a device or GPC below 1 SM, GPCs that do not add up to all SMs, and as
/// check_static_shared and check_whole_clusters.
void check_question(const Question& question);

/// The columns that make an object a row of a file: schema, experiment and case.
Json row_head(const std::string& experiment, const std::string& name);

/// A flat object of the question, keys as the columns of a row; null = not given.
Json question_json(const Question& question);

/// A flat object of the answers; null = does not limit, or not known. Keys are the columns of a row if it has one, and:
/// warps_per_sm, threads_per_sm; block_limit_* = blocks that each resource alone allows; registers_per_block and
/// shared_bytes_per_block = allocated; shared_bytes_per_sm = left by the carveout; idle_* = left by resident blocks;
/// full_wave_blocks = also the largest cooperative grid, for clusters the active blocks; active_clusters; gpcs_by = the
/// profile behind these two; best_block_threads; available_dynamic_shared_bytes = the most that keeps as many blocks;
/// opt_in_bytes = dynamic shared memory for which the kernel must opt in; assumed = inputs that were not given;
/// cannot_launch = why not.
/// @throws InputError as theoretical_occupancy.
Json answer_json(const Question& question);

/// Sentences: advice on theoretical occupancy and on a grid of partial waves, and the most time that it can save.
std::vector<std::string> what_to_do(const Question& question, const TheoryAdvice& advice);

/// For a grid that does not fill its rounds of blocks: rounds, blocks of whole waves, and time_saved_at_most_pct as in
/// `explain`. Null if it does, or if waves are not known.
Json whole_waves_json(const Question& question);

/// The changes of an advice: axis, from, to, blocks_per_sm, theoretical_pct, change in words, and kind: highest, below,
/// carveout, beyond, or together for both of a pair.
std::vector<Json> steps_json(const TheoryAdvice& advice);

/// The steps of cliffs(): the same, with direction (up, down) instead of kind.
std::vector<Json> cliffs_json(const Question& question);

/// The rules that were applied: resource, blocks that it alone allows, whether it limits, the rule in words.
std::vector<Json> rules_json(const Question& question);

/// Flat objects in a format that is not a table.
inline std::string flat_text(std::span<const Json> objects, AnswerFormat format) {
  return format == AnswerFormat::csv ? flat_csv(objects) : flat_json(objects);
}

/// Why the waves of a grid are not known; empty if they are, or if no grid was given.
std::string why_no_waves(const Question& question);

/// "31 of 64 lanes of a block have no thread"; empty if few have none.
std::string idle_lanes(const Launch& launch);

/// The assumptions of answers, each once.
std::set<std::string> assumed_of(std::span<const Json> rows);

/// question_json() with answer_json().
Json answered_json(const Question& question);

/// "; as good: 160, 256, 320", the smaller block sizes that are as good as the best; empty if there are none.
std::string as_good(const Limits& limits, const Configuration& configuration, const BestBlockSize& best);

/// All answers to one question for a terminal: occupancy, one line per resource, the rules applied, the device, what to
/// do, the nearest steps.
std::string calc_report(const Question& question);

/// Limits of compute capabilities. CSV and JSON have one object each, named as limit_columns, with `carveouts_kb` last.
/// The table of one capability has a line per limit with its meaning. The table of several has a line each, with the
/// most common limits.
std::string limits_text(std::span<const Limits> all, AnswerFormat format);

}  // namespace occbench
