// SPDX-License-Identifier: BSD-2-Clause
// Processes by name: from handwritten bundles, from trees like /proc's, and from this machine's kernel, compared with other
// files about this process.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/collect/file_bundle.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
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
}

TEST_F(LinuxProcessParser, ShowsItselfAloneWhereNothingIsWanted) {
  set(*state_, {.top = 0});
  add_pages("self", "memstatd", 1);
  add_pages("5", "large", 200);
  ASSERT_TRUE(parse());
  EXPECT_EQ(names_of(staging_), "memstatd");
}

TEST_F(LinuxProcessParser, TakesEqualsInTheOrderOfTheirNames) {
  set(*state_, {.top = 1});
  add_pages("self", "memstatd", 1);
  add_pages("5", "b", 200);
  add_pages("6", "a", 200);
  ASSERT_TRUE(parse());
  EXPECT_EQ(names_of(staging_), "a memstatd");
}

TEST_F(LinuxProcessParser, TakesNamesAsTheyAre) {
  const std::string longest(4096, 'x');
  add_pages("self", "", 1);
  add_pages("1", "two words", 2);
  add_pages("2", "quote\" and \\ slash", 3);
  add_pages("3", "new\nline", 4);
  add_pages("4", "bad \xff byte", 5);
  add_pages("5", longest, 6);
  ASSERT_TRUE(parse());
  EXPECT_EQ(staging_.types().front().name, "");
  EXPECT_EQ(names_of(staging_), "bad \xEF\xBF\xBD byte new\\x0aline quote\" and \\ slash two words " + longest);
}

TEST_F(LinuxProcessParser, CountsWhatLooksTheSameAsLeftOut) {
  add_pages("self", "memstatd", 1);
  add_pages("1", "bad \xfe", 2);
  add_pages("2", "bad \xff", 3);
  ASSERT_TRUE(parse("5"));
  EXPECT_EQ(words(staging_), "bad \xEF\xBF\xBD: 8192/1/4096000; memstatd: 4096/1/4096000");
  EXPECT_EQ(statistics_of(staging_).at("processes_left_out"), 6U);
}

TEST_F(LinuxProcessParser, RefusesNumbersThatAreNone) {
  add("self", "memstatd", "1 2 3\n");
  const auto result = parse();
  ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = "/proc/self/statm"}));
  EXPECT_THAT(result.error().detail, HasSubstr("six numbers"));
}

TEST_F(LinuxProcessParser, RefusesSumsBeyondSixtyFourBits) {
  add("self", "memstatd", "4503599627370495 0 0 0 0 0 0\n");
  add("3", "memstatd", "4503599627370495 0 0 0 0 0 0\n");
  const auto result = parse();
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().detail, HasSubstr("one name"));
}

TEST_F(LinuxProcessParser, RefusesABundleThatIsNotWhole) {
  const auto refused = [&] { return !source().steps.parse(raw_, *state_, staging_); };
  EXPECT_TRUE(refused()) << "empty";
  add_pages("self", "memstatd", 1);
  EXPECT_TRUE(refused()) << "no end";
  ASSERT_TRUE(bundle_.add("/proc/4/statm", "1 1 1 1 1 1 1\n"));
  EXPECT_FALSE(parse()) << "statm without comm";
  FileBundleWriter other(raw_.parts[0], scratch_);
  ASSERT_TRUE(other.add("end", "0"));
  EXPECT_TRUE(refused()) << "not even this process";
}

TEST_F(LinuxProcessParser, RefusesAnEndThatIsNone) {
  add_pages("self", "memstatd", 1);
  EXPECT_FALSE(parse("many"));
  EXPECT_FALSE(parse("0")) << "and something behind it";
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

TEST_F(LinuxProcessReader, FindsProcessesWithMemoryAndItselfOnce) {
  EXPECT_EQ(read(), "init: 20480/1/204800; memstatd: 81920/1/409600; nginx: 69632/2/655360");
  EXPECT_EQ(statistics_of(staging_).at("processes_left_out"), 0U);
}

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

TEST_F(LinuxProcessReader, SaysWhatElseGoesWrong) {
  for (const char* file :
       {"/proc/300/statm", "/proc/300/comm", "/proc/self/statm", "/proc/self/comm", "/proc/self/stat", "/proc"}) {
    view_->failures = {{file, EIO}};
    EXPECT_THAT(read(), HasSubstr(std::string(file) + ": ")) << file;
  }
}

TEST_F(LinuxProcessReader, IsNotThereWithoutProc) {
  view_->failures = {{"/proc/self/statm", ENOENT}};
  SourceReader reader(source());
  EXPECT_TRUE(fails(open_source(reader, *view_), ErrorCode::kNotPresent));
}

/// "VmRSS" of /proc/self/status in B: another file, which the kernel prints with other code. Nothing: there is no such file.
std::optional<std::uint64_t> status_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t kilobytes = 0;
    if (words >> word >> kilobytes && word == key + ":") return kilobytes * 1024;
  }
  return {};
}

/// The live kernel's figures of one name, with that name configured.
std::optional<Figures> live_figures(const std::string& name) {
  auto view = make_live_kernel_view();
  if (!view) return {};
  SourceReader reader(source());
  reader.state->options.assign(3, {});
  reader.state->options[0].matches = [name](std::string_view other) { return other == name; };
  reader.state->options[2].number = 1'000'000;
  MemoryTypeList list;
  if (const auto opened = open_source(reader, **view); !opened) return {};
  if (const auto refreshed = refresh(reader, **view, list, 1); !refreshed) return {};
  for (const StagedType& type : reader.staging.types()) {
    if (type.name == name) return type.figures;
  }
  return Figures{};
}

TEST(LinuxProcessLive, AgreesWithStatusOnAProcessThatWeStarted) {
  constexpr std::size_t kTouched = 48U << 20U;
  constexpr std::uint64_t kSlack = 4U << 20U;  // the kernel counts pages per CPU and adds them up occasionally
  if (!status_of("/proc/self/status", "VmRSS")) GTEST_SKIP() << "no /proc/self/status: not Linux, or no /proc";
  const std::string name = "msd" + std::to_string(::getpid());
  std::array<int, 2> ready{};
  std::array<int, 2> done{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(done.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(done[1]);
    std::ofstream("/proc/self/comm") << name;
    char* memory =
        static_cast<char*>(::mmap(nullptr, 2 * kTouched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) ::_exit(1);
    for (std::size_t at = 0; at < kTouched; at += 4096) memory[at] = 1;
    char byte = 1;
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    if (::read(done[0], &byte, 1) != 0) ::_exit(1);  // until the test is over
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string status = "/proc/" + std::to_string(child) + "/status";
  const auto figures = live_figures(name);
  const auto resident = status_of(status, "VmRSS");
  const auto size = status_of(status, "VmSize");
  ::close(done[1]);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(done[0]);
  ASSERT_TRUE(figures);
  if ((*figures)[Field::kCount] == 0) GTEST_SKIP() << "a process could not give itself a name, or is hidden from us";
  EXPECT_EQ((*figures)[Field::kCount], 1U);
  EXPECT_EQ((*figures)[Field::kAddressSpace], *size) << "the child does nothing, so not a page may differ";
  EXPECT_GE((*figures)[Field::kBytes] + kSlack, kTouched);
  EXPECT_LE((*figures)[Field::kBytes], *resident + kSlack);
  EXPECT_GE((*figures)[Field::kBytes] + kSlack, *resident);
  const auto after = live_figures(name);
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[Field::kCount], 0U) << "it has ended";
}

}  // namespace
}  // namespace memstat::linux_process_test
