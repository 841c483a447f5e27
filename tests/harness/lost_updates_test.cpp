#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "record/columns.hpp"

// Cases that are made to lose updates.
namespace occbench {
namespace {

/// Loses another share of its updates in each launch.
class Racing final : public Prepared {
 public:
  void launch(cudaStream_t) override {}
  Check check(cudaStream_t) override {
    return Check::lost_updates;
  }
  std::optional<double> lost_updates_pct(cudaStream_t) override {
    return lost_pct_ += 5;
  }
  Amount useful() const override {
    return {1, "updates"};
  }

 private:
  double lost_pct_ = 0;
};

TEST_F(RunCases, LostUpdatesThatACaseIsMadeToShowAreItsResultAndNoFailure) {
  static const Kernel races{"races", "loses updates", kVariants,
                            [](const Case&, const Variant&, const Device&) -> std::unique_ptr<Prepared> {
                              return std::make_unique<Racing>();
                            }};
  EXPECT_EQ(run(one_case(races)), ExitStatus::done);
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.check, "lost_updates");
  EXPECT_EQ(row.time_status, "ok");
  std::vector<double> shares;
  for (const Sample& sample : read_samples(samples_path(csv()))) {
    if (sample.quantity == "lost_updates_pct") shares.push_back(sample.value);
  }
  ASSERT_GT(shares.size(), 8U);
  EXPECT_EQ(shares[1], 10);
  EXPECT_THAT(row.note,
              ::testing::HasSubstr(real_text((shares.front() + shares.back()) / 2) + " % of updates lost"));
}

TEST_F(RunCases, ACaseThatIsNotAboutLostUpdatesSaysNothingOfThem) {
  run(experiment_of({256}));
  EXPECT_THAT(read_rows(csv()).at(0).note, ::testing::Not(::testing::HasSubstr("updates lost")));
}

}  // namespace
}  // namespace occbench
