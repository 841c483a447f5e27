#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/gpu_presence.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Command, ListsEverySubcommandOnHelp) {
  const Outcome help = run_command({"--help"});
  EXPECT_EQ(help.status, ExitStatus::done);
  for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr(command.name));
  EXPECT_THAT(help.err, IsEmpty());
}

TEST(Command, EndsWith64OnWrongUseAndPrintsNoData) {
  using Arguments = std::initializer_list<const char*>;
  for (const Arguments wrong :
       {Arguments{}, Arguments{"calculate"}, Arguments{"calc", "--blocksize", "32"},
        Arguments{"calc", "--block-size", "many"}, Arguments{"calc", "--format", "xml"}}) {
    const Outcome outcome = run_command(wrong);
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("occbench: "));
  }
}

TEST(Command, WithoutAGpuTheListOfCasesIsThatOfTheRecordedSuite) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  const Outcome listed = run_command({"run", "--list", "--filter", "^waves/.*waves=0"});
  EXPECT_EQ(listed.status, ExitStatus::done) << listed.err;
  EXPECT_EQ(listed.out,
            "waves/hold/plain/waves=0.25\nwaves/hold/plain/waves=0.50\nwaves/hold/plain/waves=0.75\n");
  EXPECT_THAT(listed.err, HasSubstr("depends on the GPU"));
}

}  // namespace
}  // namespace occbench
