#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "message_of.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/row_stream.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using OldCells = std::map<std::string, std::string>;

/// Files that an occbench of schema 2 wrote.
std::vector<fs::path> old_files() {
  std::vector<fs::path> files;
  for (const char* name : {"suite.csv", "program.csv", "sweep.csv"})
    files.push_back(fs::path(OCCBENCH_SOURCE_DIR) / "tests/data/schema_2" / name);
  return files;
}

std::vector<OldCells> old_cells(const fs::path& file) {
  const CsvTable table = parse_csv(read_text(file), file.string());
  std::vector<OldCells> all;
  for (const auto& row : table.rows) {
    OldCells& cells = all.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) cells[table.names[i]] = row[i];
  }
  return all;
}

double old_number(const OldCells& cells, const char* name) {
  return std::stod(cells.at(name));
}

std::string new_cell(const Row& row, std::string_view name) {
  return cell_text(row, *find_column(name));
}

TEST(Schema2, ColumnsThatStayKeepTheirValues) {
  const std::set<std::string> rewritten = {"schema", "device_profile", "note"};
  std::size_t compared = 0;
  for (const fs::path& file : old_files()) {
    const std::vector<OldCells> before = old_cells(file);
    const std::vector<Row> after = read_rows(file);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].schema, kSchema);
      for (const auto& [name, value] : before[i]) {
        if (find_column(name) == nullptr || rewritten.contains(name)) continue;
        EXPECT_EQ(new_cell(after[i], name), value) << file << ", " << name;
        ++compared;
      }
      EXPECT_TRUE(after[i].extra.empty());
    }
  }
  EXPECT_GT(compared, 400U);
}

TEST(Schema2, PairsOfCountersThatReadersAddBecomeTheirSum) {
  const fs::path file = old_files()[0];
  const std::vector<OldCells> before = old_cells(file);
  const std::vector<Row> after = read_rows(file);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_NEAR(*after[i].local_sectors,
                old_number(before[i], "local_load_sectors") + old_number(before[i], "local_store_sectors"),
                1e-4);
    EXPECT_NEAR(*after[i].atomic_requests,
                old_number(before[i], "global_reductions") + old_number(before[i], "global_atomics"), 1e-4);
    EXPECT_NEAR(*after[i].memory_stall_warps,
                old_number(before[i], "long_scoreboard_stall_warps") +
                    old_number(before[i], "lg_throttle_stall_warps"),
                1e-4);
  }
  EXPECT_GT(*after.at(1).atomic_requests + *after.at(0).memory_stall_warps, 0);
}

TEST(Schema2, StateAndOriginKeepWhatTheirColumnsSaid) {
  const fs::path suite = old_files()[0];
  const OldCells before = old_cells(suite).at(0);
  const CaseRecord of_suite = read_case_records(suite).at(0);
  EXPECT_EQ(of_suite.provenance.gpu_settings, before.at("gpu_settings"));
  EXPECT_EQ(of_suite.provenance.memory_bus_bits, old_number(before, "memory_bus_bits"));
  EXPECT_EQ(of_suite.condition.memory_clock_mhz, old_number(before, "memory_clock_mhz"));
  EXPECT_EQ(of_suite.condition.temperature_c, old_number(before, "temperature_c"));
  EXPECT_EQ(of_suite.condition.power_w, old_number(before, "power_w"));
  EXPECT_EQ(of_suite.condition.throttle_reasons, before.at("throttle_reasons"));
  EXPECT_EQ(of_suite.condition.other_processes, old_number(before, "other_processes"));
  EXPECT_EQ(of_suite.readings.achieved_source, AchievedSource::counter);
  const OldCells lost = old_cells(suite).at(1);
  EXPECT_THAT(read_rows(suite).at(1).note, HasSubstr(lost.at("lost_updates_pct") + " % of updates lost"));

  const fs::path program = old_files()[1];
  const OldCells launched = old_cells(program).at(0);
  const ProgramUse use = read_case_records(program).at(0).program;
  EXPECT_EQ(use.processes, launched.at("process"));
  EXPECT_EQ(use.contexts, launched.at("context"));
  EXPECT_EQ(use.streams, launched.at("stream"));
  EXPECT_EQ(use.of_graphs, old_number(launched, "graph"));
}

TEST(Schema2, StreamsAndFilesOfRowsAreConvertedAlike) {
  for (const fs::path& file : old_files()) {
    RowStream stream(file);
    EXPECT_EQ(stream.header() + "\n", csv_header());
    for (const Row& row : read_rows(file)) {
      ASSERT_TRUE(stream.next());
      EXPECT_EQ(stream.record() + "\n", csv_record(row));
    }
    EXPECT_FALSE(stream.next());
  }
}

TEST(Schema2, ARangeOfAnotherMeaningIsNoInterval) {
  const std::vector<Row> rows = parse_rows(
      "schema,experiment,case,device_index,predicted_pct,predicted_low_pct,predicted_high_pct\n"
      "2,waves,a,0,50,40,60\n",
      "old.csv");
  EXPECT_EQ(rows.at(0).predicted_pct, 50);
  EXPECT_FALSE(rows.at(0).predicted_low_pct || rows.at(0).predicted_high_pct);
}

TEST(Schema2, AUsersColumnOfAGoneNameChangesNoRowOfSchema3) {
  Row row;
  row.schema = kSchema;
  row.local_sectors = 12;
  row.predicted_low_pct = 70;
  row.extra = {{"stream", "left"}, {"achieved_source", "mine"}};
  const std::string text =
      csv_header(std::vector<std::string>{"stream", "achieved_source"}) + csv_record(row);
  const Row read = parse_rows(text, "rows").at(0);
  EXPECT_EQ(read.local_sectors, 12);
  EXPECT_EQ(read.predicted_low_pct, 70);
  EXPECT_EQ(read.extra, row.extra);
}

TEST(Schema2, ANumberThatIsNoneIsRefusedByFileLineAndColumn) {
  EXPECT_THAT(message_of([&] {
                parse_rows("schema,experiment,case,local_load_sectors\n2,waves,a,many\n", "old.csv");
              }),
              HasSubstr("old.csv, line 2: 'many' is not a finite number for column local_load_sectors"));
}

}  // namespace
}  // namespace occbench
