#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "files/descriptor.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "message_of.hpp"
#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/devices.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Command, ListsEverySubcommandOnHelp) {
  const Outcome help = run_command("--help");
  EXPECT_EQ(help.status, ExitStatus::done);
  for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr(command.name));
  EXPECT_THAT(help.err, IsEmpty());
}

TEST(Command, HelpFitsATerminalOf120Columns) {
  for (const Command& command : commands()) {
    std::istringstream help(run_command({std::string(command.name).c_str(), "--help"}).out);
    int options = 0;
    for (std::string line; std::getline(help, line);) {
      if (!line.starts_with("  ")) continue;
      ++options;
      EXPECT_LE(line.size(), 120) << command.name << line;
    }
    EXPECT_GT(options, 0) << command.name;
  }
}

TEST(Command, EndsWith64OnWrongUseAndPrintsNoData) {
  for (const std::string wrong :
       {"", "calculate", "calc --blocksize 32", "calc --block-size many", "calc --format xml", "report"}) {
    const Outcome outcome = run_command(wrong);
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("occbench: "));
  }
}

TEST(Command, WithoutAGpuNothingIsMeasuredAndItSaysWhatShowsRecordedRows) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  for (const char* words :
       {"run", "run --list", "run --out no_such_place.csv", "run --benches no_such_place"}) {
    const Outcome outcome = run_command(words);
    EXPECT_EQ(outcome.status, ExitStatus::no_verdict);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err,
                AllOf(AnyOf(HasSubstr("nothing is measured: "), HasSubstr("depends on the GPU: ")),
                      HasSubstr("`occbench explain` shows recorded rows")));
  }
}

TEST(Command, NoOutputTakesThePlaceOfAFileOfAnotherKind) {
  const TemporaryFolder folder;
  const std::string rows = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/calibration.csv";
  for (const char* text : {"dear diary\n", "experiment,case,quantity,index,value\n"}) {
    const std::filesystem::path file = folder.path() / "kept";
    replace_text(file, text);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"calibrate", "--rows", rows, "--out", file},
          {"report", rows, "--output", file},
          {"fleet", rows, "--page", file}}) {
      const Outcome outcome = run_command(command);
      EXPECT_EQ(outcome.status, ExitStatus::usage) << command.front();
      EXPECT_THAT(outcome.err, HasSubstr("a file of another kind is there already"));
      EXPECT_EQ(read_text(file), text);
    }
  }
}

TEST(Command, AMergeThatIsInterruptedLeavesNothing) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);  // it may have ended before it is written to
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    const std::string rows = folder.path() / "rows.csv";
    ASSERT_EQ(::mkfifo(rows.c_str(), 0600), 0);
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(static_cast<int>(run_command({"merge", rows, "-o", folder.path() / "all.csv"}).status));
    Descriptor writer(::open(rows.c_str(), O_WRONLY));
    ASSERT_TRUE(write_all(writer.number(), csv_header()));
    ::kill(child, signal);
    Row row;
    row.schema = kSchema;
    row.case_ = "a";
    static_cast<void>(write_all(writer.number(), csv_record(row)));
    ASSERT_TRUE(writer.close());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitStatus::no_verdict));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  }
  ::signal(SIGPIPE, before);
}

TEST(Command, RefusesAnEmptyWord) {
  for (const char* name :
       {"calc", "predict", "explain", "gate", "merge", "report", "sweep", "fleet", "trace"}) {
    const Outcome outcome = run_command({name, "", "--grid", "5"});
    EXPECT_EQ(outcome.status, ExitStatus::usage) << name;
    EXPECT_THAT(outcome.err, HasSubstr("one of the arguments is empty")) << name;
  }
}

/// As of a variable of a script that is not set: the next word is not taken for the value.
TEST(Command, RefusesAnEmptyValue) {
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"fleet", "--baseline=", "a.csv", "b.csv"}, Words{"merge", "--out=", "a.csv", "b.csv"},
        Words{"merge", "-o=", "a.csv"}, Words{"explain", "--filter=", "a.csv"}}) {
    const Outcome outcome = run_command(words);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << words[1];
    EXPECT_THAT(outcome.err, HasSubstr(words[1] + " has no value: give one, or leave it out"));
  }
  for (const Words& words : {Words{"gate", "--tolerances", "", "a.csv", "b.csv"}, Words{"run", "--out", ""},
                             Words{"fleet", "--page", "", "a.csv"}}) {
    const Outcome outcome = run_command(words);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << words[1];
    EXPECT_THAT(outcome.err, HasSubstr(words[1] + " is empty: give a value, or leave it out"));
  }
}

TEST(Command, NamesTheWordThatWasWrong) {
  EXPECT_THAT(run_command("calculate --cc 9.0").err,
              HasSubstr("there is no command 'calculate'; there are run, "));
  EXPECT_THAT(run_command("--calc").err, HasSubstr("there is no command '--calc'"));
  EXPECT_THAT(run_command("").err, HasSubstr("a command is needed; there are run, "));
  EXPECT_THAT(run_command("calc more").err, HasSubstr("not expected: more"));
  EXPECT_THAT(run_command("calc --cc 9.0 --blocksize 256").err,
              HasSubstr("not expected: --blocksize; the nearest option is --block-size"));
  EXPECT_THAT(run_command("calc --cc 9.0 --threads 256").err,
              HasSubstr("the nearest option is --block-size"));
  for (const char* number : {"many", "12.5", "99999999999"}) {
    EXPECT_THAT(
        run_command({"calc", "--block-size", number}).err,
        HasSubstr(fmt::format("--block-size = '{}' is not a whole number from 0 to 2147483647", number)));
  }
}

TEST(Command, NamesAnUnknownOptionBeforeAnythingElseThatIsWrong) {
  const auto names = [](const std::string& words, const std::string& option, const std::string& nearest) {
    EXPECT_THAT(refusal(words),
                HasSubstr(fmt::format("not expected: {}{}", option,
                                      nearest.empty() ? " (" : "; the nearest option is " + nearest)))
        << words;
  };
  names("gate a b --html x", "--html", "--");
  names("gate a b --tolerance t.json", "--tolerance", "--tolerances");
  names("gate a b --tolerance=t.json", "--tolerance", "--tolerances");
  names("gate a b -o x", "-o", "");
  names("gate a b -ox", "-o", "");
  names("merge a --ouput b", "--ouput", "--output");
  names("explain a --fliter waves", "--fliter", "--filter");
  names("calc --block-size many --cards 1", "--cards", "--");
}

TEST(Command, TakesAnOutputByOneNameEverywhere) {
  for (const std::string command : {"merge", "report"})
    EXPECT_THAT(refusal(command + " /nowhere.csv --out x"), HasSubstr("/nowhere.csv"));
}

TEST(Command, WithoutAGpuDevicesAreListedInNoFormat) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(run_command("devices --format json").status, ExitStatus::no_verdict);
}

TEST(Command, TakesNoValueOfAnOptionForAnOption) {
  EXPECT_THAT(printed("columns --max-size 1K --format csv"), HasSubstr("achieved_pct"));
  EXPECT_THAT(refusal("explain --profile --lst --filter waves=0.75"), HasSubstr("no device profile '--lst'"));
  EXPECT_THAT(refusal("calc --cc 9.0 --block-size -5 --registers 32"), HasSubstr("--block-size = '-5'"));
  EXPECT_THAT(printed("gate --help --html"), HasSubstr("--tolerances-from"));
}

// Octal, hexadecimal, empty, infinite and too large: each command refuses them, by name, before it does anything.
TEST(Options, ThatAreNumbersAreDecimalWholeInRangeAndNeverEmpty) {
  struct Numbers {
    std::string command, whole, real;
  };
  for (const Numbers& numbers : {
           Numbers{"calc --cc 9.0",
                   "--block-size --registers --carveout --barriers --cluster --grid --sm-count", ""},
           {"calc --cc 9.0 --block-size 64 --registers 32", "--gpc-sms", ""},
           {"predict --gpu h200", "--block-size --registers --carveout --cluster --grid --seed --first-gpc",
            "--time-us --sm-cycles-active-avg --clock-mhz"},
           {"explain --cc 9.0",
            "--block-size --registers --grid --carveout --cluster --barriers --sm-count --top",
            "--achieved --time-us"},
           {"gate --pair a b", "--pairs", ""},
           {"trace --import x.json", "--top", "--clock-mhz"},
           {"trace", "--after", ""},
           {"run", "--device", ""},
           {"calibrate", "--device", ""},
           {"sweep spin", "--device", ""},
       }) {
    const auto refuses = [&](const std::string& option, const char* value) {
      std::vector<std::string> arguments = words_of(numbers.command);
      arguments.insert(arguments.end(), {option, value});
      const Outcome outcome = run_command(arguments);
      EXPECT_THAT(refusal(outcome), HasSubstr(option)) << "'" << value << "'";
      EXPECT_THAT(outcome.out, IsEmpty());
    };
    for (const std::string& option : words_of(numbers.whole)) {
      for (const char* value : {"", " ", "1.5", "0x10", "1e3", "99999999999999999999", "12x", "+"})
        refuses(option, value);
    }
    for (const std::string& option : words_of(numbers.real)) {
      for (const char* value : {"", "inf", "nan", "0x1p3", "1e999", "many"}) refuses(option, value);
    }
  }
}

TEST(Options, WithALeadingZeroAreDecimal) {
  const auto answer_for = [](const char* threads) {
    return run_command(
               {"calc", "--cc", "9.0", "--block-size", threads, "--registers", "32", "--format", "csv"})
        .out;
  };
  EXPECT_EQ(answer_for("0256"), answer_for("256"));
  EXPECT_NE(answer_for("0256"), answer_for("174")) << "octal";
}

Outcome predict_for(std::string_view gpu, int block_size = 256, int grid = 2000,
                    const char* format = "json") {
  return run_command(
      fmt::format("predict {} --block-size {} --grid {} --registers 32 --work equal:200000 --format {}", gpu,
                  block_size, grid, format));
}

TEST(GpuOption, ANameOfTheTableGivesCapabilityAndSms) {
  const json answer = json::parse(printed(predict_for("--gpu a100-sxm4-80gb")));
  EXPECT_EQ(answer.at("gpu"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(answer.at("compute_capability"), "8.0");
  EXPECT_EQ(answer.at("sm_count"), 108);
}

TEST(GpuOption, AGpuThatNobodyCalibratedIsUnverifiedWithARange) {
  const json answer = json::parse(predict_for("--gpu a100-sxm4-80gb").out);
  EXPECT_EQ(answer.at("profile_quality"), "generic");
  EXPECT_THAT(answer.at("note").get<std::string>(), HasSubstr("unverified"));
  EXPECT_LT(answer.at("predicted_low_pct"), answer.at("predicted_pct"));
  EXPECT_GT(answer.at("predicted_high_pct"), answer.at("predicted_pct"));
  EXPECT_THAT(predict_for("--gpu a100-sxm4-80gb", 256, 2000, "table").out, HasSubstr("unverified"));
}

TEST(GpuOption, AModelWithABuiltInProfileHasItsOwn) {
  const json answer = json::parse(predict_for("--gpu h200").out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (calibrated_model)");
  EXPECT_EQ(answer.at("profile_quality"), "calibrated_model");
  EXPECT_FALSE(answer.contains("note"));
}

TEST(GpuOption, AProfileForAnotherGpuIsGenericForIt) {
  const json answer = json::parse(predict_for("--gpu h100-sxm5-80gb --profile h200").out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (generic)");
  EXPECT_EQ(answer.at("profile_quality"), "generic");
}

TEST(GpuOption, ANameOfTheTableGivesTheClockThatATimeIsMeasuredIn) {
  const auto work_of = [](const std::string& more) {
    const std::string launch =
        "--gpu a100-sxm4-80gb --block-size 256 --grid 864 --registers 32 --time-us 100";
    return json::parse(printed("predict --format json " + launch + more)).at("work");
  };
  EXPECT_EQ(work_of(""), work_of(" --clock-mhz 1410"));
  EXPECT_NE(work_of(""), work_of(" --clock-mhz 700"));
}

// The worked example wave-15sm-45: 45 blocks on 15 SMs that hold four each.
TEST(GpuOption, FortyFiveBlocksOn15SmsOfFourBlocksComeOutAt75Percent) {
  const json answer = json::parse(printed(predict_for("--cc 3.5 --sm-count 15", 512, 45)));
  EXPECT_EQ(answer.at("blocks_per_sm"), 4);
  EXPECT_NEAR(answer.at("predicted_pct").get<double>(), 75, 0.1);
  EXPECT_NEAR(answer.at("predicted_low_pct").get<double>(), 75, 0.3);
  EXPECT_LT(answer.at("predicted_low_pct"), answer.at("predicted_pct"));
  EXPECT_LE(answer.at("predicted_high_pct").get<double>(), 75);
}

TEST(GpuOption, WrongNamesAndMissingSmsAreRefusedWithTheRemedy) {
  const auto refused = [](const char* gpu, const char* because) {
    EXPECT_THAT(refusal(predict_for(gpu)), HasSubstr(because));
  };
  refused("--gpu a1000", "the nearest are");
  refused("--cc 8.0", "--sm-count N");
  refused("--cc 8.8 --sm-count 10", "8.8");
  refused("--cc 8.0 --sm-count 0", "--sm-count = '0' is not a whole number from 1 to 1024");
  refused("--cc 8.0 --sm-count 2000", "1 to 1024");
  refused("--gpu h200 --cc 9.0", "--gpu");
  refused("--gpu h200 --sm-count 10", "--gpu");
}

TEST(GpuOption, CalcTakesANameForItsCapabilityAndSms) {
  const auto waves = [](const std::string& gpu) {
    return json::parse(printed("calc --block-size 256 --registers 32 --grid 864 --format json " + gpu));
  };
  json by_name = waves("--gpu a100-sxm4-80gb");
  EXPECT_EQ(by_name.at("waves"), 1);
  EXPECT_EQ(by_name.at("gpu"), "a100-sxm4-80gb");
  by_name["gpu"] = nullptr;
  EXPECT_EQ(by_name, waves("--cc 8.0 --sm-count 108"));
}

TEST(GpuOption, ANameThatSeveralGpusShareServesWhereTheyAgree) {
  const auto calculate = [](const char* gpu, const char* grid) {
    return run_command({"calc", "--gpu", gpu, "--block-size", "256", "--grid", grid});
  };
  // 108 SMs in each A100; 114 or 132 in an H100.
  EXPECT_THAT(calculate("a100", "864").out,
              AllOf(HasSubstr("a100, compute"), HasSubstr("864 blocks: 1 wave\n")));
  EXPECT_THAT(printed("calc --gpu 4090 --block-size 256"), HasSubstr("rtx-4090, compute capability 8.9"));
  EXPECT_THAT(printed("calc --gpu 3080 --block-size 256"), HasSubstr("3080, compute capability 8.6"));
  EXPECT_THAT(printed("calc --gpu h100 --block-size 256"), HasSubstr("h100, compute capability 9.0"));
  EXPECT_THAT(refusal(calculate("h100", "864")),
              AllOf(HasSubstr("h100-pcie-80gb (114 SMs"), HasSubstr("name one of them")));
  EXPECT_THAT(predict_for("--gpu h100").err, HasSubstr("name one of them"));
  EXPECT_THAT(run_command("explain --gpu h100 --block-size 256 --grid 600 --registers 72 --achieved 31").err,
              HasSubstr("name one of them"));
}

TEST(GpuOption, TheListHasEachGpuUnderANameThatIsTaken) {
  const Outcome outcome = run_command("calc --gpu list --format json");
  const json gpus = json::parse(outcome.out);
  EXPECT_EQ(gpus.size(), all_gpus().size());
  for (const json& gpu : gpus)
    EXPECT_EQ(gpu_of(gpu.at("name").get<std::string>()).sm_count, gpu.at("sm_count"));
}

const std::vector<GpuHere> kThree = {{0, "GPU-a"}, {1, "GPU-b"}, {2, "GPU-c"}};

std::vector<int> numbers(const std::string& choice,
                         const std::optional<std::vector<GpuHere>>& here = kThree) {
  std::vector<int> all;
  for (const GpuHere& gpu : listed_gpus(choice, here)) all.push_back(gpu.index);
  return all;
}

std::string why_not_listed(const std::string& choice,
                           const std::optional<std::vector<GpuHere>>& here = kThree) {
  return message_of([&] { static_cast<void>(listed_gpus(choice, here)); });
}

TEST(DeviceList, AllIsEveryGpuOfTheMachineAndAListIsInItsOwnOrder) {
  EXPECT_THAT(numbers("all"), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers("2,0"), ElementsAre(2, 0));
  EXPECT_EQ(listed_gpus("2,0", kThree)[1].uuid, "GPU-a");
}

TEST(DeviceList, AutoAndOneNumberNameNoList) {
  EXPECT_THAT(numbers("auto"), IsEmpty());
  EXPECT_THAT(numbers("1"), IsEmpty());
  EXPECT_THAT(numbers("7"), IsEmpty());
}

TEST(DeviceList, WithoutAGpuThereIsNoneToListButAWrongListIsRefused) {
  EXPECT_THAT(numbers("all", std::vector<GpuHere>()), IsEmpty());
  EXPECT_THAT(numbers("0,1", std::vector<GpuHere>()), IsEmpty());
  EXPECT_THAT(why_not_listed("0,x", std::vector<GpuHere>()), HasSubstr("'x'"));
}

TEST(DeviceList, RefusesGpusThatAreNotThereOrTwiceWithTheLimitAndTheRemedy) {
  EXPECT_THAT(why_not_listed("0,3"), AllOf(HasSubstr("--device 0,3"), HasSubstr("no GPU 3"),
                                           HasSubstr("has 3 (0 to 2)"), HasSubstr("occbench devices")));
  EXPECT_THAT(why_not_listed("1,0,1"), AllOf(HasSubstr("GPU 1"), HasSubstr("twice"), HasSubstr("once")));
}

TEST(DeviceList, RefusesWhatIsNoNumber) {
  for (const char* const choice :
       {"0,", ",0", ",", "0,,1", "0,a", "0,1.5", "0,-1", "0,auto", "0, 1", "0,99999999999"})
    EXPECT_THAT(why_not_listed(choice), HasSubstr("a list such as 0,2")) << choice;
}

TEST(DeviceList, HasAnyNumbersWhereNoGpuIsLookedForButNotAll) {
  EXPECT_THAT(numbers("5,70", std::nullopt), ElementsAre(5, 70));
  EXPECT_THAT(why_not_listed("all", std::nullopt), HasSubstr("name numbers"));
}

/// @param words  without the command's name
std::string resumed(const std::string& name, Action (*declare)(CLI::App&), std::vector<std::string> words) {
  CLI::App parser("", name);
  const Action unused = declare(parser);
  std::ranges::reverse(words);
  parser.parse(words);
  return resuming_command(parser, "rows.csv");
}

TEST(ResumedCommand, IsTheSameWithItsFileAndResume) {
  EXPECT_EQ(resumed("run", declare_run,
                    {"--suite", "full", "--filter", "waves=(1|2)", "--profile", "my.profile", "--metrics",
                     "a.sum,b.avg", "--timeline", "it's here", "--out", "old.csv"}),
            "occbench run --suite full --filter 'waves=(1|2)' --profile my.profile "
            "--metrics a.sum,b.avg --timeline 'it'\\''s here' --out rows.csv --resume");
}

TEST(ResumedCommand, OfASweepHasItsKernelAndAxes) {
  EXPECT_EQ(
      resumed("sweep", declare_sweep,
              {"spin", "--check-against", "naive<<<64,256>>>", "--tolerance", "0.01", "--block-size",
               "16x16,{TILE}x8", "--where", "block_size.x > 8", "--zip", "--counters", "off", "--arg",
               "float[4]", "--arg", "int=5"}),
      "occbench sweep spin --block-size '16x16,{TILE}x8' --zip --where 'block_size.x > 8' "
      "--arg 'float[4]' --arg int=5 --check-against 'naive<<<64,256>>>' --tolerance 0.01 --counters off "
      "--out rows.csv --resume");
}

const std::string kRehearsedRows = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/full.csv";

TEST(SeveralGpus, ACommandThatMeasuresRefusesAWrongListBeforeItMeasures) {
  for (const auto& arguments :
       std::vector<std::vector<const char*>>{{"run", "--rehearse", kRehearsedRows.c_str(), "--device", "0,0"},
                                             {"calibrate", "--device", "0,0"},
                                             {"validate", "--device", "0,0"}}) {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << arguments[0];
    EXPECT_THAT(outcome.err, HasSubstr("--device 0,0: GPU 0 stands there twice")) << arguments[0];
  }
  for (const char* command : {"calibrate", "validate"}) {
    for (const char* several : {"all", "0,1"}) {
      const Outcome outcome = run_command({command, "--device", several});
      EXPECT_EQ(outcome.status, ExitStatus::usage) << command;
      EXPECT_THAT(outcome.err, HasSubstr("one GPU is measured; give its number, or auto")) << command;
    }
  }
}

/// The program itself, whose rows are predicted.
class RehearsedOnEachGpu : public ::testing::Test {
 protected:
  Ending occbench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", "--rehearse", kRehearsedRows, "--filter", "^waves/"});
    fs::remove(said_);
    return ChildProcess(ProgramStart{OCCBENCH_PROGRAM, arguments, said_}).wait();
  }
  std::set<std::string> gpus() const {
    std::set<std::string> all;
    for (const Row& row : read_rows(rows_)) all.insert(row.gpu_uuid.substr(row.gpu_uuid.rfind('-')));
    return all;
  }

  TemporaryFolder folder_;
  fs::path said_ = folder_.path() / "said";
  fs::path rows_ = folder_.path() / "rows.csv";
};

TEST_F(RehearsedOnEachGpu, EveryGpuHasTheRowsOfItsSingleRun) {
  EXPECT_EQ(occbench({"--device", "0,2", "--out", rows_}), Ending{}) << read_text(said_);
  EXPECT_THAT(gpus(), UnorderedElementsAre("-0", "-2"));
  const fs::path single = folder_.path() / "single.csv";
  occbench({"--device", "2", "--out", single});
  std::vector<Row> merged = read_rows(rows_);
  std::erase_if(merged, [](const Row& row) { return !row.gpu_uuid.ends_with("-2"); });
  const std::vector<Row> alone = read_rows(single);
  ASSERT_EQ(merged.size(), alone.size());
  ASSERT_FALSE(alone.empty());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    merged[i].recorded_at = alone[i].recorded_at;
    EXPECT_EQ(csv_record(merged[i]), csv_record(alone[i]));
  }
}

/// As a rebuild in the middle of a run does.
TEST_F(RehearsedOnEachGpu, TheProgramMayBeDeletedMeanwhile) {
  const fs::path program = folder_.path() / "occbench";
  fs::copy_file(OCCBENCH_PROGRAM, program);
  const std::vector<std::string> arguments = {"run",      "--rehearse", kRehearsedRows, "--filter", "^waves/",
                                              "--device", "0,1",        "--out",        rows_};
  ChildProcess process(ProgramStart{program, arguments, said_});
  fs::remove(program);
  EXPECT_EQ(process.wait(), Ending{}) << read_text(said_);
  EXPECT_THAT(gpus(), UnorderedElementsAre("-0", "-1"));
}

TEST_F(RehearsedOnEachGpu, OneThatWasCutOffIsResumed) {
  occbench({"--device", "0,1", "--out", rows_});
  const std::string whole = read_text(rows_);
  const fs::path cut = file_of_gpu(rows_, 1);
  fs::resize_file(cut, fs::file_size(cut) / 2);
  fs::remove(rows_);
  EXPECT_EQ(occbench({"--device", "0,1", "--resume", "--out", rows_}), Ending{});
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
