#include "cli/calc_answer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

template <typename Number>
Json optional_json(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json limit_json(int blocks) {
  return blocks == kUnlimited ? Json() : Json(blocks);
}

Json step_json(const Step& step, const char* key, const char* word) {
  return {{"axis", to_string(step.change.axis)},
          {"from", step.change.from},
          {"to", step.change.to},
          {"blocks_per_sm", step.blocks_per_sm},
          {"theoretical_pct", step.theoretical_pct},
          {"change", to_string(step.change)},
          {key, word}};
}

void check_at_least(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least) throw InputError("{} = {} is out of range: at least {}", what, value, least);
}

std::string bytes(std::int64_t value) {
  return fmt::format("{} B", value);
}

std::string bar(double pct, int width) {
  const int filled = static_cast<int>(std::lround(pct / 100 * width));
  return repeated("█", filled) + repeated("░", width - filled);
}

std::string headline(const Question& question, const Occupancy& occupancy) {
  const auto& [launch, usage] = question.configuration;
  const std::string capability =
      fmt::format("ompute capability {}", to_string(question.limits.compute_capability));
  const std::string registers = question.registers_given()
                                    ? fmt::format("{} registers per thread", usage.registers_per_thread)
                                    : std::string(kRegistersAssumed);
  std::string text = fmt::format("{}: {} per block, {}, {} of shared memory\n\n",
                                 question.gpu.empty() ? "C" + capability : question.gpu + ", c" + capability,
                                 counted(launch.block_threads, "thread"), registers,
                                 bytes(usage.static_shared_bytes + launch.dynamic_shared_bytes));
  text += fmt::format("theoretical occupancy {}  {}  {} of {} warps per SM\n",
                      percent_text(occupancy.theoretical_pct), bar(occupancy.theoretical_pct, 32),
                      occupancy.warps_per_sm(), question.limits.max_warps_per_sm);
  if (occupancy.blocks_per_sm == 0) {
    return text + fmt::format("cannot launch: {}\n", why_it_cannot_launch(question.limits, launch, usage));
  }
  return text + fmt::format("{} per SM\n", counted(occupancy.blocks_per_sm, "block"));
}

std::string resources(const Question& question, const Occupancy& occupancy) {
  const Limits& limits = question.limits;
  const auto& [launch, usage] = question.configuration;
  const Idle idle = idle_resources(limits, launch, occupancy);
  std::vector<std::vector<std::string>> lines = {
      {"", "a block asks", "and gets", "the SM has", "left idle", "blocks that fit", ""}};
  const auto add = [&](Limiter limiter, const char* name, const std::array<std::string, 4>& cells) {
    const int blocks = occupancy.block_limits.of(limiter);
    lines.push_back({name, cells[0], cells[1], cells[2], cells[3],
                     blocks == kUnlimited ? "any" : std::to_string(blocks),
                     occupancy.limiters.contains(limiter) ? "◀ limits" : ""});
  };
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const auto of_registers = [&](std::int64_t value) {
    return question.registers_given() ? text(value) : "?";
  };
  const std::string warps = text(occupancy.warps_per_block);
  add(Limiter::warps, "warps", {warps, warps, text(limits.max_warps_per_sm), text(idle.warps)});
  add(Limiter::blocks, "block slots", {"1", "1", text(limits.max_blocks_per_sm), text(idle.blocks)});
  add(Limiter::registers, "registers",
      {of_registers(std::int64_t{usage.registers_per_thread} * launch.block_threads),
       of_registers(occupancy.registers_per_block), text(limits.registers_per_sm),
       of_registers(idle.registers)});
  add(Limiter::shared_memory, "shared memory",
      {bytes(usage.static_shared_bytes + launch.dynamic_shared_bytes),
       bytes(occupancy.shared_bytes_per_block), bytes(occupancy.shared_bytes_per_sm),
       bytes(idle.shared_bytes)});
  if (limits.max_barriers_per_sm > 0)
    add(Limiter::barriers, "barriers",
        {text(usage.barriers), text(usage.barriers), text(limits.max_barriers_per_sm),
         text(limits.max_barriers_per_sm - occupancy.blocks_per_sm * usage.barriers)});
  return fmt::format("\n{}", text_table(lines, "<>>>>><"));
}

std::string rule_lines(const Question& question) {
  std::vector<std::vector<std::string>> lines;
  for (const AppliedRule& rule : applied_rules(question.limits, question.configuration)) {
    std::string resource(to_string(rule.resource));
    std::ranges::replace(resource, '_', ' ');
    lines.push_back({"  " + resource, rule.sentence});
  }
  return "\nrules applied\n" + text_table(lines, "<");
}

/// An upper bound for clusters with unknown GPCs.
std::int64_t full_wave_of(const Question& question, const Occupancy& occupancy) {
  return full_wave_of_clusters(occupancy, question.configuration.launch.cluster_blocks, *question.sm_count,
                               question.sms_per_gpc);
}

bool is_wave_uncertain(const Question& question) {
  return question.configuration.launch.cluster_blocks > 1 && question.sms_per_gpc.empty();
}

}  // namespace

std::string as_good(const Limits& limits, const Configuration& configuration, const BestBlockSize& best) {
  constexpr std::size_t kShownSizes = 8;
  std::vector<int> sizes = block_sizes_as_good(limits, configuration.launch, configuration.usage, best);
  if (sizes.empty()) return "";
  const bool all = sizes.size() <= kShownSizes;
  if (!all) sizes.erase(sizes.begin(), sizes.end() - kShownSizes);
  return fmt::format("; as good: {}{}", all ? "" : "..., ", fmt::join(sizes, ", "));
}

namespace {

std::string device_lines(const Question& question, const Occupancy& occupancy) {
  const Limits& limits = question.limits;
  const auto& [launch, usage] = question.configuration;
  std::string text = "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<22}{}\n", name, value);
  };
  if (question.sm_count && occupancy.blocks_per_sm > 0) {
    const std::int64_t wave = full_wave_of(question, occupancy);
    const bool at_most = is_wave_uncertain(question);
    line("full wave",
         fmt::format("{}{} blocks on {} SMs{}", at_most ? "at most " : "", wave, *question.sm_count,
                     at_most                     ? ", if whole clusters fill the GPCs: give --gpc-sms"
                     : launch.cluster_blocks > 1 ? ""
                                                 : ", also the largest cooperative grid"));
    if (const auto of_grid = waves(launch.grid_blocks, wave); of_grid && launch.grid_blocks > 0) {
      line("grid", fmt::format("{}: {}{}", counted(launch.grid_blocks, "block"), at_most ? "at least " : "",
                               waves_text(*of_grid, 4)));
    }
  }
  if (!question.sms_per_gpc.empty()) {
    line(
        "active clusters",
        fmt::format("{}, of {} blocks each{}",
                    max_active_clusters(occupancy, launch.cluster_blocks, question.sms_per_gpc),
                    launch.cluster_blocks,
                    question.gpcs_by.empty()
                        ? ""
                        : fmt::format(", with the GPCs of the profile {}; those of another GPU of this model "
                                      "may differ: give --gpc-sms",
                                      question.gpcs_by)));
  }
  if (launch.cluster_blocks > kMostPortableClusterBlocks) {
    line("opt in",
         fmt::format("host code, before the launch: cudaFuncSetAttribute(kernel, "
                     "cudaFuncAttributeNonPortableClusterSizeAllowed, 1); without it the launch fails: "
                     "a cluster may have {} blocks",
                     kMostPortableClusterBlocks));
  }
  const BestBlockSize best = best_block_size(limits, launch, usage);
  if (best.block_threads > 0) {
    line("highest by block size", fmt::format("{} with {} threads, {} per SM{}",
                                              percent_text(100.0 * best.blocks_per_sm * best.block_threads /
                                                           limits.max_threads_per_sm()),
                                              best.block_threads, counted(best.blocks_per_sm, "block"),
                                              as_good(limits, question.configuration, best)));
  }
  if (occupancy.blocks_per_sm > 0) {
    if (const auto most = available_dynamic_shared_bytes(limits, launch, usage, occupancy.blocks_per_sm)) {
      line("dynamic shared memory", fmt::format("up to {} per block with {} per SM", bytes(*most),
                                                counted(occupancy.blocks_per_sm, "block")));
    }
    if (must_opt_in(limits, launch, usage)) {
      line("opt in",
           fmt::format("host code, before the launch: cudaFuncSetAttribute(kernel, "
                       "cudaFuncAttributeMaxDynamicSharedMemorySize, {}); without it the launch fails: a "
                       "block may ask for {}",
                       launch.dynamic_shared_bytes, bytes(limits.max_shared_bytes_per_block_default)));
    }
    const int threads = occupancy.blocks_per_sm * launch.block_threads;
    line("threads per FP32 lane", fmt::format("{:.4g}: {} resident threads, {} lanes per SM",
                                              threads_per_lane(limits, threads), threads, limits.fp32_lanes));
  }
  return text;
}

std::string outcome(const Occupancy& now, double pct, int blocks) {
  return fmt::format("{} → {:<8} {} → {}", number_text(now.theoretical_pct), percent_text(pct),
                     now.blocks_per_sm, counted(blocks, "block"));
}

std::string cliff_lines(const Question& question, const Occupancy& occupancy) {
  const std::vector<Cliffs> all = cliffs(question.limits, question.configuration);
  std::string up;
  std::string down;
  for (const Cliffs& on_axis : all) {
    const auto add = [&](std::string& text, const std::optional<Step>& step) {
      if (!step) return;
      text += fmt::format("  {:<62}{}\n", to_string(step->change),
                          outcome(occupancy, step->theoretical_pct, step->blocks_per_sm));
    };
    add(up, on_axis.up);
    add(down, on_axis.down);
  }
  std::string text;
  if (!up.empty()) text += "\nnearest step up\n" + up;
  if (!down.empty()) text += "\nnearest step down\n" + down;
  return text;
}

/// The limits that fit the table of several, since headings of terminals are narrow.
constexpr std::array<std::pair<std::string_view, const char*>, 12> kShown = {{
    {"max_warps_per_sm", "warps"},
    {"max_threads_per_sm", "threads"},
    {"max_blocks_per_sm", "blocks"},
    {"registers_per_sm", "registers"},
    {"max_registers_per_thread", "a thread"},
    {"register_allocation_unit", "unit"},
    {"shared_bytes_per_sm", "shared B"},
    {"max_shared_bytes_per_block_default", "a block"},
    {"max_shared_bytes_per_block", "opted in"},
    {"shared_allocation_unit", "unit"},
    {"reserved_shared_bytes_per_block", "reserved"},
    {"max_cluster_blocks", "cluster"},
}};

std::string carveouts(const Limits& limits) {
  return fmt::format("{}", fmt::join(limits.carveouts_kb, " "));
}

std::string table_of_one(const Limits& limits) {
  std::vector<std::vector<std::string>> lines;
  for (const LimitColumn& column : limit_columns()) {
    lines.push_back({std::string(column.name), grouped(column.value(limits)), std::string(column.unit),
                     std::string(column.meaning)});
  }
  lines.push_back({"carveouts_kb", carveouts(limits), "KB", "sizes that shared memory can be configured to"});
  return fmt::format("Compute capability {}\n\n", to_string(limits.compute_capability)) +
         text_table(lines, "<><<");
}

std::string table_of_several(std::span<const Limits> all) {
  std::vector<std::vector<std::string>> lines = {{"capability"}};
  for (const auto& [name, heading] : kShown) lines.front().emplace_back(heading);
  for (const Limits& limits : all) {
    std::vector<std::string>& line = lines.emplace_back();
    line.push_back(to_string(limits.compute_capability));
    for (const auto& [name, heading] : kShown) {
      for (const LimitColumn& column : limit_columns()) {
        if (column.name == name) line.push_back(std::to_string(column.value(limits)));
      }
    }
  }
  return "Per SM, unless the heading says otherwise; all limits of one: --cc CC, or --format csv\n\n" +
         text_table(lines, "<>");
}

Json limits_json(const Limits& limits, AnswerFormat format) {
  Json object = {{"compute_capability", to_string(limits.compute_capability)}};
  for (const LimitColumn& column : limit_columns()) object[std::string(column.name)] = column.value(limits);
  object["carveouts_kb"] = format == AnswerFormat::csv ? Json(carveouts(limits)) : Json(limits.carveouts_kb);
  return object;
}

/// The most registers per thread with which a launch's occupancy is enough.
int most_registers(const Question& question, Configuration launched, const auto& is_enough) {
  int& registers = launched.usage.registers_per_thread;
  registers = question.limits.max_registers_per_thread;
  while (registers > 1 && !is_enough(theoretical_occupancy(question.limits, launched))) --registers;
  return registers;
}

/// The most registers with which a grid is resident at once; empty if not known, if registers were given or if no block fits.
std::string most_registers_at_once(const Question& question) {
  const Launch& launch = question.configuration.launch;
  const Occupancy occupancy = theoretical_occupancy(question.limits, question.configuration);
  if (question.registers_given() || !question.sm_count || occupancy.blocks_per_sm == 0 ||
      is_wave_uncertain(question))
    return "";
  const std::int64_t wave = full_wave_of(question, occupancy);
  const std::int64_t blocks = launch.grid_blocks > 0 ? std::min(launch.grid_blocks, wave) : wave;
  return fmt::format(
      "A grid of {} is resident at once, as a cooperative launch needs, with up to {} registers per "
      "thread.",
      counted(blocks, "block"), most_registers(question, question.configuration, [&](const Occupancy& of) {
        return full_wave_of(question, of) >= blocks;
      }));
}

}  // namespace

void use_known_gpcs(Question& question, const GpuIdentity& gpu) {
  if (question.configuration.launch.cluster_blocks <= 1 || !question.sms_per_gpc.empty()) return;
  const ChosenProfile chosen = choose_profile(gpu);
  question.sms_per_gpc = chosen.known_sms_per_gpc();
  if (!question.sms_per_gpc.empty()) question.gpcs_by = chosen.profile.name;
}

void check_question(const Question& question) {
  check_at_least("grid_blocks", question.configuration.launch.grid_blocks, 0);
  check_at_least("sm_count", question.sm_count.value_or(1), 1);
  for (const int sms : question.sms_per_gpc) check_at_least("SMs of a GPC", sms, 1);
  const int sms = std::accumulate(question.sms_per_gpc.begin(), question.sms_per_gpc.end(), 0);
  if (sms > 0 && sms != question.sm_count.value_or(sms))
    throw InputError(
        "the GPCs have {} SMs together, and the GPU has {}: give all GPCs, as `occbench devices` does", sms,
        *question.sm_count);
  check_whole_clusters(question.configuration.launch);
  check_static_shared(question.limits, question.configuration.usage);
}

Json row_head(const std::string& experiment, const std::string& name) {
  return {{"schema", kSchema}, {"experiment", experiment}, {"case", name}};
}

Json question_json(const Question& question) {
  const auto& [launch, usage] = question.configuration;
  return {
      {"gpu", question.gpu.empty() ? Json() : Json(question.gpu)},
      {"compute_capability", to_string(question.limits.compute_capability)},
      {"sm_count", optional_json(question.sm_count)},
      {"block_threads", launch.block_threads},
      {"grid_blocks", launch.grid_blocks > 0 ? Json(launch.grid_blocks) : Json()},
      {"cluster_blocks", launch.cluster_blocks},
      {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
      {"carveout_pct", optional_json(launch.carveout_pct)},
      {"registers_per_thread", question.registers_given() ? Json(usage.registers_per_thread) : Json()},
      {"static_shared_bytes", usage.static_shared_bytes},
      {"barriers", usage.barriers},
  };
}

Json answer_json(const Question& question) {
  const Limits& limits = question.limits;
  const auto& [launch, usage] = question.configuration;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const Idle idle = idle_resources(limits, launch, occupancy);
  const bool launches = occupancy.blocks_per_sm > 0;
  const bool know_device = launches && question.sm_count.has_value();

  Json answer;
  answer["blocks_per_sm"] = occupancy.blocks_per_sm;
  answer["limiter"] = to_string(occupancy.limiters);
  const bool know_wave = know_device && !is_wave_uncertain(question);
  answer["waves"] = know_wave && launch.grid_blocks > 0
                        ? optional_json(waves(launch.grid_blocks, full_wave_of(question, occupancy)))
                        : Json();
  answer["theoretical_pct"] = occupancy.theoretical_pct;
  answer["warps_per_sm"] = occupancy.warps_per_sm();
  answer["threads_per_sm"] = occupancy.blocks_per_sm * launch.block_threads;
  for (const Limiter limiter : kAllLimiters) {
    answer[fmt::format("block_limit_{}", to_string(limiter))] =
        limit_json(occupancy.block_limits.of(limiter));
  }
  const auto of_registers = [&](int count) { return question.registers_given() ? Json(count) : Json(); };
  answer["registers_per_block"] = of_registers(occupancy.registers_per_block);
  answer["shared_bytes_per_block"] = occupancy.shared_bytes_per_block;
  answer["shared_bytes_per_sm"] = occupancy.shared_bytes_per_sm;
  answer["idle_warps"] = idle.warps;
  answer["idle_threads"] = idle.threads;
  answer["idle_blocks"] = idle.blocks;
  answer["idle_registers"] = of_registers(idle.registers);
  answer["idle_shared_bytes"] = idle.shared_bytes;
  answer["fp32_lanes"] = limits.fp32_lanes;
  answer["threads_per_lane"] = threads_per_lane(limits, occupancy.blocks_per_sm * launch.block_threads);
  answer["full_wave_blocks"] = know_wave ? Json(full_wave_of(question, occupancy)) : Json();
  answer["active_clusters"] =
      question.sms_per_gpc.empty()
          ? Json()
          : Json(max_active_clusters(occupancy, launch.cluster_blocks, question.sms_per_gpc));
  answer["gpcs_by"] = question.gpcs_by.empty() ? Json() : Json(question.gpcs_by);
  answer["best_block_threads"] = best_block_size(limits, launch, usage).block_threads;
  answer["available_dynamic_shared_bytes"] =
      launches ? optional_json(available_dynamic_shared_bytes(limits, launch, usage, occupancy.blocks_per_sm))
               : Json();
  answer["opt_in_bytes"] =
      launches && must_opt_in(limits, launch, usage) ? Json(launch.dynamic_shared_bytes) : Json();
  answer["assumed"] = question.registers_given() ? Json() : Json(kRegistersAssumed);
  answer["cannot_launch"] = launches ? Json() : Json(why_it_cannot_launch(limits, launch, usage));
  const std::string slots = assumed_cluster_slots(limits, question.configuration);
  if (!slots.empty())
    answer["assumed"] = answer["assumed"].is_null() ? slots : fmt::format("{}; {}", kRegistersAssumed, slots);
  return answer;
}

std::set<std::string> assumed_of(std::span<const Json> rows) {
  std::set<std::string> assumed;
  for (const Json& row : rows) {
    if (!row["assumed"].is_null()) assumed.insert(row["assumed"].get<std::string>());
  }
  return assumed;
}

Json answered_json(const Question& question) {
  Json row = question_json(question);
  row.update(answer_json(question));
  return row;
}

/// 0 if not known.
double waves_of(const Question& question) {
  const Launch& launch = question.configuration.launch;
  const Occupancy occupancy = theoretical_occupancy(question.limits, question.configuration);
  if (occupancy.blocks_per_sm == 0 || launch.grid_blocks == 0 || !question.sm_count ||
      is_wave_uncertain(question))
    return 0;
  return waves(launch.grid_blocks, full_wave_of(question, occupancy)).value_or(0);
}

std::string why_no_waves(const Question& question) {
  const Launch& launch = question.configuration.launch;
  const Occupancy occupancy = theoretical_occupancy(question.limits, question.configuration);
  if (occupancy.blocks_per_sm == 0 || launch.grid_blocks == 0) return "";
  if (!question.sm_count) return "waves: the number of SMs is not known; sm_count or gpu gives it";
  if (!is_wave_uncertain(question)) return "";
  const auto least = waves(launch.grid_blocks, full_wave_of(question, occupancy));
  return fmt::format(
      "{}: clusters may leave SMs of a GPC free, and the GPCs are not known; for one launch --gpc-sms gives "
      "them",
      least ? "at least " + waves_text(*least, 4) : "waves");
}

std::string idle_lanes(const Launch& launch) {
  if (!leaves_lanes_idle(launch.block_threads)) return "";
  const int lanes = warps_of_block(launch.block_threads) * kThreadsPerWarp;
  return fmt::format("{} of {} lanes of a block have no thread", lanes - launch.block_threads, lanes);
}

Occupancy without_clusters(const Question& question) {
  Configuration alone = question.configuration;
  alone.launch.cluster_blocks = 1;
  return theoretical_occupancy(question.limits, alone);
}

/// A sentence: how much less time the advice takes at most.
std::string time_sentence(const TheoryAdvice& advice, double waves) {
  if (waves > 0 && waves <= 1)
    return "Time: none is saved with this grid, whose blocks are all resident at once.";
  const double ratio = least_time_ratio(advice);
  const double saved = most_time_saved(ratio, waves);
  const double rounds = rounds_of(waves);
  const double after = rounds_of(waves * ratio);
  if (keeps_rounds(ratio, waves))
    return fmt::format(
        "Time: equal blocks take {:.0f} rounds as now, and save none with {}; uneven ones take at most "
        "{:.0f} % less by that alone, if warps wait for latency.",
        rounds, percent_text(reached_pct(advice)), 100 * saved);
  const std::string why =
      waves > 0 && saved > 1 - ratio + 0.005
          ? fmt::format(" ({} of blocks instead of {:.0f})", counted(std::llround(after), "round"), rounds)
          : "";
  return fmt::format(
      "Time: {} takes at most {:.0f} % less{} by that alone, if warps wait for latency; none is saved where "
      "memory, issue slots or a pipe are saturated, or registers are spilled.",
      percent_text(reached_pct(advice)), 100 * saved, why);
}

/// A grid with a partial wave, and grids of whole waves beside it.
struct PartialWaves {
  std::int64_t wave;                 ///< blocks of a full wave
  std::int64_t rounds;               ///< of blocks
  std::vector<std::int64_t> blocks;  ///< of grids of whole waves: one round fewer, and as many
  double time_saved_at_most_pct;     ///< with those grids, for the same work, if blocks are equal
};

/// Empty if waves are whole or not known, or if rounds of clusters are not known (runtime_answers.hpp).
std::optional<PartialWaves> partial_waves(const Question& question) {
  const double waves = waves_of(question);
  const double saved = waves > 0 ? 1 - filled_rounds(waves) : 0;
  const Launch& launch = question.configuration.launch;
  if (saved <= 0 || (launch.cluster_blocks > 1 && waves > 1)) return std::nullopt;
  const std::int64_t wave =
      full_wave_of(question, theoretical_occupancy(question.limits, question.configuration));
  const std::int64_t whole = launch.grid_blocks / wave;
  PartialWaves partial{wave, whole + 1, {(whole + 1) * wave}, 100 * saved};
  if (whole > 0) partial.blocks.insert(partial.blocks.begin(), whole * wave);
  return partial;
}

std::string grid_sentence(const Question& question, const PartialWaves& partial) {
  const std::int64_t blocks = question.configuration.launch.grid_blocks;
  const std::int64_t wave = partial.wave;
  return fmt::format(
      "Grid: {}. {} blocks take at most {:.0f} % less time for the same work by that alone, if blocks are "
      "equal.",
      partial.rounds == 1 ? fmt::format("{} of {} places stay empty", grouped(wave - blocks), grouped(wave))
                          : fmt::format("{} rounds of blocks, the last with {} of {}",
                                        grouped(partial.rounds), grouped(blocks % wave), grouped(wave)),
      fmt::join(mapped(partial.blocks, [](std::int64_t each) { return grouped(each); }), " or "),
      partial.time_saved_at_most_pct);
}

std::vector<std::string> what_to_do(const Question& question, const TheoryAdvice& advice) {
  std::vector<std::string> all = sentences(advice);
  if (question.limits.min_registers_per_thread > 1 &&
      theoretical_occupancy(question.limits, question.configuration).limiters.contains(Limiter::registers))
    all.insert(all.begin(),
               "Fewer registers are left out: the code spills already, or may, or has local arrays, or moves "
               "registers between its warps (setmaxnreg).");
  const Step* const step = !advice.highest.empty() ? &advice.highest.front()
                           : advice.beyond         ? &*advice.beyond
                                                   : nullptr;
  const std::optional<PairOfChanges>& pair = advice.within_reach ? advice.within_reach : advice.pair;
  if (step != nullptr && advice.theoretical_pct > 0 && !question.registers_given()) {
    const Change& change = step->change;
    all.push_back(fmt::format(
        "The first of these holds up to {} registers per thread; --registers says what holds with more.",
        most_registers(question, with(change.axis, change.to, question.configuration),
                       [&](const Occupancy& of) { return of.blocks_per_sm >= step->blocks_per_sm; })));
  }
  const auto& [launch, usage] = question.configuration;
  if (launch.cluster_blocks > 1 && waves_of(question) > 1)
    all.push_back(
        "Time: clusters may take more rounds than waves, smaller ones fewer; `occbench predict` simulates "
        "what a change saves.");
  else if ((step != nullptr || pair) && advice.theoretical_pct > 0)
    all.push_back(time_sentence(advice, waves_of(question)));
  const std::optional<PartialWaves> partial = partial_waves(question);
  if (partial && partial->time_saved_at_most_pct >= 100 * kLeastShare)
    all.push_back(grid_sentence(question, *partial));
  if (const Occupancy alone = without_clusters(question); alone.theoretical_pct > advice.theoretical_pct)
    all.push_back(fmt::format("Without clusters: {}, {} per SM.", percent_text(alone.theoretical_pct),
                              counted(alone.blocks_per_sm, "block")));
  if (const std::string idle = idle_lanes(launch); !idle.empty())
    all.push_back(
        fmt::format("Occupancy counts warps: {}. The same threads in blocks of a multiple of {} take at most "
                    "{:.0f} % less time.",
                    idle, kThreadsPerWarp, 100 * (1 - used_lanes(launch.block_threads))));
  if (std::string at_once = most_registers_at_once(question); !at_once.empty())
    all.push_back(std::move(at_once));
  return all;
}

Json whole_waves_json(const Question& question) {
  const std::optional<PartialWaves> partial = partial_waves(question);
  if (!partial) return {};
  return {{"rounds", partial->rounds},
          {"blocks", partial->blocks},
          {"time_saved_at_most_pct", partial->time_saved_at_most_pct}};
}

std::vector<Json> steps_json(const TheoryAdvice& advice) {
  std::vector<Json> steps;
  const auto add = [&](const char* kind, const Step& step) {
    steps.push_back(step_json(step, "kind", kind));
  };
  for (const Step& step : advice.highest) add("highest", step);
  if (advice.below) add("below", *advice.below);
  if (advice.carveout) add("carveout", *advice.carveout);
  if (advice.beyond) add("beyond", *advice.beyond);
  for (const auto& pair : {advice.pair, advice.within_reach}) {
    if (!pair) continue;
    for (const Change& change : {pair->first, pair->second})
      add("together", {change, pair->blocks_per_sm, pair->theoretical_pct});
  }
  return steps;
}

std::vector<Json> cliffs_json(const Question& question) {
  std::vector<Json> steps;
  for (const Cliffs& on_axis : cliffs(question.limits, question.configuration)) {
    if (on_axis.up) steps.push_back(step_json(*on_axis.up, "direction", "up"));
    if (on_axis.down) steps.push_back(step_json(*on_axis.down, "direction", "down"));
  }
  return steps;
}

std::vector<Json> rules_json(const Question& question) {
  std::vector<Json> rules;
  for (const AppliedRule& rule : applied_rules(question.limits, question.configuration)) {
    rules.push_back({{"resource", to_string(rule.resource)},
                     {"blocks", limit_json(rule.blocks)},
                     {"limits", rule.limits},
                     {"rule", rule.sentence}});
  }
  return rules;
}

std::string calc_report(const Question& question) {
  const Occupancy occupancy = theoretical_occupancy(question.limits, question.configuration);
  std::string text = headline(question, occupancy) + resources(question, occupancy) + rule_lines(question) +
                     device_lines(question, occupancy) + "\nwhat to do\n";
  const TheoryAdvice advice = advise_on_theory(question.limits, question.configuration);
  for (const std::string& sentence : what_to_do(question, advice)) text += fmt::format("  {}\n", sentence);
  return text + cliff_lines(question, occupancy);
}

std::string limits_text(std::span<const Limits> all, AnswerFormat format) {
  if (format == AnswerFormat::table) return all.size() == 1 ? table_of_one(all[0]) : table_of_several(all);
  return flat_text(mapped(all, [&](const Limits& limits) { return limits_json(limits, format); }), format);
}

}  // namespace occbench
