#include "cli/each_device.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/child_process.hpp"
#include "occupancy/input_error.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kRehearsedRows = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/full.csv";

Row row_of(int gpu, const std::string& name) {
  Row row;
  row.schema = 2;
  row.experiment = "fake";
  row.case_ = name;
  row.gpu_uuid = fmt::format("GPU-{}", gpu);
  row.device_index = gpu;
  return row;
}

/// The program is a shell script here: it is told its GPU and where its rows go.
class OnEachGpu : public ::testing::Test {
 protected:
  OnEachGpu() {
    each_.program = folder_.path() / "program";
    each_.command = "run";
    each_.rows = folder_.path() / "rows.csv";
    each_.gpus = {{0, "GPU-0", ""}, {1, "GPU-1", ""}, {2, "GPU-2", ""}};
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
  each_.resuming = "occbench run --resume";
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

TEST_F(OnEachGpu, AProcessThatIsKilledInTheMiddleOfARowKeepsTheRowsBeforeIt) {
  EXPECT_EQ(run("begin; row a; [[ $gpu == 2 ]] && { printf '2,half' >> $out; kill -9 $$; }; row b"),
            ExitStatus::no_verdict);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a", "GPU-0 b", "GPU-1 a", "GPU-1 b", "GPU-2 a"));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 2 failed (GPU-2): signal 9"));
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
  try {
    run("begin; row a");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("1 row"));
    EXPECT_THAT(error.what(), HasSubstr("fake/a of GPU-2"));
    EXPECT_THAT(error.what(), HasSubstr("another file"));
  }
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

TEST_F(OnEachGpu, ProcessesRunAtOnceUnlessOneAfterAnotherIsAskedFor) {
  const std::string wait_for_all =
      "begin; touch begun$gpu; for i in {1..200}; do [[ -e begun0 && -e begun1 && -e begun2 "
      "]] && exit 0; sleep 0.05; done; exit 2";
  EXPECT_EQ(run(wait_for_all), ExitStatus::done) << err_.str();
  each_.at_once = false;
  EXPECT_EQ(run("begin; mkdir running || exit 2; sleep 0.1; rmdir running; echo $gpu >> order"),
            ExitStatus::done)
      << err_.str();
  EXPECT_EQ(read_text(path("order")), "0\n1\n2\n");
}

TEST_F(OnEachGpu, CtrlCBetweenGpusThatWaitForEachOtherBeginsNoOther) {
  each_.at_once = false;
  EXPECT_EQ(run(fmt::format("begin; row a; kill -INT {}; sleep 0.3; exit 0", ::getpid())),
            ExitStatus::no_verdict);
  EXPECT_THAT(rows(), ElementsAre("GPU-0 a"));
}

TEST_F(OnEachGpu, LinesHaveTheGpusNumberAndOutputAndErrorsStayApart) {
  each_.rows.clear();
  EXPECT_EQ(run("echo out of $gpu; echo err of $gpu >&2; printf '10 %%\\r20 %%\\nno end'"), ExitStatus::done);
  EXPECT_THAT(out_.str(), HasSubstr("gpu 1: out of 1\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("err of")));
  EXPECT_THAT(err_.str(), HasSubstr("gpu 1: err of 1\n"));
  EXPECT_THAT(out_.str(), HasSubstr("gpu 2: 20 %\n"));
  EXPECT_THAT(out_.str(), HasSubstr("gpu 2: no end\n"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("\r")));
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

TEST_F(OnEachGpu, EachRunsOnTheCoresNearItsGpu) {
  cpu_set_t allowed{};
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed)) ++core;
  fs::create_directories(path("devices") / "0000:3b:00.0");
  std::ofstream(path("devices") / "0000:3b:00.0" / "local_cpulist") << core << '\n';
  each_.pci_devices = path("devices");
  each_.gpus = {{0, "GPU-0", "0000:3b:00.0"}, {1, "GPU-1", "0000:5e:00.0"}};
  each_.rows.clear();
  run("nproc; [[ $gpu == 0 ]] && grep Cpus_allowed_list /proc/self/status");
  EXPECT_THAT(out_.str(), HasSubstr("gpu 0: 1\n"));
  EXPECT_THAT(out_.str(), HasSubstr(fmt::format("gpu 0: Cpus_allowed_list:\t{}\n", core)));
  EXPECT_THAT(out_.str(), HasSubstr(fmt::format("gpu 1: {}\n", CPU_COUNT(&allowed))));
}

TEST_F(OnEachGpu, ATracedCommandGetsItsWordsAsTheyWereTyped) {
  each_.program = OCCBENCH_PROGRAM;
  each_.command = "trace";
  each_.arguments = {"--", "printf", "<%s>", "[1,2]", "a b", "", "[]", "--device", "0"};
  each_.gpus.resize(1);
  Console console{out_, err_};
  run_on_each(each_, console);
  EXPECT_THAT(out_.str(), HasSubstr("gpu 0: <[1,2]><a b><><[]><--device><0>\n"));
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
  CLI::App first;
  const auto given = declared(first);
  first.parse(
      std::vector<std::string>{"--resume", "a.sum,b.avg", "--metrics", "f", "-o", "--filter= a=(1|2) "});
  std::vector<std::string> arguments = arguments_of(first, std::vector<std::string>{"--out"});
  CLI::App second;
  const auto again = declared(second);
  second.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  EXPECT_EQ(again->filter, given->filter);
  EXPECT_EQ(again->metrics, given->metrics);
  EXPECT_TRUE(again->resume);
  EXPECT_FALSE(again->calibrate);
  EXPECT_EQ(again->out, "");
}

TEST(SeveralGpus, ACommandThatMeasuresRefusesAWrongListBeforeItMeasures) {
  for (const auto& arguments :
       std::vector<std::vector<const char*>>{{"run", "--rehearse", kRehearsedRows.c_str(), "--device", "0,0"},
                                             {"calibrate", "--device", "0,0"},
                                             {"validate", "--device", "0,0"},
                                             {"trace", "--device", "0,0", "--", "true"}}) {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr("--device 0,0: GPU 0 stands there twice")) << arguments[0];
  }
}

/// The program itself, whose rows are predicted.
class RehearsedOnEachGpu : public ::testing::Test {
 protected:
  Ending occbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "--rehearse", kRehearsedRows, "--filter", "^waves/"});
    fs::remove(said_);
    return ChildProcess(OCCBENCH_PROGRAM, arguments, said_).wait();
  }
  std::set<std::string> gpus() const {
    std::set<std::string> all;
    for (const Row& row : read_rows(rows_))
      all.insert(fmt::format("{} {}", row.gpu_uuid.back(), *row.device_index));
    return all;
  }

  TemporaryFolder folder_;
  fs::path said_ = folder_.path() / "said";
  fs::path rows_ = folder_.path() / "rows.csv";
};

TEST_F(RehearsedOnEachGpu, EveryGpuHasTheRowsOfItsSingleRun) {
  EXPECT_EQ(occbench({"--device", "0,2", "--out", rows_}), Ending{}) << read_text(said_);
  EXPECT_THAT(gpus(), UnorderedElementsAre("0 0", "2 2"));
  const fs::path single = folder_.path() / "single.csv";
  occbench({"--device", "2", "--out", single});
  std::vector<Row> merged = read_rows(rows_);
  std::erase_if(merged, [](const Row& row) { return row.device_index != 2; });
  const std::vector<Row> alone = read_rows(single);
  ASSERT_EQ(merged.size(), alone.size());
  ASSERT_FALSE(alone.empty());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    merged[i].recorded_at = alone[i].recorded_at;
    EXPECT_EQ(csv_record(merged[i]), csv_record(alone[i]));
  }
}

TEST_F(RehearsedOnEachGpu, OneThatWasCutOffIsResumed) {
  occbench({"--device", "0,1", "--out", rows_});
  const std::string whole = read_text(rows_);
  const fs::path cut = file_of_gpu(rows_, 1);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  fs::remove(rows_);
  EXPECT_EQ(occbench({"--device", "0,1", "--one-after-another", "--resume", "--out", rows_}), Ending{});
  EXPECT_EQ(read_rows(rows_).size(), parse_rows(whole, "before").size());
}

TEST_F(RehearsedOnEachGpu, CasesAreListedOnce) {
  EXPECT_EQ(occbench({"--device", "0,1", "--list"}), Ending{});
  const std::string several = read_text(said_);
  occbench({"--device", "0", "--list"});
  EXPECT_EQ(several, read_text(said_));
}

TEST_F(RehearsedOnEachGpu, AllNeedsNumbersInstead) {
  EXPECT_EQ(occbench({"--device", "all", "--out", rows_}), (Ending{.status = 64}));
  EXPECT_THAT(read_text(said_), HasSubstr("name numbers"));
}

}  // namespace
}  // namespace occbench
