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

/// What `occbench calc` is asked: a configuration on an SM, and on a device where its SMs are known.
struct Question {
  Limits limits;  ///< of the compute capability, or narrower by the launch bounds of a kernel
  Configuration configuration;
  std::optional<int> sm_count;
  std::vector<int> sms_per_gpc;  ///< empty = not known
  std::string gpu = {};          ///< as the user named it; empty = not named
  std::string gpcs_by = {};      ///< the profile that sms_per_gpc are of; empty = they are given or not known

  /// Else they are 0, and so do not limit.
  bool registers_given() const {
    return configuration.usage.registers_per_thread > 0;
  }
};

/// What an answer says where registers were not given.
inline constexpr std::string_view kRegistersAssumed = "registers assumed not to limit";

/// Takes the GPCs of the profile of a GPU's model, where none are given and a launch in clusters depends on them.
void use_known_gpcs(Question& question, const GpuIdentity& gpu);

/// @throws InputError for a grid below 0 blocks, a device below 1 SM or a GPC below 1, GPCs that are not all SMs, and as
/// check_static_shared and check_whole_clusters.
void check_question(const Question& question);

/// The columns that make an object a row of a file: schema, experiment and case.
Json row_head(const std::string& experiment, const std::string& name);

/// A flat object of the question, keys as the columns of a row; null = not given.
Json question_json(const Question& question);

/// A flat object of the answers; null = does not limit, or not known. Keys are the columns of a row where it
/// has one, and: warps_per_sm, threads_per_sm; block_limit_* = blocks that each resource alone allows;
/// registers_per_block and shared_bytes_per_block = allocated; shared_bytes_per_sm = what the carveout
/// leaves; idle_* = what resident blocks leave of it; full_wave_blocks = also the largest cooperative grid,
/// of clusters those that are active; active_clusters; gpcs_by = the profile that these two are of;
/// best_block_threads; available_dynamic_shared_bytes = the most that keeps as many blocks; opt_in_bytes = dynamic shared memory for which the kernel must opt in; assumed = what was not given;
/// cannot_launch = why not.
/// @throws InputError as theoretical_occupancy.
Json answer_json(const Question& question);

/// What to do about theoretical occupancy and a grid of partial waves, in sentences, and the most that it can save of the time.
std::vector<std::string> what_to_do(const Question& question, const TheoryAdvice& advice);

/// Of a grid that does not fill its rounds of blocks: rounds, blocks of whole waves, and time_saved_at_most_pct as `explain` has it;
/// null where it does, or waves are not known.
Json whole_waves_json(const Question& question);

/// The changes of an advice: axis, from, to, blocks_per_sm, theoretical_pct, change in words, and kind: highest, below,
/// beyond, or together for both of a pair.
std::vector<Json> steps_json(const TheoryAdvice& advice);

/// The steps of cliffs(): the same, with direction (up, down) instead of kind.
std::vector<Json> cliffs_json(const Question& question);

/// The rules that were applied: resource, blocks that it alone allows, whether it limits, the rule in words.
std::vector<Json> rules_json(const Question& question);

/// Flat objects in that format, which is no table.
inline std::string flat_text(std::span<const Json> objects, AnswerFormat format) {
  return format == AnswerFormat::csv ? flat_csv(objects) : flat_json(objects);
}

/// Why waves are not known of a grid of clusters on known SMs; empty where they are, or nothing was asked of them.
std::string why_no_waves(const Question& question);

/// "31 of 64 lanes of a block have no thread"; empty where few have none.
std::string idle_lanes(const Launch& launch);

/// What answers say that they assume, each once.
std::set<std::string> assumed_of(std::span<const Json> rows);

/// question_json() with answer_json().
Json answered_json(const Question& question);

/// "; as good: 160, 256, 320", the smaller block sizes that reach as much as the best; empty where there are none.
std::string as_good(const Limits& limits, const Configuration& configuration, const BestBlockSize& best);

/// All answers to one question for a terminal: occupancy, a line a resource, the rules applied, the device,
/// what to do, the nearest steps.
std::string calc_report(const Question& question);

/// Limits of compute capabilities. As CSV and JSON an object each, named as limit_columns, with
/// `carveouts_kb` last. As a table one capability is a line a limit with its meaning; several are a line
/// each, with what most configurations are limited by.
std::string limits_text(std::span<const Limits> all, AnswerFormat format);

}  // namespace occbench
