#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace occbench {

/// As many of a stream of times as a median and a test need, each of the stream as likely as any other
/// (Vitter's algorithm R), drawn alike in every run.
class TimeSample {
 public:
  static constexpr std::size_t kMost = 101;

  /// @returns whether it was kept
  bool add(double time) {
    ++seen_;
    if (kept_.size() < kMost) {
      kept_.push_back(time);
      return true;
    }
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
    const std::uint64_t place = (random_ >> 11) % static_cast<std::uint64_t>(seen_);
    if (place < kMost) kept_[place] = time;
    return place < kMost;
  }

  const std::vector<double>& kept() const {
    return kept_;
  }
  std::int64_t seen() const {
    return seen_;
  }

 private:
  std::vector<double> kept_;
  std::int64_t seen_ = 0;
  std::uint64_t random_ = 1;
};

}  // namespace occbench
