// SPDX-License-Identifier: BSD-2-Clause
// Processes by name, from handwritten bundles and from trees like /proc's. Captured and live kernels:
// tests/guests/checker.py.
#include "core/collect/file_bundle.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/rooted_kernel_view.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_process_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_process"); }

/// The settings; by default the source's.
struct Settings {
  std::string names = {};  ///< one name that matches; "": no pattern
  std::uint64_t top = 10;
  std::uint64_t most_processes = 5000;
};

void set(ReaderState& state, const Settings& settings) {
  state.options.assign(3, {});
  if (!settings.names.empty()) {
    state.options[0].matches = [settings](std::string_view name) { return name == settings.names; };
  }
  state.options[1].number = settings.top;
  state.options[2].number = settings.most_processes;
}

/// "name: bytes/count/address space" of all types.
std::string words(const Staging& staging) {
  std::string text;
  for (const StagedType& type : staging.types()) {
    text += (text.empty() ? "" : "; ") + std::string(type.name) + ": " + std::to_string(type.figures[Field::kBytes]) + "/" +
            std::to_string(type.figures[Field::kCount]) + "/" + std::to_string(type.figures[Field::kAddressSpace]);
    EXPECT_EQ(type.fields, FieldMask(Field::kBytes, Field::kCount, Field::kAddressSpace));
  }
  return text;
}

std::string names_of(const Staging& staging) {
  std::string text;
  for (const StagedType& type : staging.types()) text += (text.empty() ? "" : " ") + std::string(type.name);
  return text;
}

class LinuxProcessParser : public testing::Test {
 protected:
  LinuxProcessParser() : bundle_(raw_.parts[0], scratch_) {
    raw_.page_size = 4096;
    set(*state_, {});
  }

  void add(const std::string& process, const std::string& comm, const std::string& statm) {
    ASSERT_TRUE(bundle_.add("/proc/" + process + "/statm", statm));
    ASSERT_TRUE(bundle_.add("/proc/" + process + "/comm", comm + "\n"));
  }
  void add_pages(const std::string& process, const std::string& comm, std::uint64_t resident) {
    add(process, comm, "1000 " + std::to_string(resident) + " 1 2 0 3 0\n");
  }
  Result<void> parse(std::string_view end = "0") {
    EXPECT_TRUE(bundle_.add("end", end));
    return source().steps.parse(raw_, *state_, staging_);
  }

  RawBytes raw_;
  std::unique_ptr<ReaderState> state_ = source().steps.make_state();
  Buffer scratch_;
  FileBundleWriter bundle_;
  Staging staging_;
};

TEST_F(LinuxProcessParser, AddsUpTheProcessesOfAName) {
  add("self", "memstatd", "100 20 10 5 0 7 0\n");
  add("7", "worker", "200 50 30 6 0 8 0\n");
  add("9", "alone", "300 1 1 1 0 1 0\n");
  add("12", "worker", "200 51 31 6 0 9 0\n");
  ASSERT_TRUE(parse("3"));
  EXPECT_EQ(words(staging_), "alone: 4096/1/1228800; memstatd: 81920/1/409600; worker: 413696/2/1638400");
  const auto statistics = statistics_of(staging_);
  EXPECT_EQ(statistics.at("process_part_bytes{worker,shared}"), 61U * 4096);
  EXPECT_EQ(statistics.at("process_part_bytes{worker,text}"), 12U * 4096);
  EXPECT_EQ(statistics.at("process_part_bytes{worker,data}"), 17U * 4096);
  EXPECT_EQ(statistics.at("process_part_bytes{memstatd,shared}"), 10U * 4096);
  EXPECT_EQ(statistics.at("processes_left_out"), 3U);
  EXPECT_TRUE(has_unique_statistics(staging_));
}

TEST_F(LinuxProcessParser, ShowsTheLargestNamesThoseThatMatchAndItself) {
  set(*state_, {.names = "small", .top = 2});
  add_pages("self", "memstatd", 1);
  add_pages("1", "small", 2);
  add_pages("2", "half", 60);
  add_pages("3", "middle", 100);
  add_pages("4", "half", 60);
  add_pages("5", "large", 200);
  add_pages("6", "equal", 100);
  ASSERT_TRUE(parse());
  EXPECT_EQ(names_of(staging_), "half large memstatd small") << "two halves are more than the middle";
  EXPECT_EQ(statistics_of(staging_).count("process_part_bytes{middle,text}"), 0U);
  EXPECT_EQ(statistics_of(staging_).at("process_names_left_out"), 2U) << "middle and equal";
}

TEST_F(LinuxProcessParser, TakesEqualsInTheOrderOfTheirNames) {
  set(*state_, {.top = 1});
  add_pages("self", "memstatd", 1);
  add_pages("5", "b", 200);
  add_pages("6", "a", 200);
  ASSERT_TRUE(parse());
  EXPECT_EQ(names_of(staging_), "a memstatd");
}

TEST_F(LinuxProcessParser, CountsWhatLooksTheSameAsLeftOut) {
  add_pages("self", "memstatd", 1);
  add_pages("1", "bad \xfe", 2);
  add_pages("2", "bad \xff", 3);
  ASSERT_TRUE(parse("5"));
  EXPECT_EQ(words(staging_), "bad \xEF\xBF\xBD: 20480/2/8192000; memstatd: 4096/1/4096000");
  EXPECT_EQ(statistics_of(staging_).at("processes_left_out"), 5U);
}

TEST_F(LinuxProcessParser, RefusesSumsBeyondSixtyFourBits) {
  add("self", "memstatd", "4503599627370495 0 0 0 0 0 0\n");
  add("3", "memstatd", "4503599627370495 0 0 0 0 0 0\n");
  const auto result = parse();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().detail, HasSubstr("one name"));
}

TEST_F(LinuxProcessParser, RefusesASizeBeyondSixtyFourBits) {
  add("self", "memstatd", "4503599627370496 0 0 0 0 0 0\n");
  EXPECT_FALSE(parse());
}

/// A tree like /proc's in a directory.
class LinuxProcessReader : public testing::Test {
 protected:
  void SetUp() override {
    if (!RootedKernelView::has_live_view()) GTEST_SKIP() << "there is no view of this system's kernel";
    view_.emplace(directory_.path());
    process("self", "memstatd", "100 20 10 5 0 7 0\n");
    process("40", "memstatd", "100 20 10 5 0 7 0\n");
    write_text(directory_.file("proc/self/stat"), "40 (memstatd) S 1 40 40 0 -1\n");
    process("1", "init", "50 5 1 1 0 1 0\n");
    process("2", "kthreadd", "0 0 0 0 0 0 0\n");
    process("300", "nginx", "80 9 1 1 0 1 0\n");
    process("301", "nginx", "80 8 1 1 0 1 0\n");
    process("bus", "no process", "999 99 9 9 0 9 0\n");
    process("30x", "no process", "999 99 9 9 0 9 0\n");
    view_->before = [this](std::string_view path) { paths_.emplace_back(path); };
  }
  void process(const std::string& id, const std::string& comm, const std::string& statm) {
    write_text(directory_.file("proc/" + id + "/comm"), comm + "\n");
    write_text(directory_.file("proc/" + id + "/statm"), statm);
  }
  /// The staged types after one read and parse.
  std::string read(const Settings& settings = {}) {
    set(*state_, settings);
    paths_.clear();
    if (const auto result = source().steps.read(*view_, raw_, *state_); !result) return to_string(result.error());
    raw_.page_size = 4096;
    if (const auto result = source().steps.parse(raw_, *state_, staging_); !result) return to_string(result.error());
    return words(staging_);
  }

  TemporaryDirectory directory_;
  std::optional<RootedKernelView> view_;
  std::vector<std::string> paths_;
  RawBytes raw_;
  std::unique_ptr<ReaderState> state_ = source().steps.make_state();
  Staging staging_;
};

constexpr const char* kSelfAlone = "memstatd: 81920/1/409600";

TEST_F(LinuxProcessReader, ReadsNoOtherProcessWhereNothingIsWanted) {
  EXPECT_EQ(read({.top = 0}), kSelfAlone);
  EXPECT_THAT(paths_, testing::ElementsAre("/proc/self/statm", "/proc/self/comm"));
}

TEST_F(LinuxProcessReader, ReadsTheSizesOfThoseThatMatchOnly) {
  EXPECT_EQ(read({.names = "nginx", .top = 0}), "memstatd: 81920/1/409600; nginx: 69632/2/655360");
  EXPECT_THAT(paths_, testing::Not(testing::Contains("/proc/1/statm")));
  EXPECT_THAT(paths_, testing::Contains("/proc/1/comm"));
  EXPECT_EQ(read({.names = "kthreadd", .top = 0}), kSelfAlone) << "it has no memory";
}

TEST_F(LinuxProcessReader, LooksAtNoMoreProcessesThanItMay) {
  read({.most_processes = 2});
  EXPECT_EQ(statistics_of(staging_).at("processes_left_out"), 2U);
  const auto looked_at = std::count_if(paths_.begin(), paths_.end(), [](const std::string& path) {
    return path.ends_with("/statm") && path != "/proc/self/statm";
  });
  EXPECT_EQ(looked_at, 2);
}

TEST_F(LinuxProcessReader, MissesNoneOfTheOthersWhenOneEndsOrIsHidden) {
  for (const int failure : {ENOENT, ESRCH, EACCES, EPERM}) {
    for (const char* file : {"/proc/300/statm", "/proc/300/comm"}) {
      view_->failures = {{file, failure}};
      EXPECT_EQ(read(), "init: 20480/1/204800; memstatd: 81920/1/409600; nginx: 32768/1/327680") << file << failure;
      EXPECT_EQ(read({.names = "nginx", .top = 0}), "memstatd: 81920/1/409600; nginx: 32768/1/327680") << file << failure;
    }
  }
}

}  // namespace
}  // namespace memstat::linux_process_test
