#include "trace/attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace occbench {
namespace {

/// Least samples of a launch that shares one with a neighbour.
constexpr std::size_t kLeastSamples = 3;

/// In a pause, SMs are active for less than this share of the most active sample.
constexpr double kPause = 0.5;

/// A launch that may begin early did not if less than this share of either launch's SMs was active before it. Blocks that wait only for
/// room would have filled the SMs. A program may also start them that late. In a window of JAX's graphs such shares were below 0.21 or
/// above 0.8 (H200, CUDA 13.0).
constexpr double kQuiet = 0.25;

/// Whether one begins only after the other has ended.
bool follow_one_another(const LoggedLaunch& one, const LoggedLaunch& other) {
  if (one.kernel == LoggedLaunch::kMemory || other.kernel == LoggedLaunch::kMemory) return true;
  if (one.begins == Begins::beside && other.begins == Begins::beside) return false;
  const auto waits = [](std::uint32_t stream, std::uint32_t for_stream) {
    return for_stream == LoggedLaunch::kLegacyStream && (stream & LoggedLaunch::kNonBlocking) == 0;
  };
  return one.stream == other.stream || waits(one.stream, other.stream) || waits(other.stream, one.stream);
}

class Attributor {
 public:
  Attributor(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches)
      : samples_(samples), launches_(launches) {
    for (const SmSample& sample : samples)
      counts_.push_back(counts_.empty() ? 0 : counts_.back() + blocks_of(sample));
  }

  Attribution result() {
    const std::vector<Chain> chains = find_chains(samples_, launches_);
    for (const Chain& chain : chains) {
      const std::vector<bool> is_apart = apart(chain);
      for (std::size_t i = 0; i < chain.size(); ++i) {
        if (is_apart[i]) add(chain[i]);
      }
    }
    const auto [first, last] = whole(chains);
    for (std::size_t i = 1; i < samples_.size(); ++i) {
      result_.unattributed_ns += active_ns(samples_[i]);
      if (i < first || i >= last) result_.cut_ns += active_ns(samples_[i]);
    }
    result_.unattributed_ns = std::max(result_.unattributed_ns - result_.attributed_ns, 0.0);
    result_.cut_ns = std::min(result_.cut_ns, result_.unattributed_ns);
    result_.unattributed_ns -= result_.cut_ns;
    return std::move(result_);
  }

 private:
  /// The sample with the first block after this count.
  std::size_t sample_after(std::uint64_t blocks) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(counts_, blocks) - counts_.begin());
  }

  /// The samples from the one with its first block on, without idle ones at the end.
  std::pair<std::size_t, std::size_t> samples_of(const ChainLink& link) const {
    const std::size_t begin = sample_after(link.begin);
    std::size_t end = sample_after(link.end);
    while (end > begin && is_idle(samples_[end - 1])) --end;
    return {begin, end};
  }

  /// SMs were idle before and after it.
  bool is_alone(const ChainLink& link) const {
    const auto [begin, end] = samples_of(link);
    return is_idle(samples_[begin - 1]) && end < samples_.size() && is_idle(samples_[end]);
  }

  /// A launch that may begin early, for the end of the one before it in the chain.
  bool waited(const ChainLink* before, const ChainLink& link) const {
    const std::size_t first = sample_after(link.begin);
    if (is_idle(samples_[first - 1])) return true;
    if (before == nullptr) return false;
    const auto most_active = [&](std::size_t begin, std::size_t end) {
      double most = 0;
      for (std::size_t i = begin; i < end; ++i) most = std::max(most, active_share(samples_[i]));
      return most;
    };
    const double active = std::min(active_share(samples_[first - 1]), active_share(samples_[first]));
    return active < kQuiet * std::min(most_active(sample_after(before->begin), first),
                                      most_active(first, sample_after(link.end)));
  }

  /// If samples before a chain are not idle, an earlier launch may still run in another stream.
  bool may_be_beside_earlier(std::size_t first) const {
    return !std::ranges::all_of(launches_.first(first), [&](const LoggedLaunch& earlier) {
      return follow_one_another(earlier, launches_[first]);
    });
  }

  /// Which launches ran alone: since an idle sample, all followed one another.
  std::vector<bool> apart(const Chain& chain) const {
    std::vector<bool> is_apart;
    bool is_beside_others = may_be_beside_earlier(chain.front().launch);
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const LoggedLaunch& launch = launches_[chain[i].launch];
      if (is_idle(samples_[sample_after(chain[i].begin) - 1])) {
        is_beside_others = false;
      } else if (i > 0 && !follow_one_another(launches_[chain[i - 1].launch], launch)) {
        is_beside_others = true;
        is_apart.back() = false;
      }
      bool is_for_itself = launch.begins != Begins::beside || is_alone(chain[i]);
      if (launch.begins == Begins::early && !waited(i > 0 ? &chain[i - 1] : nullptr, chain[i])) {
        is_for_itself = false;
        if (i > 0) is_apart.back() = false;
      }
      is_apart.push_back(launch.kernel != LoggedLaunch::kMemory && chain[i].is_clean && !is_beside_others &&
                         is_for_itself);
    }
    return is_apart;
  }

  /// It may have run past the last sample.
  bool is_cut(const ChainLink& link) const {
    return sample_after(link.end) == samples_.size() && !is_idle(samples_.back());
  }

  void add(const ChainLink& link) {
    const auto [begin, end] = samples_of(link);
    if (is_cut(link) || (!is_alone(link) && end - begin < kLeastSamples)) return;
    SampledLaunch launch;
    launch.launches = 1;
    launch.kernel = launches_[link.launch].kernel;
    launch.start_ns = samples_[begin].start_ns;
    launch.end_ns = samples_[end - 1].end_ns;
    for (const SmSample& sample : samples_.subspan(begin, end - begin)) {
      ++launch.samples;
      launch.warp_cycles += sample.warp_cycles;
      launch.active_cycles += sample.active_cycles;
      launch.longest_cycles += sample.longest_cycles;
      launch.active_ns += active_ns(sample);
      if (!sample.tensor_cycles || !sample.dram_busy_pct) continue;
      ++launch.samples_of_units;
      launch.tensor_cycles += *sample.tensor_cycles;
      launch.dram_busy_ns +=
          *sample.dram_busy_pct / 100 * static_cast<double>(sample.end_ns - sample.start_ns);
    }
    if (launch.active_cycles <= 0) return;
    result_.attributed_ns += launch.active_ns;
    result_.launches.push_back(launch);
  }

  bool is_larger(std::size_t launch, std::uint64_t blocks) const {
    return launch < launches_.size() && launches_[launch].kernel != LoggedLaunch::kMemory &&
           launches_[launch].blocks > blocks;
  }

  /// The samples that can be of whole launches. They exclude the launch before the first chain and the one after the last. Without chains
  /// they lie between the first and the last pause of the SMs.
  std::pair<std::size_t, std::size_t> whole(const std::vector<Chain>& chains) const {
    if (chains.empty()) {
      double most_active = 0;
      for (const SmSample& sample : samples_) most_active = std::max(most_active, active_share(sample));
      const auto is_pause = [&](const SmSample& sample) {
        return active_share(sample) < kPause * most_active;
      };
      const auto first = std::ranges::find_if(samples_, is_pause);
      const auto last = std::ranges::find_if(samples_.rbegin(), samples_.rend(), is_pause);
      return {first - samples_.begin(), samples_.rend() - last};
    }
    const ChainLink& first = chains.front().front();
    const ChainLink& last = chains.back().back();
    const bool begins_within = first.launch > 0 && is_larger(first.launch - 1, first.begin);
    std::size_t end = samples_.size();
    if (is_cut(last)) end = sample_after(last.begin);
    if (is_larger(last.launch + 1, counts_.back() - last.end)) end = std::min(end, sample_after(last.end));
    return {begins_within ? sample_after(first.begin) : 1, end};
  }

  std::span<const SmSample> samples_;
  std::span<const LoggedLaunch> launches_;
  std::vector<std::uint64_t> counts_;  ///< of blocks, at the end of each sample; the first has none
  Attribution result_;
};

}  // namespace

Attribution attribute(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  return samples.size() < 2 ? Attribution() : Attributor(samples, launches).result();
}

namespace {

// Scores are natural logarithms: how much likelier the samples are with these launches than by accident.

/// A launch that does not end with a sample: a fifth do not, and by accident almost none do.
constexpr double kMiss = -2.5;
/// A launch that ends with a sample, idle or not, besides how rare such ends are: some do not.
constexpr double kHit = -0.5;
/// A launch that began late on an idle GPU: it waited for something.
constexpr double kLate = -2.5;
/// A launch on an idle GPU runs within this time of its call (6 to 25 us, H100).
constexpr std::uint64_t kLaunchLatencyNs = 30'000;
/// Gaps between back-to-back launches are shorter (0.5 to 2 us, H100).
constexpr std::uint64_t kIdleNs = 5000;
/// A chain is given up this far below its best.
constexpr double kMostLost = 8;
/// A fill or copy that had blocks, and each block count further on.
constexpr double kBlocksOfMemory = -0.5;
constexpr double kFurther = -0.05;
/// Most block counts further on at which its end may be.
constexpr std::size_t kMostFurther = 16;
constexpr std::size_t kMostStates = 32;
/// Chains with scores this close are equally good.
constexpr double kClose = 2;
/// By accident there are fewer than exp(-4) chains in a window.
constexpr double kSurplus = 4;
/// At most this many grid sizes are few.
constexpr double kFewSizes = 5;
/// Launches that identify a beginning.
constexpr std::size_t kGram = 4;
using Gram = std::array<std::uint64_t, kGram>;  ///< blocks; 0 from a fill or copy on
/// Most beginnings tried at one place of the samples: the latest possible.
constexpr std::size_t kMostBeginnings = 2000;

class Finder {
 public:
  Finder(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches)
      : samples_(samples), launches_(launches) {
    std::uint64_t sum = 0;
    std::uint64_t idle_since = samples[0].end_ns;
    ends_.push_back(0);
    for (std::size_t i = 1; i < samples.size(); ++i) {
      if (i == 1 || !is_idle(samples[i - 1])) idle_since = samples[i].start_ns;
      idle_since_.push_back(idle_since);
      sum += blocks_of(samples[i]);
      counts_.push_back(sum);
      if (sum != ends_.back()) ends_.push_back(sum);
      if (is_idle(samples[i]) && (idle_ends_.empty() || sum != idle_ends_.back())) idle_ends_.push_back(sum);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
      if (const std::optional<Gram> gram = gram_at(i)) grams_[*gram].push_back(i);
    }
    begins_ = possible_begins();
    set_gains();
  }

  std::vector<Chain> chains() const {
    std::vector<Chain> found;
    if (ends_.size() < 2) return found;
    const double tries = static_cast<double>(begins_.size()) * static_cast<double>(grams_.size());
    const double least_score = std::log(tries + 1) + kSurplus;
    std::uint64_t done = 0;
    std::size_t first_launch = 0;
    for (const std::uint64_t begin : begins_) {
      if (begin < done) continue;
      const Best best = best_at(begin, first_launch);
      if (best.score < least_score) continue;
      done = best.chain.back().end;
      if (!best.is_alone) continue;
      found.push_back(
          with_those_before(best.chain, found.empty() ? 0 : found.back().back().end, first_launch));
      first_launch = best.chain.back().launch + 1;
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
    std::size_t before = 0;  ///< index of its state
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

  /// An end is worth more if launches from any beginning rarely have one. Many programs' grids are powers of two, which agree more often
  /// than other numbers. One of a beginning's launches may be right, which matters if there are few.
  void set_gains() {
    std::set<std::uint64_t> sizes;
    for (const auto& [gram, places] : grams_) sizes.insert(gram[0]);
    double hits = 0;
    double idle_hits = 0;
    for (const std::uint64_t begin : begins_) {
      const double right = std::min(kFewSizes / static_cast<double>(sizes.size()), 1.0);
      const auto wrong = [&](auto is_hit) {
        const auto count =
            std::ranges::count_if(sizes, [&](std::uint64_t size) { return is_hit(begin + size); });
        return std::max(static_cast<double>(count) - right, 0.0);
      };
      hits += wrong([&](std::uint64_t count) { return is_end(count); });
      idle_hits += wrong([&](std::uint64_t count) { return is_idle_end(count); });
    }
    const double pairs =
        std::max(static_cast<double>(begins_.size()) * static_cast<double>(sizes.size()), 1.0);
    const double blocks = std::max(static_cast<double>(ends_.back()), 1.0);
    const auto gain = [&](double of_pairs, std::size_t ends) {
      const double by_accident = std::max(of_pairs / pairs, static_cast<double>(ends) / blocks);
      return std::max(kHit - std::log(std::min(by_accident, 0.9)), 0.1);
    };
    gain_ = gain(hits, ends_.size());
    idle_gain_ = std::max(gain(idle_hits, idle_ends_.size() + 1), gain_);
  }

  bool is_idle_end(std::uint64_t count) const {
    return std::ranges::binary_search(idle_ends_, count);
  }
  bool is_end(std::uint64_t count) const {
    return std::ranges::binary_search(ends_, count);
  }
  double score_of_end(std::uint64_t count) const {
    if (is_idle_end(count)) return idle_gain_;
    return is_end(count) ? gain_ : kMiss;
  }
  /// The sample with the first block after this count.
  std::size_t sample_after(std::uint64_t count) const {
    return 1 + static_cast<std::size_t>(std::ranges::upper_bound(counts_, count) - counts_.begin());
  }

  /// Block counts after which SMs waited.
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

  /// All end between samples, except at most one that is not the first.
  bool can_begin(std::uint64_t count, const Gram& gram) const {
    int missed = 0;
    for (const std::uint64_t blocks : gram) {
      count += blocks;
      if (count > ends_.back()) return true;
      if (blocks > 0 && !is_end(count) && (&blocks == gram.data() || ++missed > 1)) return false;
    }
    return true;
  }

  Best best_at(std::uint64_t begin, std::size_t first_launch) const {
    std::vector<std::size_t> launches;
    for (const auto& [gram, places] : grams_) {
      if (!can_begin(begin, gram)) continue;
      for (const std::size_t place : places) {
        if (place >= first_launch && can_run(launches_[place], begin)) launches.push_back(place);
      }
    }
    std::ranges::sort(launches);
    if (launches.size() > kMostBeginnings)
      launches.erase(launches.begin(), launches.end() - static_cast<std::ptrdiff_t>(kMostBeginnings));
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

  bool is_late(const LoggedLaunch& launch, std::uint64_t count) const {
    const std::size_t sample = sample_after(count);
    if (sample >= samples_.size()) return false;
    const std::uint64_t start = samples_[sample].start_ns;
    return start - idle_since_[sample - 1] >= kIdleNs && launch.called_ns + kLaunchLatencyNs < start;
  }

  /// With launches that ended before a chain and began without a pause.
  Chain with_those_before(const Chain& chain, std::uint64_t least_begin, std::size_t first_launch) const {
    Chain before;
    std::uint64_t end = chain.front().begin;
    for (std::size_t at = chain.front().launch; at-- > first_launch;) {
      const LoggedLaunch& launch = launches_[at];
      if (launch.kernel == LoggedLaunch::kMemory || launch.blocks > end - least_begin) break;
      const std::uint64_t begin = end - launch.blocks;
      if (!is_end(begin) || sample_after(begin) < 2 || !can_run(launch, begin)) break;
      before.push_back({at, begin, end, is_end(end)});
      end = begin;
    }
    std::ranges::reverse(before);
    before.insert(before.end(), chain.begin(), chain.end());
    return before;
  }

  /// The best chain that begins with launch `first`.
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
            {*end, from.score + kBlocksOfMemory + kFurther * static_cast<double>(further), number, at});
      return;
    }
    const std::uint64_t count = from.count + launch.blocks;
    if (count > ends_.back() || !can_run(launch, from.count)) return;
    const double lateness = is_late(launch, from.count) ? kLate : 0;
    next.push_back({count, from.score + score_of_end(count) + lateness, number, at});
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
  std::vector<std::uint64_t> counts_;     ///< of blocks, at the end of each sample from the second on
  std::vector<std::uint64_t> ends_;       ///< the distinct ones of these, and 0
  std::vector<std::uint64_t> idle_ends_;  ///< of idle samples
  std::vector<std::uint64_t>
      idle_since_;                     ///< start of the idle time before it, else its own; from the second on
  std::vector<std::uint64_t> begins_;  ///< where a chain may begin
  double gain_ = 0;                    ///< of an end at a sample's end
  double idle_gain_ = 0;
  std::map<Gram, std::vector<std::size_t>> grams_;
};

}  // namespace

std::vector<Chain> find_chains(std::span<const SmSample> samples, std::span<const LoggedLaunch> launches) {
  if (samples.size() < 2) return {};
  return Finder(samples, launches).chains();
}

}  // namespace occbench
