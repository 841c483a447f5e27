#include "harness/fastest.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "files/stop_signals.hpp"
#include "gpu/error.hpp"
#include "harness/measure_case.hpp"
#include "record/provenance.hpp"
#include "record/race.hpp"

namespace occbench {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

/// Time until the GPU has left its idle clocks.
constexpr std::chrono::milliseconds kWarmUp{100};
/// Rows of a race are written at this interval, so that the race does not wait for the disk each time.
constexpr std::chrono::milliseconds kRowsWait{200};

class HarnessRacers final : public Racers {
 public:
  HarnessRacers(std::vector<const PlannedCase*> cases, const MeasureWith& with, const RaceOutput& output)
      : cases_(std::move(cases)),
        with_(with),
        output_(output),
        checks_(cases_.size()),
        useful_(cases_.size()),
        times_(cases_.size()) {}

  std::vector<double> time(std::size_t number, std::size_t launches) override {
    output_.begin(*cases_[number]);
    std::vector<double> times;
    const bool ready = with_case(number, [&](ReadyCase& of) {
      while (times.size() < launches) times.push_back(of.time_launch());
      useful_[number] = of.prepared().useful();
    });
    if (!ready) return {};
    times_[number].insert(times_[number].end(), times.begin(), times.end());
    return times;
  }

  bool is_right(std::size_t number) override {
    std::string why = "its result is wrong";
    if (!checks_[number]) {
      output_.begin(*cases_[number]);
      const bool ready = with_case(number, [&](ReadyCase& of) {
        checks_[number] = of.check_and_launch();
        if (std::string more = of.prepared().why_wrong(); !more.empty()) why = std::move(more);
      });
      if (!ready) return false;
    }
    if (checks_[number] != Check::wrong) return true;
    put(number, why);
    return false;
  }

  void ruled_out(std::size_t number, RaceOutcome outcome, const std::string& why) override {
    put(number, race_note(outcome, why));
  }

  bool must_stop() override {
    return stop_asked() || with_.instruments.context_is_lost();
  }

  /// A row with the times so far.
  void put(std::size_t number, const std::string& note) {
    MeasuredCase measured = begun(number);
    if (!times_[number].empty()) measured.record.times = times_of(times_[number], false, useful_[number]);
    measured.record.check = checks_[number];
    measured.record.readings.status = CountersStatus::off;
    measured.samples.add("time_us", times_[number]);
    add_note(measured.record.note, note);
    put(std::move(measured));
  }

  void put(MeasuredCase measured) {
    measured.record.provenance.recorded_at = iso_time(system_clock::now());
    rows_.push_back(std::move(measured));
    if (steady_clock::now() - written_ > kRowsWait) write();
  }

  /// Frees the last case's memory, and writes the waiting rows.
  void end() {
    ready_.reset();
    write();
  }

  void write() {
    if (!rows_.empty()) output_.end(std::exchange(rows_, {}));
    written_ = steady_clock::now();
  }

 private:
  MeasuredCase begun(std::size_t number) const {
    return {cases_[number]->known, SamplesOfCase(cases_[number]->known.identity), {}};
  }

  /// @returns whether it could be launched; else it has its row
  template <typename Work>
  bool with_case(std::size_t number, const Work& work) {
    const auto fail = [&](TimeStatus status, const char* why) {
      ready_.reset();
      MeasuredCase measured = begun(number);
      measured.record.times.status = status;
      measured.record.note = why;
      measured.missed = status == TimeStatus::failed;
      put(std::move(measured));
      return false;
    };
    try {
      make_ready(number);
      work(*ready_);
      return true;
    } catch (const CannotRun& reason) {
      return fail(TimeStatus::skipped, reason.what());
    } catch (const std::exception& error) {
      return fail(TimeStatus::failed, error.what());
    }
  }

  /// Prepares it and launches it once, unless it was the last one.
  void make_ready(std::size_t number) {
    if (ready_ && ready_number_ == number) return;
    ready_.reset();  // Its memory is free for the next.
    ready_ = std::make_unique<ReadyCase>(*cases_[number], with_.device, with_.instruments);
    ready_number_ = number;
    ready_->launch_and_wait();
    if (std::exchange(warm_, true)) return;
    const auto end = steady_clock::now() + kWarmUp;
    while (steady_clock::now() < end) ready_->launch_and_wait();
  }

  std::vector<const PlannedCase*> cases_;
  const MeasureWith& with_;
  const RaceOutput& output_;
  std::vector<std::optional<Check>> checks_;
  std::vector<Amount> useful_;
  std::vector<std::vector<double>> times_;
  std::vector<MeasuredCase> rows_;  ///< not written yet
  steady_clock::time_point written_ = steady_clock::now();
  std::unique_ptr<ReadyCase> ready_;  ///< the case that was launched last
  std::size_t ready_number_ = 0;
  bool warm_ = false;
};

/// The index of each parameter's value among those of the cases.
std::vector<std::vector<int>> places_of(const std::vector<const PlannedCase*>& cases) {
  std::map<std::string, std::map<std::string, int>> seen;
  std::vector<std::vector<int>> places;
  for (const PlannedCase* planned : cases) {
    std::vector<int>& of = places.emplace_back();
    for (const auto& [key, value] : planned->known.identity.parameters) {
      auto& values = seen[key];
      of.push_back(values.try_emplace(value, static_cast<int>(values.size())).first->second);
    }
  }
  return places;
}

}  // namespace

void leave_out_same_code(std::vector<PlannedCase>& cases) {
  std::map<std::string, const PlannedCase*> first;
  for (PlannedCase& planned : cases) {
    if (!planned.can_launch() || planned.chosen.code == 0) continue;
    const Launch& launch = planned.chosen.launch;
    const std::string key = fmt::format(
        "{} {} {} {} {} {}", planned.chosen.code, to_string(launch.block_shape), to_string(launch.grid_shape),
        launch.cluster_blocks, launch.dynamic_shared_bytes, launch.carveout_pct.value_or(-1));
    const auto [same, is_first] = first.try_emplace(key, &planned);
    if (is_first) continue;
    planned.known.times.status = TimeStatus::skipped;
    add_note(planned.known.note,
             race_note(RaceOutcome::left_out, fmt::format("the same machine code, launch and arguments as {}",
                                                          same->second->known.identity.name)));
  }
}

ExitStatus measure_fastest(std::span<const PlannedCase> cases, const MeasureWith& with,
                           const RaceOutput& output, std::optional<double> known_us) {
  std::vector<const PlannedCase*> racing;
  std::vector<MeasuredCase> left_out;
  for (const PlannedCase& planned : cases) {
    if (planned.can_launch()) {
      racing.push_back(&planned);
    } else {
      left_out.push_back({planned.known, SamplesOfCase(planned.known.identity), {}});
      left_out.back().record.provenance.recorded_at = iso_time(system_clock::now());
    }
  }
  if (!left_out.empty()) output.end(left_out);
  constexpr std::uint64_t kSeed = 1;
  HarnessRacers racers(racing, with, output);
  with.instruments.take_first_gpc();  // Launches before the race do not count.
  const RaceResult result = race(places_of(racing), racers, known_us, kSeed);
  if (stop_asked() || with.instruments.context_is_lost()) {
    racers.end();
    return ExitStatus::no_verdict;
  }
  for (const std::size_t number : result.as_fast) racers.put(number, race_note(RaceOutcome::as_fast));
  racers.end();
  if (!result.fastest) return ExitStatus::no_verdict;
  MeasureWith fully = with;
  fully.raced = &result.times[*result.fastest];
  output.begin(*racing[*result.fastest]);
  std::optional<MeasuredCase> measured = measure_case(*racing[*result.fastest], fully);
  if (!measured) return ExitStatus::no_verdict;
  const bool whole =
      measured->record.times.status != TimeStatus::failed && measured->record.check != Check::wrong;
  output.end({&*measured, 1});
  return whole ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace occbench
