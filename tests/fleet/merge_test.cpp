#include "fleet/merge.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"

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
    return merge_files(files, out_);
  }

  std::string message_of(const std::vector<fs::path>& files) {
    try {
      merge(files);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
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
  EXPECT_THAT(merged.conflict_places, ElementsAre(HasSubstr("2.csv, line 2: GPU-1, waves/a")));
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
  EXPECT_FALSE(fs::exists(out_.string() + ".new"));
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
  EXPECT_THAT(message_of({out_}), HasSubstr("one of the files to merge"));
  EXPECT_THAT(read_rows(out_), SizeIs(1));
}

TEST_F(MergingFiles, PutsTheSamplesOfShardsTogether) {
  const std::vector<fs::path> files = {write("1.csv", {row_of("GPU-1", "a", 1)}),
                                       write("2.csv", {row_of("GPU-1", "b", 2)})};
  const Sample a{"waves", "a", "time_us", 0, 1};
  const Sample b{"waves", "b", "time_us", 0, 2};
  write("1.samples.csv", samples_header() + csv_record(a));
  write("2.samples.csv", samples_header() + csv_record(b));
  EXPECT_TRUE(merge(files).samples);
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

TEST_F(MergingFiles, ReadsALineEndInsideACell) {
  Row row = row_of("GPU-1", "a", 1);
  row.note = "one line\nanother \"line\", and more";
  merge({write("1.csv", {row})});
  EXPECT_THAT(read_rows(out_), ElementsAre(row));
}

}  // namespace
}  // namespace occbench
