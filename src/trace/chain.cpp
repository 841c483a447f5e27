#include "trace/chain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "trace/sample_values.hpp"

namespace occbench {
namespace {

/// What a launch whose end is not one of a sample counts against one whose end is.
constexpr double kMiss = 1.5;
/// A chain is given up so far below its best.
constexpr double kMostLost = 4;
/// Of a fill or a copy that had blocks, and that of each count of blocks further on.
constexpr double kBlocksOfMemory = 0.2;
constexpr double kFurther = 0.02;
/// Counts of blocks further on that its end is looked for at.
constexpr std::size_t kMostFurther = 16;
constexpr std::size_t kMostStates = 32;
/// Chains that score so close are equally good.
constexpr double kClose = 0.75;
/// By accident there are fewer than exp(-4) chains in a window.
constexpr double kSurplus = 4;
/// Launches that a beginning is found by.
constexpr std::size_t kGram = 4;
using Gram = std::array<std::uint64_t, kGram>;  ///< blocks, and 0 behind a fill or copy
/// Beginnings that are looked at in one place of the samples.
constexpr std::size_t kMostBeginnings = 2000;

class Finder {
 public:
  Finder(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches)
      : samples_(samples), launches_(launches) {
    std::uint64_t sum = 0;
    ends_.push_back(0);
    for (const SmSample& sample : samples.subspan(1)) {
      sum += blocks_of(sample);
      counts_.push_back(sum);
      if (sum != ends_.back()) ends_.push_back(sum);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (const std::optional<Gram> gram = gram_at(i)) grams_[*gram].push_back(i);
    }
  }

  std::vector<Chain> chains() const {
    std::vector<Chain> found;
    if (ends_.size() < 2) return found;
    const std::vector<std::uint64_t> begins = possible_begins();
    const double by_accident =
        std::min(static_cast<double>(ends_.size()) / static_cast<double>(ends_.back()), 0.5);
    const double tries = static_cast<double>(begins.size()) * static_cast<double>(launches_.size());
    const double least_score = (std::log(tries + 1) + kSurplus) / -std::log(by_accident);
    std::uint64_t done = 0;
    std::size_t first_launch = 0;
    for (const std::uint64_t begin : begins) {
      if (begin < done) continue;
      const Best best = best_at(begin, first_launch);
      if (best.score < least_score) continue;
      done = best.chain.back().end;
      if (!best.is_alone) continue;
      first_launch = best.chain.back().launch + 1;
      found.push_back(best.chain);
    }
    return found;
  }

 private:
  struct Best {
    Chain chain;
    double score = 0;
    bool is_alone = true;
  };
  struct State {
    std::uint64_t count = 0;  ///< of blocks
    double score = 0;
    std::size_t before = 0;  ///< of the states
    std::size_t launch = 0;
  };

  std::optional<Gram> gram_at(std::size_t first) const {
    Gram gram{};
    std::size_t count = 0;
    for (; count < kGram && first + count < launches_.size(); ++count) {
      const LoggedLaunch& launch = launches_[first + count];
      if (launch.kernel == LoggedLaunch::kMemory || launch.blocks == 0) break;
      gram[count] = launch.blocks;
    }
    return count > 0 ? std::optional(gram) : std::nullopt;
  }

  bool is_end(std::uint64_t count) const {
    return std::ranges::binary_search(ends_, count);
  }
  /// The sample with the first block after these.
  std::size_t sample_after(std::uint64_t count) const {
    return 1 + static_cast<std::size_t>(std::ranges::upper_bound(counts_, count) - counts_.begin());
  }

  /// Counts of blocks after which SMs waited.
  std::vector<std::uint64_t> possible_begins() const {
    double most_active = 0;
    for (const SmSample& sample : samples_.subspan(1))
      most_active = std::max(most_active, active_share(sample));
    std::vector<std::uint64_t> begins;
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      const std::size_t next = sample_after(ends_[i]);
      if (next < 2 || next >= samples_.size()) continue;
      if (std::min(active_share(samples_[next - 1]), active_share(samples_[next])) < kBusy * most_active)
        begins.push_back(ends_[i]);
    }
    return begins;
  }

  bool can_begin(std::uint64_t count, const Gram& gram) const {
    for (const std::uint64_t blocks : gram) {
      count += blocks;
      if (count > ends_.back()) return true;
      if (blocks > 0 && !is_end(count)) return false;
    }
    return true;
  }

  Best best_at(std::uint64_t begin, std::size_t first_launch) const {
    std::vector<std::size_t> launches;
    for (const auto& [gram, places] : grams_) {
      if (!can_begin(begin, gram)) continue;
      for (const std::size_t place : places) {
        if (place >= first_launch) launches.push_back(place);
      }
    }
    std::ranges::sort(launches);
    if (launches.size() > kMostBeginnings) launches.resize(kMostBeginnings);
    Best best;
    for (const std::size_t launch : launches) {
      double score = 0;
      Chain chain = chain_from(begin, launch, score);
      if (chain.empty() || score < best.score - kClose) continue;
      const bool is_close = std::abs(score - best.score) <= kClose && !best.chain.empty();
      const bool is_same = !is_close || say_the_same(best.chain, chain);
      if (score > best.score) {
        const bool was_alone = best.is_alone;
        best = {std::move(chain), score, !is_close || (was_alone && is_same)};
      } else {
        best.is_alone = best.is_alone && is_same;
      }
    }
    return best;
  }

  bool can_run(const LoggedLaunch& launch, std::uint64_t count) const {
    if (launch.called_ns == 0) return true;
    const std::size_t sample = sample_after(count);
    return sample >= samples_.size() || launch.called_ns <= samples_[sample].end_ns + kClockToleranceNs;
  }

  /// The best chain of the launches from one on.
  Chain chain_from(std::uint64_t begin, std::size_t first, double& score) const {
    std::vector<State> states{{begin, 0, 0, first}};
    std::vector<std::size_t> current{0};
    std::size_t best = 0;
    for (std::size_t launch = first; launch < launches_.size() && !current.empty(); ++launch) {
      std::vector<State> next;
      for (const std::size_t state : current) extend(states[state], state, launch, next);
      std::ranges::sort(next, [](const State& a, const State& b) {
        return a.count != b.count ? a.count < b.count : a.score > b.score;
      });
      next.erase(std::unique(next.begin(), next.end(),
                             [](const State& a, const State& b) { return a.count == b.count; }),
                 next.end());
      if (next.size() > kMostStates) {
        std::ranges::nth_element(next, next.begin() + kMostStates, std::greater{}, &State::score);
        next.resize(kMostStates);
      }
      current.clear();
      for (const State& one : next) {
        if (one.score < states[best].score - kMostLost) continue;
        states.push_back(one);
        current.push_back(states.size() - 1);
        if (one.score > states[best].score) best = states.size() - 1;
      }
    }
    score = states[best].score;
    Chain chain;
    for (std::size_t state = best; state != 0; state = states[state].before) {
      const std::uint64_t from = states[states[state].before].count;
      const std::uint64_t to = states[state].count;
      if (to > from) chain.push_back({states[state].launch, from, to, is_end(from) && is_end(to)});
    }
    std::ranges::reverse(chain);
    return chain;
  }

  void extend(const State& from, std::size_t number, std::size_t at, std::vector<State>& next) const {
    const LoggedLaunch& launch = launches_[at];
    if (launch.kernel == LoggedLaunch::kMemory) {
      next.push_back({from.count, from.score, number, at});
      auto end = std::ranges::lower_bound(ends_, from.count);
      if (end == ends_.end() || *end != from.count) return;
      for (std::size_t further = 1; further <= kMostFurther && ++end != ends_.end(); ++further)
        next.push_back(
            {*end, from.score - kBlocksOfMemory - kFurther * static_cast<double>(further), number, at});
      return;
    }
    const std::uint64_t count = from.count + launch.blocks;
    if (count > ends_.back() || !can_run(launch, from.count)) return;
    next.push_back({count, from.score + (is_end(count) ? 1 : -kMiss), number, at});
  }

  bool say_the_same(const Chain& one, const Chain& other) const {
    auto link = other.begin();
    for (const ChainLink& mine : one) {
      while (link != other.end() && link->begin < mine.begin) ++link;
      if (link == other.end()) break;
      if (link->begin == mine.begin && launches_[link->launch].kernel != launches_[mine.launch].kernel)
        return false;
    }
    return true;
  }

  std::span<const SmSample> samples_;
  std::span<const LoggedLaunch> launches_;
  std::vector<std::uint64_t> counts_;  ///< of blocks, at the end of each sample from the second on
  std::vector<std::uint64_t> ends_;    ///< the different ones of these, and 0
  std::map<Gram, std::vector<std::size_t>> grams_;
};

}  // namespace

std::vector<Chain> find_chains(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  if (samples.size() < 2) return {};
  return Finder(samples, launches).chains();
}

}  // namespace occbench
