#include "entries/entries.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/entry_paths.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string file_of(const std::function<void(std::string&)>& append) {
  std::string file(kEntriesMagic);
  append(file);
  return file;
}

std::vector<EntryView> entries_of(std::string_view file) {
  std::vector<EntryView> entries;
  EXPECT_TRUE(for_each_entry(file, [&](const EntryView& entry) { entries.push_back(entry); }));
  return entries;
}

TEST(Entries, AreReadAsTheyWereWritten) {
  const KernelFacts facts{
      .device = 1, .name = 7, .grid = {2147483647, 65535, 2}, .registers_per_thread = 255};
  const std::vector<double> reading = {71.5, 1e300, -0.0};
  const std::string file = file_of([&](std::string& to) {
    append_facts(to, EntryKind::kernel, 3, facts);
    append_entry(to, EntryKind::reading, 3, 0, std::as_bytes(std::span(reading)));
    append_entry(to, EntryKind::windows, 0, 4'000'000'000u, {});
  });
  const std::vector<EntryView> entries = entries_of(file);
  ASSERT_THAT(entries, SizeIs(3));
  KernelFacts read;
  EXPECT_EQ(entries[0].head.kind, EntryKind::kernel);
  EXPECT_EQ(entries[0].head.number, 3);
  EXPECT_TRUE(entries[0].read(read));
  EXPECT_EQ(read, facts);
  EXPECT_EQ(entries[1].values<double>(), reading);
  EXPECT_EQ(entries[2].head.other, 4'000'000'000u);
  EXPECT_FALSE(entries[2].read(read)) << "it has no payload";
}

TEST(Entries, OfLongTextsArePiecesOfAFewHundredBytes) {
  std::string name;
  for (int i = 0; name.size() < 3000; ++i) name += std::to_string(i) + "_";
  const std::string file = file_of([&](std::string& to) { append_text(to, EntryKind::name, 9, name); });
  std::string read;
  for (const EntryView& piece : entries_of(file)) {
    EXPECT_LE(piece.head.bytes, kMostEntryBytes);
    EXPECT_EQ(piece.head.other, read.size());
    read += piece.payload;
  }
  EXPECT_EQ(read, name);
  const std::string cut =
      file_of([&](std::string& to) { append_cut_text(to, EntryKind::counting, 0, 5, name); });
  ASSERT_THAT(entries_of(cut), SizeIs(1));
  EXPECT_TRUE(name.starts_with(entries_of(cut)[0].payload));
}

TEST(Entries, AreWholeWhereverTheFileIsTorn) {
  const std::string file = file_of([&](std::string& to) {
    for (std::uint32_t i = 0; i < 5; ++i) append_text(to, EntryKind::name, i, std::string(10 * i + 1, 'x'));
  });
  const std::size_t whole = entries_of(file).size();
  for (std::size_t length = kEntriesMagic.size(); length < file.size(); ++length) {
    const std::vector<EntryView> entries = entries_of(std::string_view(file).substr(0, length));
    EXPECT_LT(entries.size(), whole);
    for (const EntryView& entry : entries)
      EXPECT_EQ(entry.payload, std::string(10 * entry.head.number + 1, 'x'));
  }
}

TEST(Entries, OfAnotherVersionOrNoneAreRefused) {
  const auto ignore = [](const EntryView&) {};
  EXPECT_FALSE(for_each_entry("", ignore));
  EXPECT_FALSE(for_each_entry("schema,experiment,case\n", ignore));
  std::string later(kEntriesMagic);
  later[later.find_first_of("0123456789")] = '9';
  EXPECT_FALSE(for_each_entry(later, ignore));
  EXPECT_THAT(entries_of(kEntriesMagic), IsEmpty());
}

/// Lengths that cannot be end the reading.
TEST(Entries, OfABrokenFileAreThoseBeforeTheBreak) {
  for (const std::uint32_t bytes : {0u, 15u, 513u, 0xFFFFFFFFu}) {
    std::string file = file_of([&](std::string& to) {
      append_text(to, EntryKind::name, 1, "whole");
      append_text(to, EntryKind::name, 2, "broken");
    });
    std::memcpy(file.data() + kEntriesMagic.size() + 24, &bytes, sizeof bytes);
    ASSERT_THAT(entries_of(file), SizeIs(1)) << bytes;
    EXPECT_EQ(entries_of(file)[0].payload, "whole");
  }
}

struct ProcessFilesTest : testing::Test {
  TemporaryFolder temporary;
  fs::path folder = temporary.path();
  fs::path out = folder / "run.csv";
};

TEST_F(ProcessFilesTest, AreNamedByProcessAndProgram) {
  const fs::path first = make_entry_file(out, 41);
  const fs::path after_exec = make_entry_file(out, 41);
  EXPECT_EQ(first, folder / "run.41.entries");
  EXPECT_EQ(after_exec, folder / "run.41-2.entries");
  EXPECT_EQ(fs::file_size(first), kEntriesMagic.size());
  EXPECT_THAT(entry_files(out), ElementsAre(after_exec, first));
}

TEST_F(ProcessFilesTest, AreNotWhatOthersNamedSo) {
  for (const char* name : {"run.1.entries", "run.41.csv", "run.entries", "run..entries", "run.4x.entries",
                           "run.-2.entries", "runs.41.entries"}) {
    std::ofstream(folder / name) << (std::string_view(name) == "run.1.entries" ? "mine" : kEntriesMagic);
  }
  EXPECT_TRUE(entry_files(out).empty());
  // A file of that name stays as it is.
  EXPECT_EQ(make_entry_file(out, 1), folder / "run.1-2.entries");
}

TEST_F(ProcessFilesTest, AreNoFoldersNorPipesWhichNobodyMayWriteTo) {
  std::filesystem::create_directory(folder / "run.8.entries");
  EXPECT_TRUE(entry_files(out).empty());
  ASSERT_EQ(::mkfifo((folder / "run.7.entries").c_str(), 0600), 0);
  EXPECT_THROW(entry_files(out), InputError);
  EXPECT_EQ(make_entry_file(out, 7), folder / "run.7-2.entries");
}

TEST_F(ProcessFilesTest, InAFolderThatIsNotThereAreRefusedAndNone) {
  EXPECT_THROW(make_entry_file("/nonexistent/run.csv", 1), InputError);
  EXPECT_TRUE(entry_files("/nonexistent/run.csv").empty());
}

}  // namespace
}  // namespace occbench
