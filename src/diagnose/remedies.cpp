#include "diagnose/remedies.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

/// Points of a finding below which nothing is to be done about it: a choice.
constexpr double kPointsWorthARemedy = 1;

/// Of a launch's time, from which on its longest block has to be divided for the launch to take much less.
constexpr double kMostOfLaunch = 0.5;
/// From which on nothing else helps much.
constexpr double kAlmostAllOfLaunch = 0.9;

/// What to do, and the share of the launch's time that it is predicted to save; 0 where it is not known.
struct Remedy {
  double saved = 0;
  double most = 0;  ///< that it could save, where that is more
  std::string sentences;
};

/// Of the launch's time, what another launch of the same work, or of part of it, is simulated to save.
struct Saved {
  double share = 0;     ///< below 0 = it takes longer
  bool is_told = true;  ///< else, of a generic profile, the ranges of both leave it open
};

Saved saved_by(const PredictedLaunch& launch, const Configuration& other, const Tasks& tasks) {
  Asked asked = launch.asked;
  asked.launch = other.launch;
  asked.usage = other.usage;
  const Prediction then = predict(asked, tasks);
  const bool is_generic = asked.chosen.quality == ProfileQuality::generic;
  return {1 - then.cycles_active_max / launch.prediction.cycles_active_max,
          !is_generic || then.cycles_range.high < launch.prediction.cycles_range.low};
}

double share_of_longest_block(const PredictedLaunch& launch) {
  return std::min(1.0, launch.tasks.longest_block_cycles() / launch.prediction.cycles_active_max);
}

/// What other shares or another order of the same work are simulated to save.
struct WhatIf {
  double saved = 0;
  std::string sentence;  ///< with a space before; empty where it is too little
};

WhatIf what_if(const PredictedLaunch& launch, const Tasks& other, std::string_view how) {
  const double saved = saved_by(launch, launch.now(), other).share;
  if (saved < kLeastShare) return {};
  return {saved, fmt::format(" {} predicted to save {}.", how, saved_text(100 * saved))};
}

/// Empty where no block waits for a place, or none is longer than one before it.
WhatIf with_longest_first(const PredictedLaunch& launch) {
  const Asked& asked = launch.asked;
  const std::int64_t wave =
      full_wave_blocks(theoretical_occupancy(asked.limits, launch.now()), asked.chosen.profile.sm_count());
  if (asked.launch.grid_blocks <= wave || launch.tasks.all_equal() || launch.tasks.is_longest_first())
    return {};
  const WhatIf order = what_if(launch, launch.tasks.longest_first(), "The longest blocks first are");
  return order.saved > 0 ? order : WhatIf{0, " The longest blocks first are predicted to save no time."};
}

/// What the longest block takes of the launch, what the same launch of equal blocks, each as long as the mean, is simulated to save,
/// and what is saved by blocks that fill every place until all end. Dividing blocks costs overheads that are in neither: they are
/// bounds. Where warps contend a block takes longer than alone.
/// @param what_to_do  a finding's; may be empty
Remedy remedy_of_uneven_blocks(const std::string& what_to_do, const PredictedLaunch& launch) {
  const Prediction& now = launch.prediction;
  const double equal = std::max(0.0, saved_by(launch, launch.now(), launch.tasks.even_blocks()).share);
  const double most = std::max(equal, 1 - now.predicted_elapsed_pct / now.theoretical_pct);
  if (most < kLeastShare) return {.sentences = what_to_do};
  const double share = share_of_longest_block(launch);
  const WhatIf order =
      share < kAlmostAllOfLaunch
          ? with_longest_first(launch)
          : WhatIf{0, fmt::format(" Another order saves {:.0f} % at most.", 100 * (1 - share))};
  return {
      .saved = std::max(equal, order.saved),
      .most = most,
      .sentences = fmt::format(
          "The longest block takes {}{:.0f} % of the launch{} Equal blocks of the same work take {} in this "
          "grid, and blocks that fill all places to the end at most {:.0f} % less.{}{}{}",
          launch.tasks.contends() ? "at least " : "", 100 * share,
          share < kMostOfLaunch ? "." : ": divide it.",
          equal < kLeastShare ? "as long" : fmt::format("up to {:.0f} % less", 100 * equal), 100 * most,
          what_to_do.empty() || share >= kAlmostAllOfLaunch ? "" : " ",
          share < kAlmostAllOfLaunch ? what_to_do : "", order.sentence)};
}

Remedy remedy_of_uneven_warps(const Finding& loss, const PredictedLaunch& launch) {
  const WhatIf equal =
      what_if(launch, launch.tasks.even_within_blocks(), "Equal shares for the warps of each block are");
  return {.saved = equal.saved, .sentences = loss.remedy + equal.sentence};
}

/// A launch with other theory and the same work.
struct Changed {
  Configuration configuration;
  Tasks tasks;
  std::optional<Work> work;  ///< that `tasks` are of; empty where a file has their durations
};

/// Empty where another block size would be another draw, or the work is not known.
std::optional<Changed> changed_by(const std::vector<Change>& changes, const PredictedLaunch& of) {
  const Launch& now = of.asked.launch;
  Configuration changed = of.now();
  for (const Change& change : changes) changed = with(change.axis, change.to, changed);
  const int threads = changed.launch.block_threads;
  if (threads == now.block_threads) return Changed{changed, of.tasks, of.work};
  if (!of.work || of.work->seed()) return std::nullopt;
  changed.launch.block_threads = now.block_threads;
  const LaunchOfWork same = with_block_size(changed.launch, *of.work, threads);
  if (same.launch.grid_blocks > kMostGridShape.x || same.launch.grid_blocks % now.cluster_blocks != 0)
    return std::nullopt;
  changed.launch = same.launch;
  return Changed{changed, Tasks(same.work, same.launch.grid_blocks, warps_of_block(threads)), same.work};
}

/// Whole waves next to its grid, of equal work that is quickly simulated; else empty.
std::vector<LaunchOfWork> whole_waves_of(const Changed& changed, const PredictedLaunch& of) {
  const bool is_quick = changed.work && changed.work->distribution.form == WorkForm::equal &&
                        simulation_microseconds(of.asked.limits, changed.tasks) <= kMostTriedMicroseconds;
  if (!is_quick) return {};
  return whole_waves({changed.configuration.launch, *changed.work}, changed.configuration.usage,
                     of.asked.limits, of.asked.chosen.profile.model.topology);
}

/// Why no change saves time, a clause; empty where it is not that warps share something.
std::string_view why_no_time(const std::vector<std::vector<Change>>& all, const PredictedLaunch& launch) {
  if (!launch.tasks.contends()) return "";
  const double left_now = 1 - saved_by(launch, launch.now(), launch.tasks.alone()).share;
  const bool saves_alone = std::ranges::any_of(all, [&](const std::vector<Change>& changes) {
    const std::optional<Changed> other = changed_by(changes, launch);
    return other && saved_by(launch, other->configuration, other->tasks.alone()).share >=
                        1 - left_now * (1 - kLeastShare);
  });
  if (!saves_alone) return "";
  return launch.tasks.rates().bytes > 0
             ? ": warps share memory, which is busy"
             : ": warps share issue slots or a pipe, which are busy: issue fewer instructions";
}

/// What one of the remedies of a limit saves.
struct Saving : Saved {
  std::string with;           ///< the change, and the grid where that changes too
  bool is_simulated = false;  ///< else at most
  bool has_other_grid = false;
};

/// Simulated, with whole waves where these save more. Without the same work in blocks of the changed size it is the limit's bound,
/// but for the longest block; empty where there is none.
std::optional<Saving> saving_of(const std::vector<Change>& changes, const Finding& limit,
                                const PredictedLaunch& launch) {
  const std::string name = changes.size() == 1 ? to_string(changes.front()) : "both changes";
  const std::optional<Changed> other = changed_by(changes, launch);
  if (!other) {
    if (!limit.time || limit.time->share <= 0) return std::nullopt;
    return Saving{{std::min(1 - share_of_longest_block(launch), limit.time->share)}, name};
  }
  Saving saving{saved_by(launch, other->configuration, other->tasks), name, true};
  for (const LaunchOfWork& whole : whole_waves_of(*other, launch)) {
    const Tasks same(whole.work, whole.launch.grid_blocks, warps_of_block(whole.launch.block_threads));
    const Saved saved = saved_by(launch, {whole.launch, other->configuration.usage}, same);
    if (saved.share < saving.share + kLeastShare) continue;
    saving = {saved, fmt::format("{} and {}", name, blocks_text(whole.launch.grid_blocks)), true, true};
  }
  return saving;
}

/// Blocks of half the threads, where warps are uneven: at no lower theory an SM takes new ones sooner. Empty where the same work in
/// them is not known.
std::optional<Change> halved_blocks(const PredictedLaunch& launch) {
  const int threads = launch.asked.launch.block_threads;
  if (!launch.tasks.differ_within_blocks() || threads % (2 * kThreadsPerWarp) != 0) return std::nullopt;
  const Change halved{Axis::block_threads, threads, threads / 2};
  const auto warps_per_sm = [&](const Configuration& of) {
    return theoretical_occupancy(launch.asked.limits, of).warps_per_sm();
  };
  if (warps_per_sm(with(halved.axis, halved.to, launch.now())) < warps_per_sm(launch.now()) ||
      !changed_by({halved}, launch))
    return std::nullopt;
  return halved;
}

bool changes_grid_alone(const Launch& advised, Launch now) {
  const std::int64_t before = std::exchange(now.grid_blocks, advised.grid_blocks);
  return advised == now && advised.grid_blocks != before;
}

/// @param grid_alone  what another grid alone saves; null once it was told
std::string saving_text(const Saving& saving, const Advice*& grid_alone) {
  if (!saving.is_simulated) return fmt::format("at most {:.0f} % with {}", 100 * saving.share, saving.with);
  if (saving.share < kLeastShare) return "nothing with " + saving.with;
  if (!saving.is_told) return "too little for the range to tell with " + saving.with;
  const Advice* const alone = saving.has_other_grid ? std::exchange(grid_alone, nullptr) : nullptr;
  return fmt::format("{} with {}{}", saved_text(100 * saving.share), saving.with,
                     alone == nullptr ? ""
                                      : fmt::format(" ({} by {} alone)", saved_text(alone->time_saved_pct),
                                                    blocks_text(alone->launch.grid_blocks)));
}

/// Where no remedy of a limit could be simulated.
std::string bounded_remedy(const Finding& limit, const PredictedLaunch& launch) {
  if (!limit.time || !limit.time->is_known) return limit.remedy;  // what is not known, a simulation tells
  const double left = 1 - share_of_longest_block(launch);
  return fmt::format("{} {}: {}", limit.remedy, kSavedAlone,
                     limit.time->share > left
                         ? fmt::format("at most {:.0f} %, for the longest block takes the rest.", 100 * left)
                         : limit.time->sentence);
}

/// What each remedy of a limit is predicted to save. Blocks of another size do the same work, where that is known and not drawn for
/// each: else a bound is told.
Remedy remedy_of_limit(const Finding& limit, const PredictedLaunch& launch,
                       const std::optional<Advice>& other_grid) {
  if (!limit.advice) return {.sentences = limit.remedy};
  std::vector<std::vector<Change>> all = changes_of(*limit.advice);
  const bool is_one = all.size() == 1;
  if (const auto halved = halved_blocks(launch);
      halved && std::ranges::find(all, std::vector{*halved}) == all.end())
    all.push_back({*halved});
  std::vector<Saving> savings;
  double most = 0;
  for (const std::vector<Change>& changes : all) {
    const std::optional<Saving> saving = saving_of(changes, limit, launch);
    if (!saving) continue;
    savings.push_back(*saving);
    if (saving->is_simulated && saving->is_told) most = std::max(most, saving->share);
  }
  if (std::ranges::none_of(savings, &Saving::is_simulated))
    return {.sentences = all.empty() ? limit.remedy : bounded_remedy(limit, launch)};
  if (most < kLeastShare && std::ranges::all_of(savings, &Saving::is_simulated)) {
    const bool is_open = std::ranges::any_of(
        savings, [](double share) { return share >= kLeastShare; }, &Saving::share);
    return {.sentences = fmt::format("{} It is predicted to save {}.", limit.remedy,
                                     is_open ? "too little for the range to tell"
                                             : fmt::format("no time{}", why_no_time(all, launch)))};
  }
  const Advice* grid_alone =
      other_grid && changes_grid_alone(other_grid->launch, launch.asked.launch) ? &*other_grid : nullptr;
  // Neither durations nor a time tell what warps wait for.
  const std::string_view condition =
      launch.tasks.contends() ? ""
                              : ", if warps wait for latency rather than for memory, issue slots or a pipe";
  const std::string saved =
      is_one && savings.size() == 1 && !savings.front().has_other_grid
          ? fmt::format("It is predicted to save {} of the time{}.", saved_text(100 * most), condition)
          : fmt::format(
                "Predicted to save: {}{}.",
                fmt::join(mapped(savings, [&](const Saving& each) { return saving_text(each, grid_alone); }),
                          ", "),
                condition);
  const bool resizes = std::ranges::any_of(all, [](const std::vector<Change>& changes) {
    return std::ranges::find(changes, Axis::block_threads, &Change::axis) != changes.end();
  });
  return {.saved = most,
          .sentences = fmt::format(
              "{} {}{}", limit.remedy, saved,
              resizes && launch.tasks.differ_within_blocks()
                  ? " Blocks of another size are taken to have as many slow warps in all: where each "
                    "block has one of its own, as a leader, they may save nothing."
                  : "")};
}

}  // namespace

std::vector<std::string> remedies_of(std::span<const Finding> findings, const PredictedLaunch& launch,
                                     const std::optional<Advice>& other_grid) {
  std::vector<Remedy> remedies;
  const auto saves_more = [&](double share) {
    return !other_grid || 100 * share > other_grid->time_saved_pct + 1;
  };
  const auto first = [&](FindingList list) {
    return std::ranges::find_if(findings, [&](const Finding& each) {
      return each.list == list && each.points >= kPointsWorthARemedy && each.cause != Cause::tail &&
             each.cause != Cause::small_grid && !each.remedy.empty();
    });
  };
  if (const auto limit = first(FindingList::limits); limit != findings.end())
    remedies.push_back(remedy_of_limit(*limit, launch, other_grid));
  const auto loss = first(FindingList::losses);
  if (loss != findings.end()) {
    const Remedy remedy = loss->cause == Cause::uneven_blocks  ? remedy_of_uneven_blocks(loss->remedy, launch)
                          : loss->cause == Cause::uneven_warps ? remedy_of_uneven_warps(*loss, launch)
                                                               : Remedy{.sentences = loss->remedy};
    if (saves_more(std::max(remedy.saved, remedy.most))) remedies.push_back(remedy);
  }
  // The counter leaves out SMs that have no block any more: uneven blocks that cost it little may cost much time.
  const bool is_told = loss != findings.end() && loss->cause == Cause::uneven_blocks;
  if (!is_told && !launch.tasks.all_equal() &&
      simulation_microseconds(launch.asked.limits, launch.tasks) <= kMostTriedMicroseconds) {
    const auto uneven = std::ranges::find(findings, Cause::uneven_blocks, &Finding::cause);
    const Remedy remedy = remedy_of_uneven_blocks(uneven == findings.end() ? "" : uneven->remedy, launch);
    if (remedy.saved >= kLeastShare && saves_more(remedy.saved)) remedies.push_back(remedy);
  }
  const auto idle = std::ranges::find(findings, Cause::idle_sms, &Finding::cause);
  if (launch.tasks.all_equal() && idle != findings.end() && idle->time && idle->time->share >= kLeastShare &&
      saves_more(idle->time->share))
    remedies.push_back({.saved = idle->time->share,
                        .sentences = fmt::format("{} {} {}: {}", idle->sentence, idle->remedy, kSavedAlone,
                                                 idle->time->sentence)});
  std::ranges::stable_sort(remedies, std::ranges::greater(), &Remedy::saved);
  return mapped(remedies, &Remedy::sentences);
}

}  // namespace occbench
