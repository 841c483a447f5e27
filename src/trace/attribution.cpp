#include "trace/attribution.hpp"

#include <algorithm>
#include <utility>

#include "trace/chain.hpp"
#include "trace/sample_values.hpp"

namespace occbench {
namespace {

/// Samples that a launch must have of which a neighbour shares one.
constexpr std::size_t kLeastSamples = 3;

/// In a pause between launches SMs are active for less of a sample.
constexpr double kPause = 0.5;

/// One begins where the other has ended, whatever streams are between.
bool follow_one_another(const LoggedLaunch& one, const LoggedLaunch& other) {
  if (one.kernel == LoggedLaunch::kMemory || other.kernel == LoggedLaunch::kMemory) return true;
  if (one.is_branch && other.is_branch) return false;
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
  /// The sample with the first block after these.
  std::size_t sample_after(std::uint64_t blocks) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(counts_, blocks) - counts_.begin());
  }

  /// The samples from the one with its first block on, without the idle ones behind it.
  std::pair<std::size_t, std::size_t> samples_of(const ChainLink& link) const {
    const std::size_t begin = sample_after(link.begin);
    std::size_t end = sample_after(link.end);
    while (end > begin && is_idle(samples_[end - 1])) --end;
    return {begin, end};
  }

  /// SMs waited before it and behind it.
  bool is_alone(const ChainLink& link) const {
    const auto [begin, end] = samples_of(link);
    return is_idle(samples_[begin - 1]) && end < samples_.size() && is_idle(samples_[end]);
  }

  /// Where samples are not idle before a chain, one that was called for before may still run in another stream.
  bool may_be_beside_earlier(std::size_t first) const {
    return !std::ranges::all_of(launches_.first(first), [&](const LoggedLaunch& earlier) {
      return follow_one_another(earlier, launches_[first]);
    });
  }

  /// Which launches no other can have run beside: since a sample was idle, all followed one another.
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
      is_apart.push_back(launch.kernel != LoggedLaunch::kMemory && chain[i].is_clean && !is_beside_others &&
                         (!launch.is_branch || is_alone(chain[i])));
    }
    return is_apart;
  }

  /// It may have gone on behind the last sample.
  bool is_cut(const ChainLink& link) const {
    return sample_after(link.end) == samples_.size() && !is_idle(samples_.back());
  }

  void add(const ChainLink& link) {
    const auto [begin, end] = samples_of(link);
    if (is_cut(link) || (!is_alone(link) && end - begin < kLeastSamples)) return;
    SampledLaunch launch;
    launch.kernel = launches_[link.launch].kernel;
    launch.start_ns = samples_[begin].start_ns;
    launch.end_ns = samples_[end - 1].end_ns;
    for (const SmSample& sample : samples_.subspan(begin, end - begin)) {
      ++launch.samples;
      launch.warp_cycles += sample.warp_cycles;
      launch.active_cycles += sample.active_cycles;
      launch.longest_cycles += sample.longest_cycles;
      launch.active_ns += active_ns(sample);
    }
    if (launch.active_cycles <= 0) return;
    result_.attributed_ns += launch.active_ns;
    result_.launches.push_back(launch);
  }

  bool is_larger(std::size_t launch, std::uint64_t blocks) const {
    return launch < launches_.size() && launches_[launch].kernel != LoggedLaunch::kMemory &&
           launches_[launch].blocks > blocks;
  }

  /// The samples that the window can have of whole launches: but for what is of the launch before the first chain, or behind the
  /// last one, or where there is none, before the first pause of the SMs and behind the last.
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

}  // namespace occbench
