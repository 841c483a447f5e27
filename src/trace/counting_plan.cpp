#include "trace/counting_plan.hpp"

#include <algorithm>

namespace occbench {
namespace {

/// A program repeats itself after this many launches without a new configuration. Tuners launch a candidate up to ten times or so, often
/// with a kernel before each that clears the cache. A program of one kernel has nothing to choose.
constexpr std::int64_t kRepeats = 32;
constexpr std::int64_t kRepeatsOfOneKernel = 4;

/// Retries of launches that could not be counted, such as those that the driver refused.
constexpr int kMoreTries = 20;
/// Retries that a disturbed launch uses up.
constexpr int kTriesOfDisturbed = 5;

}  // namespace

/// Counting a kernel that waits for other GPUs could keep it from ever ending.
Uncounted CountingPlan::why_not(std::string_view name) const {
  if (name.find("nccl") != name.npos || name.find("nvshmem") != name.npos) return Uncounted::waits_for_gpus;
  return rules_.wanted && !rules_.wanted(name) ? Uncounted::left_out : Uncounted::unknown;
}

void CountingPlan::is_new(std::size_t kernels) {
  several_ = kernels > 1;
  new_at_ = launches_ + 1;  // the one that is looked at next
}

bool CountingPlan::take(TracedKernel& kernel, Countable countable) {
  ++launches_;
  const bool is_first = kernel.seen++ == 0;
  const Uncounted before = kernel.uncounted;
  if (before == Uncounted::left_out || before == Uncounted::waits_for_gpus) return false;
  const Uncounted now = !warmed_up()                            ? Uncounted::warm_up
                        : countable == Countable::none          ? Uncounted::while_capturing
                        : countable == Countable::beyond_budget ? Uncounted::beyond_budget
                                                                : Uncounted::failed;
  if (is_first) return false;
  const bool has_failed = before == Uncounted::failed && now == Uncounted::beyond_budget && kernel.tried > 0;
  if (before != now && !has_failed) kernel.uncounted = now;
  if (now != Uncounted::failed || kernel.tried >= rules_.counted + kMoreTries) return false;
  const int most = countable == Countable::first ? std::min(rules_.counted, 1) : rules_.counted;
  for (int counted = kernel.counted; counted < most;) {
    // Other threads must not count it too.
    if (!kernel.counted.compare_exchange_weak(counted, counted + 1)) continue;
    ++kernel.tried;
    return true;
  }
  return false;
}

void CountingPlan::give_back(TracedKernel& kernel) {
  --kernel.counted;
}

void CountingPlan::give_back_disturbed(TracedKernel& kernel) {
  ++disturbed_;
  kernel.tried += kTriesOfDisturbed - 1;
  give_back(kernel);
}

bool CountingPlan::warmed_up() const {
  if (begun_) return true;
  if (rules_.after) return launches_ > *rules_.after;
  return launches_ - new_at_ >= (several_ ? kRepeats : kRepeatsOfOneKernel);
}

}  // namespace occbench
