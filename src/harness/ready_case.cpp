#include "harness/ready_case.hpp"

namespace occbench {

ReadyCase::ReadyCase(const PlannedCase& planned, const Device& device, Instruments& instruments)
    : instruments_(instruments),
      cold_(planned.chosen.cold),
      prepared_(planned.chosen.prepare
                    ? planned.chosen.prepare(planned.chosen, *planned.variant, device)
                    : planned.chosen.kernel->prepare(planned.chosen, *planned.variant, device)) {}

Check ReadyCase::check_and_launch() {
  const Check result = prepared_->check(instruments_.stream());
  launch_and_wait();
  return result;
}

std::optional<double> ReadyCase::lost_updates_pct() {
  return prepared_->lost_updates_pct(instruments_.stream());
}

double ReadyCase::time_launch() {
  return instruments_.microseconds([&](cudaStream_t stream) { prepared_->launch(stream); }, cold_);
}

void ReadyCase::make_ready() {
  instruments_.make_ready(cold_);
}

void ReadyCase::launch_and_wait() {
  prepared_->launch(instruments_.stream());
  instruments_.synchronize();
}

std::vector<WarpRecord> ReadyCase::trace() {
  return prepared_->trace(instruments_.stream());
}

Amount ReadyCase::useful() const {
  return prepared_->useful();
}

}  // namespace occbench
