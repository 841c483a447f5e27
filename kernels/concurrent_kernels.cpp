#include "kernels/concurrent_kernels.hpp"

#include "gpu/launch.hpp"
#include "kernels/spin.hpp"
#include "kernels/spin_variants.hpp"

namespace occbench {
namespace {

class PreparedConcurrentKernels final : public Prepared {
 public:
  PreparedConcurrentKernels(const Case& chosen, const Device& device)
      : first_(prepare_spin(chosen, device)), second_(prepare_spin(chosen, device)) {}

  /// The second stream waits for earlier work of `stream`, and `stream` waits for the second launch.
  void launch(cudaStream_t stream) override {
    fork_.record(stream);
    occbench::check(cudaStreamWaitEvent(other_stream_.get(), fork_.get()), "cudaStreamWaitEvent");
    first_->launch(stream);
    second_->launch(other_stream_.get());
    join_.record(other_stream_.get());
    occbench::check(cudaStreamWaitEvent(stream, join_.get()), "cudaStreamWaitEvent");
  }

  Check check(cudaStream_t stream) override {
    const Check first = first_->check(stream);
    return first == Check::ok ? second_->check(other_stream_.get()) : first;
  }

  Amount useful() const override {
    const Amount one = first_->useful();
    return {2 * one.quantity, one.unit};
  }

 private:
  static std::unique_ptr<Prepared> prepare_spin(const Case& chosen, const Device& device) {
    Case one = chosen;
    one.kernel = &kSpin;
    one.work = chosen.items.value().work;
    return kSpin.prepare(one, kSpin.find("plain"), device);
  }

  std::unique_ptr<Prepared> first_;
  std::unique_ptr<Prepared> second_;
  Stream other_stream_;
  Event fork_;
  Event join_;
};

std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant&, const Device& device) {
  return std::make_unique<PreparedConcurrentKernels>(chosen, device);
}

/// For usage and theory of one of the two launches.
const Variant kVariants[] = {spin_plain()};

}  // namespace

const Kernel kConcurrentKernels{"concurrent_kernels", "two launches of spin in two streams", kVariants,
                                prepare};

}  // namespace occbench
