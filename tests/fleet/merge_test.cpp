#include "fleet/merge.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/descriptor.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "fleet_fixture.hpp"
#include "message_of.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Row row_of(const std::string& gpu, const std::string& name, double time_us) {
  Row row;
  row.schema = kSchema;
  row.host = "node1";
  row.gpu_uuid = gpu;
  row.experiment = "waves";
  row.case_ = name;
  row.time_us = time_us;
  return row;
}

class MergingFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    const fs::path file = folder_.path() / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  fs::path write(const std::string& name, const std::vector<Row>& rows) {
    std::string text = csv_header();
    for (const Row& row : rows) text += csv_record(row);
    return write(name, text);
  }

  Merged merge(const std::vector<fs::path>& files) {
    return merge_files(files, out_, [] { return false; });
  }

  std::string message_of(const std::vector<fs::path>& files) {
    return occbench::message_of([&] { merge(files); });
  }

  TemporaryFolder folder_;
  fs::path out_ = folder_.path() / "all.csv";
};

TEST_F(MergingFiles, KeepsEveryRowInTheOrderOfTheFiles) {
  const std::vector<Row> first = {row_of("GPU-1", "a", 1), row_of("GPU-1", "b", 2)};
  const std::vector<Row> second = {row_of("GPU-2", "a", 3), row_of("GPU-2", "b", 4)};
  const Merged merged = merge({write("1.csv", first), write("2.csv", second)});
  EXPECT_TRUE(merged.whole());
  EXPECT_EQ(merged.gpus, 2);
  EXPECT_EQ(merged.cases, 2);
  EXPECT_THAT(read_rows(out_), ElementsAre(first[0], first[1], second[0], second[1]));
}

TEST_F(MergingFiles, WritesEqualRowsOnce) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1), row_of("GPU-1", "b", 2)});
  const Merged merged = merge({file, file});
  EXPECT_EQ(merged.duplicates, 2);
  EXPECT_TRUE(merged.whole());
  EXPECT_THAT(read_rows(out_), SizeIs(2));
}

TEST_F(MergingFiles, KeepsBothRowsOfAConflictAndSaysWhere) {
  const Merged merged = merge({write("1.csv", {row_of("GPU-1", "a", 1)}),
                               write("2.csv", {row_of("GPU-1", "a", 2), row_of("GPU-1", "a", 2)})});
  EXPECT_EQ(merged.conflicts, 1);
  EXPECT_EQ(merged.duplicates, 1);
  EXPECT_FALSE(merged.whole());
  EXPECT_THAT(merged.conflict_places, ElementsAre(AllOf(HasSubstr("1.csv, line 2, and "),
                                                        HasSubstr("2.csv, line 2: GPU-1, waves/a"))));
  EXPECT_THAT(read_rows(out_), SizeIs(2));
}

TEST_F(MergingFiles, NamesTheCasesThatAGpuLacks) {
  const Merged merged = merge({write("1.csv", {row_of("GPU-1", "a", 1), row_of("GPU-1", "b", 2)}),
                               write("2.csv", {row_of("GPU-2", "b", 2)})});
  ASSERT_THAT(merged.gaps, SizeIs(1));
  EXPECT_EQ(merged.gaps[0].gpu, "GPU-2");
  EXPECT_EQ(merged.gaps[0].missing, 1);
  EXPECT_THAT(merged.gaps[0].first, ElementsAre("waves/a"));
}

TEST_F(MergingFiles, LeavesOutATornLineAndSaysSo) {
  const fs::path torn = write("1.csv", csv_header() + csv_record(row_of("GPU-1", "a", 1)) + "2,2026");
  const Merged merged = merge({torn});
  EXPECT_THAT(merged.torn, ElementsAre(torn.string()));
  EXPECT_FALSE(merged.whole());
  EXPECT_THAT(read_rows(out_), SizeIs(1));
}

TEST_F(MergingFiles, RefusesAFileThatIsTornInTheMiddleAndWritesNothing) {
  const fs::path torn = write("1.csv", csv_header() + "2,2026\n" + csv_record(row_of("GPU-1", "a", 1)));
  EXPECT_THAT(message_of({torn}), HasSubstr("1.csv, line 2: 2 cells"));
  EXPECT_FALSE(fs::exists(out_));
}

TEST_F(MergingFiles, RefusesRowsOfTwoSchemas) {
  Row older = row_of("GPU-2", "a", 1);
  older.schema = 1;
  EXPECT_THAT(message_of({write("1.csv", {row_of("GPU-1", "a", 1)}), write("2.csv", {older})}),
              HasSubstr("2.csv, line 2: schema 1"));
}

TEST_F(MergingFiles, RefusesOtherColumns) {
  const std::vector<std::string> extra = {"dram__bytes.sum"};
  EXPECT_THAT(message_of({write("1.csv", std::vector<Row>()), write("2.csv", csv_header(extra))}),
              HasSubstr("'no column' and 'dram__bytes.sum'"));
}

TEST_F(MergingFiles, RefusesToOverwriteOneOfThem) {
  out_ = write("1.csv", {row_of("GPU-1", "a", 1)});
  EXPECT_THAT(message_of({out_}), HasSubstr("1.csv is a file that is read"));
  EXPECT_THAT(read_rows(out_), SizeIs(1));
}

// Without the ending .csv too a name has samples beside it.
TEST_F(MergingFiles, RefusesToOverwriteSamplesOfOneOfThem) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1)});
  const fs::path samples = write("1.samples.csv", samples_header() + "waves,a,time_us,0,1\n");
  const std::string before = read_text(samples);
  for (const fs::path& out : {folder_.path() / "1", samples}) {
    out_ = out;
    EXPECT_THAT(message_of({file}), HasSubstr("1.samples.csv has the samples of")) << out;
    EXPECT_EQ(read_text(samples), before);
  }
  fs::rename(samples, samples.string() + ".gz");
  out_ = samples.string() + ".gz";
  EXPECT_THAT(message_of({file}), HasSubstr("has the samples of"));
  EXPECT_EQ(read_text(out_), before);
}

TEST_F(MergingFiles, KeepsSamplesThatAreNotOfTheRowsItReplaces) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1)});
  write("all.samples.csv", "somebody's\n");
  Merged merged = merge({file});
  EXPECT_EQ(read_text(merged.kept_samples.at(0).kept_as), "somebody's\n");
  EXPECT_FALSE(fs::exists(samples_path(out_)));

  write("1.samples.csv", samples_header() + "waves,a,time_us,0,1\n");
  fs::remove(out_);
  write("all.samples.csv", "somebody else's\n");
  merged = merge({file});
  EXPECT_EQ(read_text(merged.kept_samples.at(0).kept_as), "somebody else's\n");
  EXPECT_THAT(read_samples(samples_path(out_)), SizeIs(1));

  merged = merge({file});
  EXPECT_THAT(merged.kept_samples, IsEmpty()) << "all of them stand there again";

  write("all.samples.csv", "of the same rows\n");
  EXPECT_EQ(read_text(merge({file}).kept_samples.at(0).kept_as), "of the same rows\n");
}

TEST_F(MergingFiles, KeepsCompressedSamplesThatAreNotOfTheRowsItReplaces) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1)});
  const fs::path compressed = write("all.samples.csv.gz", "somebody's\n");
  const Merged merged = merge({file});
  ASSERT_THAT(merged.kept_samples, SizeIs(1));
  EXPECT_EQ(merged.kept_samples[0].file, compressed);
  EXPECT_EQ(read_text(merged.kept_samples[0].kept_as), "somebody's\n");
  EXPECT_EQ(samples_beside(out_), "");
}

TEST_F(MergingFiles, NamesTheFilesThatLackTheSamplesThatOthersHave) {
  const std::vector<fs::path> files = {write("1.csv", {row_of("GPU-1", "a", 1)}),
                                       write("2.csv", {row_of("GPU-1", "b", 2)})};
  EXPECT_THAT(merge(files).without_samples, IsEmpty()) << "there is none to lose";
  write("1.samples.csv", samples_header());
  const Merged merged = merge(files);
  EXPECT_FALSE(merged.samples);
  EXPECT_THAT(merged.without_samples, ElementsAre(files[1]));
}

TEST_F(MergingFiles, RefusesFilesWithoutARow) {
  const fs::path none = write("1.csv", std::vector<Row>());
  write("all.csv", "what was there\n");
  EXPECT_THAT(message_of({none, none}), HasSubstr("1.csv: there is no row below the names of the columns"));
  EXPECT_EQ(read_text(out_), "what was there\n");
  EXPECT_THAT(merge({write("2.csv", {row_of("GPU-1", "a", 1)}), none}).rows, 1u);
}

TEST_F(MergingFiles, LeavesNothingBesideADescriptorThatItRefuses) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1)});
  const fs::path log = write("app.log", "a log\n");
  const Descriptor open(::open(log.c_str(), O_WRONLY | O_APPEND));
  out_ = folder_.path() / "link";
  fs::create_symlink(fmt::format("/dev/fd/{}", open.number()), out_);
  EXPECT_THAT(message_of({file}), HasSubstr("name a file"));
  EXPECT_EQ(read_text(log), "a log\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 3);
}

TEST_F(MergingFiles, KeepsAnOlderFileWhoseRowsItWouldLose) {
  const fs::path one = write("1.csv", {row_of("GPU-1", "a", 1)});
  const fs::path two = write("2.csv", {row_of("GPU-2", "a", 1)});
  EXPECT_EQ(merge({one}).kept_rows, "");
  EXPECT_EQ(merge({one, two}).kept_rows, "") << "all that was there is there again";
  const std::string both = read_text(out_);
  const fs::path kept = merge({two}).kept_rows;
  EXPECT_EQ(read_text(kept), both);
  EXPECT_THAT(read_text(out_), Not(HasSubstr("GPU-1")));
  std::ofstream(out_) << "a diary\n";
  EXPECT_EQ(read_text(merge({two}).kept_rows), "a diary\n");
}

TEST_F(MergingFiles, RefusesAFileThatAnotherMergeIsWriting) {
  const fs::path file = write("1.csv", {row_of("GPU-1", "a", 1)});
  write("all.csv.lock", "1\n");
  const int descriptor = ::open((out_.string() + ".lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  EXPECT_THAT(message_of({file}), HasSubstr("is being written by another run (process 1)"));
  EXPECT_FALSE(fs::exists(out_));
  ::close(descriptor);
  EXPECT_EQ(message_of({file}), "nothing was thrown");
}

TEST_F(MergingFiles, RefusesADeviceBeforeItReads) {
  ASSERT_EQ(::mkfifo(out_.c_str(), 0600), 0);
  EXPECT_THAT(message_of({folder_.path() / "none.csv"}), HasSubstr("all.csv: it is a FIFO; name a file"));
  EXPECT_TRUE(fs::is_fifo(out_));
}

TEST_F(MergingFiles, ReadsWhatGzipCompressed) {
  const std::vector<Row> rows = {row_of("GPU-1", "a", 1), row_of("GPU-1", "b", 2)};
  const fs::path plain = write("1.csv", rows);
  const fs::path compressed = folder_.path() / "2.csv.gz";
  ASSERT_EQ(std::system(fmt::format("gzip < '{}' > '{}'", plain.string(), compressed.string()).c_str()), 0);
  merge({compressed});
  EXPECT_THAT(read_rows(out_), ElementsAre(rows[0], rows[1]));
}

TEST_F(MergingFiles, RefusesALineWithoutAnEnd) {
  EXPECT_THAT(message_of({"/dev/zero"}), HasSubstr("/dev/zero, line 1: a row of more than"));
}

TEST_F(MergingFiles, PutsTheSamplesOfPartsOfARunTogether) {
  const std::vector<fs::path> files = {write("1.csv", {row_of("GPU-1", "a", 1)}),
                                       write("2.csv", {row_of("GPU-1", "b", 2)})};
  const Sample a{"waves", "a", "time_us", 0, 1};
  const Sample b{"waves", "b", "time_us", 0, 2};
  write("1.samples.csv", samples_header() + csv_record(a));
  write("2.samples.csv", samples_header() + csv_record(b));
  EXPECT_TRUE(merge(files).samples);
  EXPECT_THAT(read_samples(samples_path(out_)), ElementsAre(a, b));
  const fs::path torn = write("2.samples.csv", samples_header() + csv_record(b) + "waves,b,ti");
  const Merged merged = merge(files);
  EXPECT_THAT(merged.torn, ElementsAre(torn.string()));
  EXPECT_FALSE(merged.whole());
  EXPECT_THAT(read_samples(samples_path(out_)), ElementsAre(a, b));
}

TEST_F(MergingFiles, LeavesOutSamplesThatDoNotSayOfWhichGpuTheyAre) {
  const std::vector<fs::path> files = {write("1.csv", {row_of("GPU-1", "a", 1)}),
                                       write("2.csv", {row_of("GPU-2", "a", 2)})};
  write("1.samples.csv", samples_header());
  write("2.samples.csv", samples_header());
  write("all.samples.csv", samples_header());
  EXPECT_FALSE(merge(files).samples);
  EXPECT_FALSE(fs::exists(samples_path(out_)));
}

TEST_F(MergingFiles, KernelsOfOneShortNameAreTwoCasesAndOfOneWholeNameOne) {
  const auto kernel = [](const std::string& name, const std::string& hash, double time_us) {
    Row row = row_of("GPU-1", "for_each<...><<<4711, 128>>>" + hash, time_us);
    row.experiment = "trace";
    row.kernel = name;
    return row;
  };
  const Row flux = kernel("void for_each<Flux>()", "", 1);
  const Row source = kernel("void for_each<Source>()", "", 2);
  const std::vector<fs::path> files = {write("1.csv", {flux}), write("2.csv", {source})};
  for (const fs::path& file : files) {
    const Sample sample{"trace", flux.case_, "time_us", 0, 1};
    write(file.stem().string() + ".samples.csv", samples_header() + csv_record(sample));
  }
  const Merged two = merge(files);
  EXPECT_EQ(two.cases, 2);
  EXPECT_EQ(two.conflicts, 0);
  EXPECT_TRUE(two.lacks_samples);  // which name a case alone
  EXPECT_THAT(read_rows(out_), ElementsAre(flux, source));
  const std::vector<Row> again = {kernel(flux.kernel, " #4253f982", 3),
                                  kernel(source.kernel, " #0a1b2c3d", 2)};
  const Merged one = merge({files[0], write("3.csv", again)});
  EXPECT_EQ(one.cases, 2);
  EXPECT_EQ(one.conflicts, 1);
}

TEST_F(MergingFiles, ReadsALineEndInsideACell) {
  Row row = row_of("GPU-1", "a", 1);
  row.note = "one line\nanother \"line\", and more";
  merge({write("1.csv", {row})});
  EXPECT_THAT(read_rows(out_), ElementsAre(row));
}

TEST_F(Fleet, NamesNothingAmongRunsOfOneGpuAndAmongGpusOfOneModel) {
  for (const auto& [rows, count] : {std::pair{runs_as_gpus("gate/unchanged.csv.gz", ""), 3},
                                    {runs_as_gpus(kGpus, "GPU-57106549"), 17},
                                    {runs_as_gpus(kH200, ""), 20},
                                    {five_recorded_h200s({}), 5},
                                    {five_h100s(), 5}}) {
    EXPECT_EQ(gpus_of(rows), count);
    EXPECT_EQ(fleet({write("all.csv", text_of(rows))}), ExitStatus::done) << out_;
  }
}

/// Runs of one build on one GPU: six pairs of unchanged code, and the unchanged half of thirty others.
TEST_F(Fleet, NamesNothingAmongFortyTwoRunsOfOneGpu) {
  std::string all;
  std::set<std::string> gpus;
  for (const std::string name : {"none", "registers", "shared_memory", "block_size", "slow_warp", "slower"}) {
    for (const auto& [run, rows] : packed_runs("gate/" + name + ".csv.gz")) {
      if (name != "none" && run.ends_with("-b")) continue;
      gpus.insert(name + run);
      for (Row row : rows) {
        row.commit = "one";
        row.gpu_uuid = name + run;
        all += csv_record(row);
      }
    }
  }
  EXPECT_EQ(gpus.size(), 42);
  EXPECT_EQ(fleet({write("all.csv", all)}), ExitStatus::done) << out_;
}

TEST_F(Fleet, IsInLineWhereOneH100IsComparedWithItsOwnRunsBefore) {
  std::vector<std::string> written;
  for (const auto& [run, rows] : packed_runs(kRepeats)) {
    written.push_back(write("past/" + run + ".csv", text_of(rows)));
    if (written.size() < 3) continue;
    EXPECT_EQ(fleet({written.back(), "--since", (folder_.path() / "past").string()}), ExitStatus::done)
        << run << out_;
  }
  EXPECT_EQ(written.size(), 12);
}

}  // namespace
}  // namespace occbench
