#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utility>
#include <vector>
#include <zlib.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "gate/outputs.hpp"
#include "in_a_child.hpp"
#include "made_up_run.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

class GateCommand : public testing::Test {
 protected:
  std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  std::string write_run(const std::string& name, const MadeUpRun& run) const {
    write(name + ".csv", run.rows_text());
    return path(name + ".csv");
  }

  int gate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "gate");
    const Outcome outcome = run_command(arguments);
    out_ = outcome.out;
    err_ = outcome.err;
    return static_cast<int>(outcome.status);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  std::string out_, err_;
};

MadeUpRun with_regressions(int count) {
  return made_up_run(count).with([](MadeUpRun& run) {
    for (Row& row : run.rows) injected::two_more_registers(row);
  });
}

TEST_F(GateCommand, OfARegressionNamesTheCommandThatSaysWhyAndItAnswers) {
  const std::string before = write_run("before", made_up_run());
  const std::string after = write_run("after", with_regressions(1));
  EXPECT_EQ(gate({before, after}), 1);
  const std::string begin = "Causes and remedies of the first: occbench explain " + after + " --filter '";
  const std::size_t at = out_.find(begin);
  ASSERT_NE(at, std::string::npos) << out_;
  const std::string filter =
      out_.substr(at + begin.size(), out_.find('\'', at + begin.size()) - at - begin.size());
  const Outcome explained = run_command(std::vector<std::string>{"explain", after, "--filter", filter});
  EXPECT_THAT(explained.err, HasSubstr("1 of 1 rows"));
  EXPECT_EQ(gate({before, before}), 0);
  EXPECT_THAT(out_, testing::Not(HasSubstr("Causes and remedies")));
}

TEST_F(GateCommand, OfATimeThatIsWorseAtTheSameOccupancyNamesWhatElseChanged) {
  const auto counted = [](MadeUpRun run, double mhz) {
    run.rows[0].sm_clock_mhz = mhz;
    run.rows[0].issue_active_pct = 30;
    return run;
  };
  const std::string before = write_run("before", counted(made_up_run(), 1980));
  MadeUpRun slower = made_up_run();
  slower.slow_down(0, 1.3);
  EXPECT_EQ(gate({before, write_run("after", counted(slower, 1500))}), 1);
  EXPECT_THAT(out_, HasSubstr("Occupancy does not explain the first; clock, memory or instructions may: "
                              "sm_clock_mhz 1980 -> 1500, issue_active_pct 30 -> 30\n"));
  EXPECT_THAT(out_, testing::Not(HasSubstr("occbench explain")));
}

TEST_F(GateCommand, SaysWhichTolerancesConcernNothingAndRefusesThoseThatSayTwoThings) {
  const std::string run = write_run("a", made_up_run());
  write(
      "t.json",
      R"({"experiments": {"wavs": {"achieved_pct": {"limit": 50}}, "waves": {"achieved_pct": {"limit": 5}}}})");
  EXPECT_EQ(gate({"--tolerances", path("t.json"), run, run}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("the tolerances of 'wavs' were not used: no case is of that experiment; the "
                              "nearest are waves, block_size\n"));
  EXPECT_THAT(out_, testing::Not(HasSubstr("'waves'")));
  write("t.json", R"({"all": {"achieved_pct": {"limit": 1, "limit": 50}}})");
  EXPECT_EQ(gate({"--tolerances", path("t.json"), run, run}), 64);
  EXPECT_THAT(err_, HasSubstr("the key \"limit\" stands in an object twice"));
  EXPECT_EQ(gate({"--tolerances", run, run, run}), 64);
  EXPECT_THAT(err_, HasSubstr("a.csv is no file of tolerances"));
  EXPECT_THAT(err_, testing::Not(HasSubstr("json.exception")));
}

TEST_F(GateCommand, OfAnotherGpuOfTheModelSaysSo) {
  const auto write_of = [&](const std::string& name, const std::string& uuid) {
    const MadeUpRun run = made_up_run().with([&](MadeUpRun& made) {
      for (Row& row : made.rows) row.gpu_uuid = uuid;
    });
    return write_run(name, run);
  };
  const std::string before = write_of("before", "GPU-1");
  EXPECT_EQ(gate({before, write_of("now", "GPU-2")}), 0);
  const std::string note = "another GPU of this model: gpu_uuid GPU-1 -> GPU-2";
  EXPECT_THAT(out_, HasSubstr(note));
  for (const char* uuid : {"GPU-1", ""}) {
    EXPECT_EQ(gate({before, write_of("now", uuid)}), 0);
    EXPECT_THAT(out_, testing::Not(HasSubstr("another GPU"))) << uuid;
  }
}

TEST_F(GateCommand, EndsWith0OnAPass) {
  EXPECT_EQ(gate({write_run("a", made_up_run()), write_run("b", made_up_run())}), 0);
  EXPECT_THAT(out_, HasSubstr("pass: 4 cases"));
  EXPECT_EQ(err_, "");
}

TEST_F(GateCommand, ReadsSamplesThatGzipCompressed) {
  MadeUpRun run = made_up_run(1);
  const std::string baseline = write_run("a", run);
  *run.rows[0].achieved_elapsed_pct -= 2;
  const std::string candidate = write_run("b", run);
  EXPECT_EQ(gate({baseline, candidate}), 1);
  const std::string samples = scattering_samples(run.rows[0]);
  write("b.samples.csv", samples);
  EXPECT_EQ(gate({baseline, candidate}), 0) << "readings scatter by as much";
  const std::string compressed = path("b.samples.csv") + ".gz";
  gzFile file = gzopen(compressed.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, samples.data(), static_cast<unsigned>(samples.size())), std::ssize(samples));
  gzclose(file);
  fs::remove(path("b.samples.csv"));
  EXPECT_EQ(gate({baseline, candidate}), 0);
  fs::resize_file(compressed, fs::file_size(compressed) / 2);
  EXPECT_EQ(gate({baseline, candidate}), 64);
  EXPECT_THAT(err_, HasSubstr("b.samples.csv.gz: "));
}

TEST_F(GateCommand, EndsWith1OnARegressionHoweverManyThereAre) {
  const std::string baseline = write_run("a", made_up_run(1024));
  // 256 and 1024 are 0 in the eight bits of an exit status.
  for (const int count : {1, 256, 1000, 1024}) {
    EXPECT_EQ(gate({count == 1024 ? baseline : write_run("c", made_up_run(count)),
                    write_run("b", with_regressions(count))}),
              1)
        << count;
  }
}

TEST_F(GateCommand, EndsWith2WithoutAVerdict) {
  const std::string baseline = write_run("a", made_up_run());
  EXPECT_EQ(gate({path("none.csv"), baseline}), 2);
  EXPECT_THAT(out_, HasSubstr("no baseline: "));
  write("empty.csv", "");
  EXPECT_EQ(gate({baseline, path("empty.csv")}), 2);
  EXPECT_EQ(gate({path("empty.csv"), baseline}), 2);
  EXPECT_EQ(gate({baseline, write_run("b", made_up_run(3))}), 2);
}

TEST_F(GateCommand, ARegressionIsOneEvenWhereOtherCasesHaveNoVerdict) {
  MadeUpRun run = made_up_run(3);
  injected::two_more_registers(run.rows[0]);
  EXPECT_EQ(gate({write_run("a", made_up_run(4)), write_run("b", run)}), 1);
}

TEST_F(GateCommand, EndsWith64OnWhatCannotBeRead) {
  const std::string baseline = write_run("a", made_up_run());
  write("broken.csv", "experiment,case\nwaves\n");
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message) {
    EXPECT_EQ(gate(arguments), 64) << message;
    EXPECT_THAT(err_, HasSubstr(message));
    EXPECT_EQ(out_, "");
  };
  refused({baseline, path("broken.csv")}, "broken.csv, line 2: 1 cells where the first line names 2 columns");
  refused({baseline, path("none.csv")}, "none.csv does not exist");
  refused({baseline}, "");
  refused({}, "nothing to compare");
  refused({baseline, baseline, "--write", "junit"}, "FORMAT=FILE");
  refused({baseline, baseline, "--write", "md=" + path("x")},
          "FORMAT=FILE; the formats are annotations, bencher, ");
  refused({baseline, baseline, "--format", "xml"}, "xml");
  refused({baseline, baseline, "--write", "junit=" + path("no/folder/x.xml")}, "no/folder is no folder");
  refused({baseline, baseline, "--tolerances", path("none.json")}, "none.json");
  refused({"--pair", path("no"), path("builds")}, "is no build folder");
  write("a.samples.csv", "experiment,case,quantity,index,value\nwaves,x,time_us,0,fast\n");
  refused({baseline, baseline}, "a.samples.csv, line 2: 'fast' is not a finite number");
}

TEST_F(GateCommand, WritesEveryFormatBesideTheTable) {
  std::vector<std::string> arguments = {write_run("a", made_up_run()), write_run("b", with_regressions(4))};
  for (const auto& [format, about] : kGateFormats) {
    arguments.insert(arguments.end(), {"--write", format + "=" + path(format)});
  }
  EXPECT_EQ(gate(arguments), 1);
  for (const auto& [format, about] : kGateFormats) EXPECT_GT(fs::file_size(folder_ / format), 0u) << format;
  EXPECT_EQ(out_, read_text(folder_ / "table"));
  const std::string junit = read_text(folder_ / "junit");
  EXPECT_EQ(gate({arguments[0], arguments[1], "--format", "junit"}), 1);
  EXPECT_EQ(out_, junit);
}

TEST_F(GateCommand, ReplacesOfEachFormatItsOwnOutputAlone) {
  const std::vector<std::string> runs = {write_run("a", made_up_run()), write_run("b", with_regressions(4))};
  const std::vector<std::string> foreign = {"import os\n",
                                            "# A project\n",
                                            "\x7f"
                                            "ELF\x02\x01\xff",
                                            "name,value\na,1\n",
                                            R"({"rate": {"value": 1}, "layers": 3})",
                                            R"([{"name": "a", "size": 3}])",
                                            "[1]\n",
                                            "<?xml version=\"1.0\"?>\n<testsuites name=\"others\"/>\n"};
  for (const auto& [format, about] : kGateFormats) {
    const auto write_to = [&](const std::string& name) {
      return gate({runs[0], runs[1], "--write", format + "=" + path(name)});
    };
    for (const std::string& text : foreign) {
      write("kept", text);
      EXPECT_EQ(write_to("kept"), 64) << format << text;
      EXPECT_THAT(err_, HasSubstr("a file of another kind is there already"));
      EXPECT_EQ(read_text(folder_ / "kept"), text) << format;
    }
    write("own", " \n");
    for (int time = 0; time < 2; ++time) EXPECT_EQ(write_to("own"), 1) << format << err_;
    EXPECT_EQ(gate({runs[0], runs[0], "--write", format + "=" + path("own")}), 0) << format << err_;
  }
}

TEST_F(GateCommand, OfNothingComparedAnOutputIsReplacedLater) {
  const std::string none = write_run("none", made_up_run(0));
  const std::string some = write_run("some", made_up_run());
  for (const auto& [format, about] : kGateFormats) {
    for (const auto& [run, status] : {std::pair(none, 2), std::pair(some, 0)})
      EXPECT_EQ(gate({run, run, "--write", format + "=" + path(format)}), status) << format << err_;
  }
}

TEST_F(GateCommand, AVerdictStandsWhereAnOutputCannotBeWritten) {
  const std::string before = write_run("a", made_up_run());
  const std::string after = write_run("b", with_regressions(4));
  for (const auto& [now, expected] : {std::pair(after, 1), std::pair(before, 64)}) {
    const auto held = [&] {
      const rlimit none{0, 0};
      ::setrlimit(RLIMIT_FSIZE, &none);
      ::signal(SIGXFSZ, SIG_IGN);
      return gate({before, now, "--write", "json=" + path("x"), "--write", "junit=" + path("y")}) ==
                 expected &&
             out_.find("Smallest regression") != std::string::npos &&
             err_.find("cannot write " + path("x")) != std::string::npos &&
             err_.find("cannot write " + path("y")) != std::string::npos;
    };
    EXPECT_TRUE(in_a_child(held)) << expected;
  }
}

TEST_F(GateCommand, SavesTolerancesThatComeFromRunsAndOverTolerancesAlone) {
  const std::string a = write_run("a", made_up_run());
  const std::string b = write_run("b", with_regressions(2));
  const std::string wide = R"({"all": {"achieved_pct": {"limit": 5}}})";
  write("t.json", wide);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--tolerances", path("t.json")}}) {
    std::vector<std::string> arguments = {a, a, "--save-tolerances", path("t.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(gate(arguments), 64);
    EXPECT_THAT(err_, HasSubstr("--tolerances-from"));
    EXPECT_EQ(read_text(folder_ / "t.json"), wide);
  }
  for (const std::string text : {R"({"layers": 3})", R"({"experiments": {"waves": {"rate": 1}}})", "[]"}) {
    write("cfg.json", text);
    EXPECT_EQ(gate({"--save-tolerances", path("cfg.json"), "--tolerances-from", a, b}), 64);
    EXPECT_THAT(err_, HasSubstr("a file of another kind is there already"));
    EXPECT_EQ(read_text(folder_ / "cfg.json"), text);
  }
  write("t.json", "\n");
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(gate({"--save-tolerances", path("t.json"), "--tolerances-from", a, b}), 0) << err_;
  EXPECT_EQ(gate({a, a, "--tolerances", path("t.json")}), 0) << err_;
}

TEST_F(GateCommand, SamplesOfOtherRowsAreLeftOutAndNamed) {
  MadeUpRun run = made_up_run(1);
  const std::string baseline = write_run("a", run);
  *run.rows[0].achieved_elapsed_pct -= 2;
  const std::string candidate = write_run("b", run);
  write("a.samples.csv", scattering_samples(run.rows[0]));
  EXPECT_EQ(gate({baseline, candidate}), 1) << "they are of b";
  EXPECT_THAT(out_, HasSubstr("a.samples.csv is left out: its samples are not of the rows of "));
  write("b.samples.csv", scattering_samples(run.rows[0]));
  EXPECT_EQ(gate({baseline, candidate}), 0);
  write("b.samples.csv",
        samples_header() + csv_record(Sample{run.rows[0].experiment, run.rows[0].case_, "time_us", 0, 500}));
  EXPECT_EQ(gate({baseline, candidate}), 1);
  EXPECT_THAT(out_, HasSubstr("b.samples.csv is left out"));
  write("b.samples.csv", scattering_samples(made_up_row(1)));
  EXPECT_EQ(gate({baseline, candidate}), 1) << "they are of another case";
  EXPECT_THAT(out_, HasSubstr("b.samples.csv is left out"));
  const std::string samples = scattering_samples(run.rows[0]);
  write("b.samples.csv", samples.substr(0, samples.size() - 2));
  EXPECT_EQ(gate({baseline, candidate}), 1) << "they are torn";
  EXPECT_THAT(out_, HasSubstr("b.samples.csv is left out: its last line has no end"));
}

TEST_F(GateCommand, APassWithoutSamplesSaysSoOnce) {
  const std::string a = write_run("a", made_up_run(2));
  const std::string b = write_run("b", made_up_run(2));
  EXPECT_EQ(gate({a, b}), 0);
  const std::string said =
      a + " and " + b + " without samples: how far readings scatter is taken from the rows";
  ASSERT_THAT(out_, HasSubstr(said));
  EXPECT_EQ(out_.find("without samples", out_.find(said) + said.size()), std::string::npos) << out_;
  write("a.samples.csv", scattering_samples(made_up_row(0)));
  write("b.samples.csv", scattering_samples(made_up_row(0)));
  EXPECT_EQ(gate({a, b}), 0);
  EXPECT_THAT(out_, testing::Not(HasSubstr("without samples")));
}

TEST_F(GateCommand, ACandidateThatIsTheBaselineIsNotedInEveryFormatForPeople) {
  const std::string a = write_run("folder/a", made_up_run());
  const std::string copy = write_run("copy/a", made_up_run());
  for (const char* format : {"table", "markdown", "annotations", "junit", "json"}) {
    EXPECT_EQ(gate({a, a, "--format", format}), 0) << format;
    EXPECT_THAT(out_, HasSubstr("so nothing could differ")) << format;
    EXPECT_EQ(gate({a, copy, "--format", format}), 0) << format;
    EXPECT_THAT(out_, HasSubstr("so nothing could differ")) << format;
  }
  MadeUpRun later = made_up_run();
  for (Row& row : later.rows) row.recorded_at = "2026-03-01T12:10:00Z";
  EXPECT_EQ(gate({a, write_run("later", later)}), 0);
  EXPECT_THAT(out_, testing::Not(HasSubstr("so nothing could differ")));
}

TEST_F(GateCommand, TolerancesDoNotComeFromTheCandidate) {
  const std::string a = write_run("a", made_up_run());
  const std::string b = write_run("new/b", made_up_run().with([](MadeUpRun& run) { run.slow_down(0, 1.3); }));
  const std::string other =
      write_run("c", made_up_run().with([](MadeUpRun& run) { run.slow_down(1, 1.01); }));
  EXPECT_EQ(gate({a, b, "--tolerances-from", a, other}), 1);
  fs::copy_file(b, path("copy.csv"));
  for (const std::string& itself : {b, path("copy.csv")}) {
    EXPECT_EQ(gate({a, b, "--tolerances-from", a, itself, other}), 64) << itself;
    EXPECT_THAT(err_, HasSubstr("--tolerances-from: " + itself + " is the candidate"));
  }
}

TEST_F(GateCommand, TolerancesOfOneGpuModelAreNotThoseOfAnother) {
  const auto on_h100 = [](MadeUpRun run) {
    for (Row& row : run.rows) row.gpu = "NVIDIA H100";
    return run;
  };
  const std::string a = write_run("a", made_up_run());
  const std::string b = write_run("b", made_up_run().with([](MadeUpRun& run) { run.slow_down(0, 1.01); }));
  EXPECT_EQ(gate({"--save-tolerances", path("made.json"), "--tolerances-from", a, b}), 0);
  EXPECT_EQ(nlohmann::json::parse(read_text(path("made.json"))).at("gpu"), "NVIDIA H200");
  EXPECT_EQ(gate({a, b, "--tolerances", path("made.json")}), 0);
  const std::string c = write_run("c", on_h100(made_up_run()));
  EXPECT_EQ(gate({c, c, "--tolerances", path("made.json")}), 64);
  EXPECT_THAT(err_, AllOf(HasSubstr("the tolerances are of runs on NVIDIA H200"),
                          HasSubstr("is of NVIDIA H100"), HasSubstr("--tolerances-from")));
  EXPECT_EQ(gate({c, c, "--tolerances-from", a, b}), 64);
  write("old.json", R"({"all": {"achieved_pct": {"limit": 5}}})");
  EXPECT_EQ(gate({c, c, "--tolerances", path("old.json")}), 0);
  write("old.json", R"({"gpu": 5})");
  EXPECT_EQ(gate({c, c, "--tolerances", path("old.json")}), 64);
  EXPECT_THAT(err_, HasSubstr("gpu must be the name of a GPU"));
}

TEST_F(GateCommand, WritesNoTwoOutputsIntoOneFileNorOneOverRows) {
  const std::string a = write_run("a", made_up_run());
  const std::string kept = write_run("kept", made_up_run());
  const std::string other = write_run("other", with_regressions(2));
  const std::string rows = read_text(kept);
  EXPECT_EQ(gate({a, a, "--write", "json=" + path("x"), "--write", "junit=" + path("x")}), 64);
  EXPECT_EQ(gate({a, a, "--write", "json=" + path("x"), "--save-tolerances", path("./x")}), 64);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  EXPECT_EQ(gate({a, a, "--write", "json=" + kept}), 64);
  EXPECT_EQ(read_text(kept), rows);
  write("diary", "dear diary\n");
  EXPECT_EQ(gate({a, a, "--write", "json=" + path("diary")}), 64);
  EXPECT_EQ(gate({a, a, "--save-tolerances", path("diary")}), 64);
  write("made.json", "{\"all\": {}}");
  const auto saves = [&](const std::string& candidate) {
    return gate({a, candidate, "--save-tolerances", path("made.json"), "--tolerances-from", a, other});
  };
  EXPECT_EQ(saves(path("none.csv")), 64);
  EXPECT_EQ(read_text(path("made.json")), "{\"all\": {}}") << "nothing was compared";
  EXPECT_EQ(saves(write_run("candidate", with_regressions(1))), 1);
  EXPECT_THAT(read_text(path("made.json")), HasSubstr("limit"));
}

TEST_F(GateCommand, AFileMayBeCompressed) {
  const std::string before = write_run("before", made_up_run());
  const std::string now = write_run("now", made_up_run());
  ASSERT_EQ(std::system(("gzip '" + now + "'").c_str()), 0);
  EXPECT_EQ(gate({before, now + ".gz"}), 0);
}

TEST_F(GateCommand, OfAFolderSaysThatItsFilesAreComparedOneByOne) {
  const std::string a = write_run("folder/a", made_up_run());
  for (const auto& [baseline, candidate] : {std::pair{path("folder"), a}, {a, path("folder")}}) {
    EXPECT_EQ(gate({baseline, candidate}), 64);
    EXPECT_THAT(err_, HasSubstr("folder is a folder, and two files of rows are compared: compare each pair"));
  }
}

TEST_F(GateCommand, TolerancesComeFromAFileOrFromRuns) {
  MadeUpRun lower = made_up_run();
  for (Row& row : lower.rows) {
    *row.achieved_pct -= 3;
    *row.achieved_elapsed_pct -= 3;
  }
  const std::string a = write_run("a", made_up_run());
  const std::string b = write_run("b", lower);
  lower.rows[0].recorded_at = "2026-03-01T12:10:00Z";
  const std::string c = write_run("c", lower);
  EXPECT_EQ(gate({a, b}), 1);
  write("wide.json", R"({"all": {"achieved_pct": {"limit": 5}, "achieved_elapsed_pct": {"limit": 5},
                                 "achieved_over_theoretical_pct": {"limit": 5}}})");
  EXPECT_EQ(gate({a, b, "--tolerances", path("wide.json")}), 0);
  EXPECT_EQ(gate({"--save-tolerances", path("made.json"), "--tolerances-from", a, b, a}), 0);
  EXPECT_EQ(gate({a, b, "--tolerances", path("made.json")}), 0);
  EXPECT_EQ(gate({a, b, "--tolerances-from", a, c, a}), 0);
  EXPECT_EQ(err_, "");
  lower.rows[0].time_status = "throttled";
  lower.rows[2].check = "wrong";  // both cases of block_size
  EXPECT_EQ(gate({a, b, "--tolerances-from", a, write_run("bad", lower)}), 1);
  EXPECT_THAT(err_,
              HasSubstr("left out 2 rows whose time_status is neither ok nor unstable, or whose result is"));
}

/// A build folder whose `occbench run` takes what it writes from a recorded run, and notes that it was
/// called.
class GatePairCommand : public GateCommand {
 protected:
  std::string build(const std::string& name, const MadeUpRun& run, const std::string& ending = "exit 0") {
    const std::string rows = write_run(name + "/recorded", run);
    write(name + "/bin/occbench",
          fmt::format(R"(#!/bin/sh
printf '%s %s\n' {0} "$*" >> '{1}/calls'
while [ $# -gt 0 ]; do
  [ "$1" = --out ] && out=$2
  shift
done
cp '{2}' "$out"
cp '{3}' "${{out%.csv}}.samples.csv"
{4}
)",
                      name, folder_.string(), rows, path(name + "/recorded.samples.csv"), ending));
    ::chmod(path(name + "/bin/occbench").c_str(), 0755);
    return path(name);
  }

  int gate_pair(const std::string& a, const std::string& b, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--pair", a, b, "--keep", path("kept")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return gate(arguments);
  }
};

TEST_F(GatePairCommand, RunsBothBuildsInTurn) {
  const std::string a = build("a", made_up_run());
  EXPECT_EQ(gate_pair(a, build("b", made_up_run()), {"--suite", "quick", "--filter", "waves"}), 0)
      << out_ << err_;
  std::string order;
  std::istringstream calls(read_text(folder_ / "calls"));
  for (std::string line; std::getline(calls, line);) {
    order += line[0];
    EXPECT_THAT(line, HasSubstr("run --suite quick --device auto --filter waves --out "));
  }
  EXPECT_EQ(order, "abbaabbaabba");
  EXPECT_TRUE(fs::exists(folder_ / "kept" / "01-a.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "kept" / "12-a.csv"));
}

TEST_F(GatePairCommand, FindsThreePercentMoreTime) {
  const std::string a = build("a", made_up_run());
  const std::string b = build("b", made_up_run().with([](MadeUpRun& run) { run.slow_down(2, 1.03); }));
  EXPECT_EQ(gate_pair(a, b), 1);
  EXPECT_THAT(
      out_,
      HasSubstr("regression  block_size/spin/plain/number=2\n            time_us 404 -> 416.1: 3 % slower"));
  EXPECT_THAT(out_, HasSubstr("over 6 pairs"));
}

TEST_F(GatePairCommand, ARunThatEndsWith2StillCounts) {
  EXPECT_EQ(gate_pair(build("a", made_up_run()), build("b", made_up_run(), "exit 2")), 0);
}

TEST_F(GatePairCommand, HasNoVerdictIfARunFails) {
  EXPECT_EQ(gate_pair(build("a", made_up_run()), build("b", made_up_run(), "exit 70")), 2);
  EXPECT_THAT(out_, HasSubstr("b/bin/occbench ended with exit status 70"));
  EXPECT_EQ(gate_pair(build("a", made_up_run()), build("b", made_up_run(), "kill -9 $$")), 2);
  EXPECT_EQ(gate_pair(build("a", made_up_run()), build("b", made_up_run(), "rm \"$out\"; exit 2")), 2);
}

TEST_F(GatePairCommand, WritesNoLogThroughALinkAndMeasuresNothingThen) {
  const std::string a = build("a", made_up_run());
  fs::create_directories(folder_ / "kept");
  write("precious", "precious");
  for (const char* log : {"01-a.log", "12-a.log", "03-b.csv.log"}) {
    const fs::path file = folder_ / "kept" / log;
    fs::create_symlink("../precious", file);
    EXPECT_EQ(gate_pair(a, a), 64);
    EXPECT_THAT(err_,
                HasSubstr(fmt::format("{} is a symbolic link, where a log is written: rename it", log)));
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(gate_pair(a, a), 64);
    EXPECT_THAT(err_, HasSubstr(fmt::format("{} is a FIFO", log)));
    fs::remove(file);
  }
  EXPECT_EQ(read_text(folder_ / "precious"), "precious");
  EXPECT_FALSE(fs::exists(folder_ / "calls"));
}

TEST_F(GatePairCommand, RefusesCountsOfPairsThatCannotBe) {
  const std::string a = build("a", made_up_run());
  EXPECT_EQ(gate_pair(a, a, {"--pairs", "51"}), 64);
  EXPECT_EQ(gate_pair(a, a, {"--pairs", "4"}), 64) << "too few to decide on time";
  EXPECT_THAT(err_, HasSubstr("--pairs = '4' is not a whole number from 5 to 50"));
}

}  // namespace
}  // namespace occbench
