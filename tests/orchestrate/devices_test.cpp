#include "orchestrate/devices.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <pty.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/device_list.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Row row_of(int gpu, const std::string& name) {
  Row row;
  row.schema = 2;
  row.experiment = "fake";
  row.case_ = name;
  row.gpu_uuid = fmt::format("GPU-{}", gpu);
  return row;
}

/// The program is a shell script here: it is told its GPU and where its rows go.
class OnEachGpu : public ::testing::Test {
 protected:
  OnEachGpu() {
    each_.program = folder_.path() / "program";
    each_.merge = merge_gpus;
    each_.resuming = "occbench run --resume";
    each_.rows = folder_.path() / "rows.csv";
    each_.gpus = {{0, "GPU-0"}, {1, "GPU-1"}, {2, "GPU-2"}};
    for (const GpuHere& gpu : each_.gpus) {
      for (const char* const name : {"a", "b"})
        std::ofstream(folder_.path() / fmt::format("{}{}", gpu.index, name))
            << csv_record(row_of(gpu.index, name));
    }
    std::ofstream(folder_.path() / "header") << csv_header();
  }

  /// `body` knows $gpu, $out and $resume, and can call `begin` (the file, unless it is resumed) and `row NAME`.
  ExitStatus run(const std::string& body) {
    std::ofstream(each_.program) << "#!/bin/bash\n"
                                    "for a in \"$@\"; do case $a in --device=*) gpu=${a#*=};; --out=*) "
                                    "out=${a#*=};; --resume=true) resume=1;; esac; done\n"
                                    "cd "
                                 << folder_.path().string()
                                 << "\nbegin() { [[ $resume && -e $out ]] || cp header $out; }\n"
                                    "row() { grep -q ,$1, $out || cat $gpu$1 >> $out; }\n"
                                 << body << '\n';
    fs::permissions(each_.program, fs::perms::owner_all);
    Console console{out_, err_};
    return run_on_each(each_, console);
  }

  static std::vector<std::string> rows_in(const fs::path& file) {
    std::vector<std::string> rows;
    for (const Row& row : read_rows(file)) rows.push_back(row.gpu_uuid + " " + row.case_);
    return rows;
  }
  std::vector<std::string> rows() const {
    return rows_in(each_.rows);
  }
  fs::path file(int gpu) const {
    return file_of_gpu(each_.rows, gpu);
  }
  fs::path path(const std::string& name) const {
    return folder_.path() / name;
  }

  TemporaryFolder folder_;
  EachDevice each_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(OnEachGpu, MergedRowsAreThoseOfTheSingleRuns) {
  EXPECT_EQ(run("begin; row a; row b"), ExitStatus::done) << err_.str();
  EXPECT_EQ(read_text(each_.rows), read_text(file(0)) + read_text(file(1)).substr(csv_header().size()) +
                                       read_text(file(2)).substr(csv_header().size()));
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-0 b", "GPU-1 a", "GPU-1 b", "GPU-2 a", "GPU-2 b"));
}

TEST_F(OnEachGpu, FilesOfAGpuHaveItsNumberBeforeTheirEnding) {
  EXPECT_EQ(file_of_gpu("results/rows.csv", 3), "results/rows.gpu3.csv");
  EXPECT_EQ(file_of_gpu("over_time/", 0), "over_time.gpu0");
  EXPECT_EQ(samples_path(file_of_gpu("rows.csv", 1)), "rows.gpu1.samples.csv");
}

TEST_F(OnEachGpu, TheFailureOfOneIsNamedAndLeavesTheRowsOfAll) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 1 ]] && { echo the driver is gone >&2; touch $out.log; exit 70; }; "
                "row b"),
            ExitStatus::fault);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-0 b", "GPU-1 a", "GPU-2 a", "GPU-2 b"));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 1: the driver is gone\n"));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 1 failed (GPU-1): exit status 70"));
  EXPECT_THAT(err_.str(), HasSubstr(file(1).string() + ".log"));
  EXPECT_THAT(err_.str(), HasSubstr("what is missing: occbench run --resume\n"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("gpu 0 failed")));
}

TEST_F(OnEachGpu, AProcessThatCannotStartIsAFailedGpuAndTheOthersGoOn) {
  // An argument has 32 pages at most, its end included: the longer number is too much.
  const auto longest = static_cast<std::size_t>(32 * ::sysconf(_SC_PAGESIZE)) - 1;
  each_.outputs = {{"--timeline", std::string(longest - std::string("--timeline=.gpu1").size(), 'x')}};
  each_.gpus = {{1, "GPU-1"}, {10, "GPU-10"}, {2, "GPU-2"}};
  EXPECT_EQ(run("begin; row a"), ExitStatus::fault);
  EXPECT_THAT(rows(), ElementsAre("GPU-1 a", "GPU-2 a"));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 10: cannot start " + each_.program.string()));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 10 failed (GPU-10)"));
  EXPECT_THAT(err_.str(), HasSubstr("what is missing: occbench run --resume\n"));
}

TEST_F(OnEachGpu, RowsThatConflictOrHaveNoEndLeaveNoVerdict) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 2 ]] && printf '2,half' >> $out; exit 0"), ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("gpu2.csv: the last line has no end"));
  EXPECT_THAT(err_.str(), HasSubstr("what is missing: occbench run --resume\n"));
  Row other = row_of(0, "a");
  other.note = "measured again";
  std::ofstream(path("other")) << csv_record(other);
  EXPECT_EQ(run("begin; row a; [[ $gpu == 1 ]] && cat other >> $out; exit 0"), ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("conflict: "));
}

/// Suites of GPUs of two models differ.
TEST_F(OnEachGpu, CasesThatOneGpuDoesNotHaveAreNoFailure) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 1 ]] || row b"), ExitStatus::done);
  EXPECT_THAT(err_.str(), HasSubstr("gap: GPU-1"));
}

TEST_F(OnEachGpu, WhereMergingFailsTheRowsOfEachStayAndTheResumingCommandIsPrinted) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 1 ]] && echo no,rows > $out; exit 0"), ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("the rows are not merged: "));
  EXPECT_THAT(err_.str(), HasSubstr("what is missing: occbench run --resume\n"));
  EXPECT_THAT(rows_in(file(0)), ElementsAre("GPU-0 a"));
}

TEST_F(OnEachGpu, AProcessThatIsKilledInTheMiddleOfARowKeepsTheRowsBeforeIt) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 2 ]] && { printf '2,half' >> $out; kill -9 $$; }; row b"),
            ExitStatus::no_verdict);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-0 b", "GPU-1 a", "GPU-1 b", "GPU-2 a"));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 2 failed (GPU-2): signal 9"));
}

TEST_F(OnEachGpu, TheMergedRowsOfAnEarlierRunAreKept) {
  run("begin; row a");
  run("begin; row b");
  EXPECT_THAT(rows(), ElementsAre("GPU-0 b", "GPU-1 b", "GPU-2 b"));
  EXPECT_THAT(err_.str(), HasSubstr("is kept as " + each_.rows.string() + "."));
}

TEST_F(OnEachGpu, AnEarlierRunsRowsOfAGpuThatDoesNotBeginAreNotThoseOfThisRun) {
  run("begin; row a");
  EXPECT_EQ(run("[[ $gpu == 0 ]] && exit 2; begin; row b"), ExitStatus::no_verdict);
  EXPECT_THAT(rows(), ElementsAre("GPU-1 b", "GPU-2 b"));
  EXPECT_THAT(rows_in(file(0)), ElementsAre("GPU-0 a")) << "what nobody has replaced stays";
}

TEST_F(OnEachGpu, WhereNoneBeginsTheRowsThatWereThereStay) {
  run("begin; row a");
  EXPECT_EQ(run("exit 64"), ExitStatus::usage);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-1 a", "GPU-2 a"));
}

TEST_F(OnEachGpu, ResumingKeepsEveryRowAlsoOfAGpuThatDoesNotBegin) {
  run("begin; row a; [[ $gpu == 1 ]] || row b");
  each_.resume = true;
  each_.arguments = {"--resume=true"};
  EXPECT_EQ(run("[[ $gpu == 2 ]] && exit 2; begin; row a; row b"), ExitStatus::no_verdict);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-0 b", "GPU-1 a", "GPU-1 b", "GPU-2 a", "GPU-2 b"));
}

TEST_F(OnEachGpu, ResumingIsRefusedWhereRowsOfTheMergedFileAreNowhereElse) {
  run("begin; row a");
  const std::string before = read_text(each_.rows);
  each_.resume = true;
  each_.gpus.pop_back();
  const std::string message = message_of([&] { run("begin; row a"); });
  EXPECT_THAT(message, HasSubstr("1 row"));
  EXPECT_THAT(message, HasSubstr("fake/a of GPU-2"));
  EXPECT_THAT(message, HasSubstr("another file"));
  EXPECT_EQ(read_text(each_.rows), before);
}

TEST_F(OnEachGpu, CtrlCGoesToEveryProcessAndTheirRowsStay) {
  std::thread user([&] {
    const auto begun = [&] {
      return fs::exists(path("begun0")) && fs::exists(path("begun1")) && fs::exists(path("begun2"));
    };
    while (!begun()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(::getpid(), SIGINT);
  });
  // As occbench does, each finishes what it has in hand.
  const ExitStatus status =
      run("stop() { row b; echo $gpu stopped; exit 2; }; trap stop INT\n"
          "begin; row a; touch begun$gpu; for i in {1..600}; do sleep 0.1; done");
  user.join();
  EXPECT_EQ(status, ExitStatus::no_verdict);
  EXPECT_EQ(rows().size(), 6U);
  for (const char* const line : {"gpu 0: 0 stopped", "gpu 1: 1 stopped", "gpu 2: 2 stopped"})
    EXPECT_THAT(out_.str(), HasSubstr(line));
  EXPECT_THAT(err_.str(), HasSubstr("interrupted"));
  EXPECT_THAT(err_.str(), Not(HasSubstr("failed")));
}

/// A terminal interrupts all processes of its foreground: who is told twice may give up what it would finish.
TEST_F(OnEachGpu, CtrlCOfATerminalComesOnce) {
  each_.gpus.resize(1);
  int terminal = -1;
  const pid_t process = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(process, 0);
  if (process == 0) {
    static_cast<void>(
        run("begin; trap 'echo told >> interrupts' INT; touch begun; for i in {1..30}; do sleep 0.05; done"));
    ::_exit(0);
  }
  while (!fs::exists(path("begun"))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(::write(terminal, "\003", 1), 1);
  int ending = 0;
  ::waitpid(process, &ending, 0);
  ::close(terminal);
  EXPECT_EQ(read_text(path("interrupts")), "told\n");
}

TEST_F(OnEachGpu, OutputThatABackgroundProcessKeepsOpenIsNotWaitedFor) {
  each_.gpus.resize(1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run("sleep 20 & echo $! > sleeper; seq 1 20000; printf end"), ExitStatus::done);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  ::kill(std::stoi(read_text(path("sleeper"))), SIGTERM);
  EXPECT_THAT(out_.str(), HasSubstr("gpu 0: 19999\ngpu 0: 20000\ngpu 0: end\n"));
}

TEST_F(OnEachGpu, ProcessesRunAtOnce) {
  const std::string wait_for_all =
      "begin; row a; touch begun$gpu; for i in {1..200}; do [[ -e begun0 && -e begun1 && -e begun2 "
      "]] && exit 0; sleep 0.05; done; exit 2";
  EXPECT_EQ(run(wait_for_all), ExitStatus::done) << err_.str();
}

TEST_F(OnEachGpu, LinesHaveTheGpusNumberAndOutputAndErrorsStayApart) {
  EXPECT_EQ(run("echo out of $gpu; echo err of $gpu >&2; printf 'no end'"), ExitStatus::done);
  EXPECT_THAT(out_.str(), HasSubstr("gpu 1: out of 1\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("err of")));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 1: err of 1\n"));
  EXPECT_THAT(out_.str(), HasSubstr("gpu 2: no end\n"));
}

TEST_F(OnEachGpu, EachHasFilesOfItsOwnAndTheArgumentsOfAll) {
  each_.arguments = {"--filter=^(a|b)$", "--", "command", "--out", "x y"};
  each_.outputs = {{"--timeline", path("over_time")}, {"--per-sm", ""}};
  each_.gpus.resize(1);
  run("printf '%s\\n' \"$@\"");
  std::string told;
  for (const std::string& argument :
       {std::string("run"), std::string("--device=0"), "--out=" + file(0).string(),
        "--timeline=" + path("over_time.gpu0").string(), std::string("--filter=^(a|b)$"), std::string("--"),
        std::string("command"), std::string("--out"), std::string("x y")})
    told += "gpu 0: " + argument + "\n";
  EXPECT_THAT(out_.str(), HasSubstr(told));
}

TEST(ArgumentsOfACommand, MakeAnotherProcessDoTheSame) {
  const auto declared = [](CLI::App& parser) {
    struct Options {
      std::string filter, out;
      std::vector<std::string> metrics;
      bool resume = false, calibrate = false;
      int top = 3;
    };
    const auto options = std::make_shared<Options>();
    parser.add_option("--filter", options->filter);
    parser.add_option("-o,--out", options->out);
    parser.add_option("--metrics", options->metrics)->delimiter(',');
    parser.add_flag("--resume", options->resume);
    parser.add_flag("--calibrate", options->calibrate);
    parser.add_option("--top", options->top);
    return options;
  };
  for (const std::string filter : {" a=(1|2) ", "", "-x", "--top", "--", "[ab]", "a,b", "=", "{}"}) {
    CLI::App first;
    const auto given = declared(first);
    // The last one first.
    first.parse(std::vector<std::string>{"5", "--top", "--resume", "a.sum,b.avg", "--metrics", "f", "-o",
                                         filter, "--filter"});
    std::vector<std::string> arguments = arguments_of(first, std::vector<std::string>{"--out"});
    CLI::App second;
    const auto again = declared(second);
    second.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    EXPECT_EQ(again->filter, filter);
    EXPECT_EQ(again->top, 5);
    EXPECT_EQ(again->metrics, given->metrics);
    EXPECT_TRUE(again->resume);
    EXPECT_FALSE(again->calibrate);
    EXPECT_EQ(again->out, "");
  }
}

}  // namespace
}  // namespace occbench
