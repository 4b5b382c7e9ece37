// SPDX-License-Identifier: BSD-2-Clause
// The text of events of memory management from what the programs counted, its parsing, and on this machine's kernel events
// that the test makes happen.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/events/vm_events.h"
#include "core/events/vm_text.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/live_group.h"
#include "tests/support/staged_statistics.h"

namespace memstat {
namespace {

const SourceDescriptor& vm_source() { return *find_source("linux_vm_events"); }

const std::string kVmHeader = "vm_events 1\nmissed 0\nby_cache 1\n";

class LinuxVmEvents : public testing::Test {
 protected:
  Result<void> parse(const std::string& text) {
    reader_.raw.parts[0].assign(text);
    reader_.raw.cpu_count = 4;
    return parse_source(reader_);
  }
  std::uint64_t statistic(const std::string& words) const { return statistics_of(reader_.staging).at(words); }
  bool has_statistic(const std::string& words) const { return statistics_of(reader_.staging).contains(words); }
  void expect_refused(const std::string& text, std::uint64_t offset, ErrorCode code = ErrorCode::kData) {
    const auto result = parse(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, code) << text;
    EXPECT_EQ(result.error().offset, offset) << text;
  }

  SourceReader reader_{vm_source()};
};

TEST_F(LinuxVmEvents, AreCountedByTheirWords) {
  ASSERT_TRUE(parse("vm_events 1\nmissed 7\nby_cache 1\nevent oom_kill 3\nevent percpu_failure 2 4096\nend\n"));
  EXPECT_EQ(statistic("vm_events_total{oom_kill}"), 3U);
  EXPECT_EQ(statistic("vm_events_total{percpu_failure}"), 2U);
  EXPECT_EQ(statistic("vm_event_bytes_total{percpu_failure}"), 4096U);
  EXPECT_EQ(statistic("events_lost_total{vm_missed}"), 7U);
  EXPECT_FALSE(has_statistic("vm_event_bytes_total{oom_kill}"));
}

TEST_F(LinuxVmEvents, ThatThisKernelDoesNotGiveAreSaidToBeMissingAndAreNot0) {
  ASSERT_TRUE(parse(kVmHeader + "unsupported vmalloc_failure: this kernel has no tracepoint x\nevent oom_kill 0\nend\n"));
  EXPECT_EQ(reader_.staging.note(), "vmalloc_failure: this kernel has no tracepoint x");
  EXPECT_FALSE(has_statistic("vm_events_total{vmalloc_failure}"));
}

TEST_F(LinuxVmEvents, HavePageFaultsByKindAndPagesByOrder) {
  ASSERT_TRUE(
      parse(kVmHeader + "fault read 3\nfault major 1\npages 0 movable 7\npages 3 movable 2\npage_failures 3 4\nend\n"));
  EXPECT_EQ(statistic("page_faults_total{read}"), 3U);
  EXPECT_EQ(statistic("page_faults_total{major}"), 1U);
  EXPECT_EQ(statistic("page_order_allocations_total{0,movable}"), 7U);
  EXPECT_EQ(statistic("page_order_allocations_total{3,movable}"), 2U);
  EXPECT_EQ(statistic("page_order_failures_total{3}"), 4U);
}

TEST_F(LinuxVmEvents, FailuresOfACacheAreFailuresOfItsType) {
  ASSERT_TRUE(parse(kVmHeader + "event slab_failure 9\ncache 5 dentry\ncache 3 a b\ncache 1 dentry\nother_cache 1\nend\n"));
  const auto& types = reader_.staging.types();
  ASSERT_EQ(types.size(), 2U);
  EXPECT_EQ(types[0].name, "dentry");
  EXPECT_EQ(types[0].figures[Field::kFailures], 6U);
  EXPECT_EQ(types[0].fields, FieldMask(Field::kFailures));
  EXPECT_EQ(types[1].name, "a b");
  EXPECT_TRUE(reader_.staging.left_fields().empty());
}

TEST_F(LinuxVmEvents, LeaveFailuresByCacheToTheEventsOfCaches) {
  ASSERT_TRUE(parse("vm_events 1\nmissed 0\nby_cache 0\nevent slab_failure 9\nend\n"));
  EXPECT_EQ(reader_.staging.left_fields(), FieldMask(Field::kFailures));
}

TEST_F(LinuxVmEvents, NameTheCommandsOfVictims) {
  ASSERT_TRUE(parse(kVmHeader + "victim 2 java\nvictim 1 a b\nvictim 1 java\nother_victim 4\nend\n"));
  EXPECT_EQ(statistic("oom_victims_total{java}"), 3U);
  EXPECT_EQ(statistic("oom_victims_total{a b}"), 1U);
  EXPECT_EQ(statistic("oom_victims_total{other}"), 4U);
  ASSERT_TRUE(parse(kVmHeader + "victim 2 other\nother_victim 4\nend\n"));
  EXPECT_EQ(statistic("oom_victims_total{other}"), 6U) << "a command of that name is not a second series";
  EXPECT_TRUE(has_unique_statistics(reader_.staging));
}

TEST_F(LinuxVmEvents, RefuseWhatIsNoSuchText) {
  expect_refused("", 0, ErrorCode::kVersion);
  expect_refused("vm_events 2\n", 0, ErrorCode::kVersion);
  expect_refused("vm_events 1\nmissed x\n", 12);
  expect_refused(kVmHeader, kVmHeader.size());
  for (const std::string line : {"",
                                 "word",
                                 "word 1 a",
                                 "event",
                                 "event oom_kill",
                                 "event oom_kill -1",
                                 "event oom_kill 1 2 3",
                                 "event oom_kill 1 x",
                                 "victim 1",
                                 "victim 1 ",
                                 "victim x a",
                                 "cache 1",
                                 "cache a",
                                 "other_victim 1 a",
                                 "other_cache",
                                 "unsupported",
                                 "unsupported word",
                                 "event oom_kill 18446744073709551616",
                                 "fault read",
                                 "fault read 1 1",
                                 "pages 0 movable",
                                 "pages x movable 1",
                                 "pages 0 movable 1 1",
                                 "page_failures 1",
                                 "page_failures 1 x"})
    expect_refused(kVmHeader + line + "\nend\n", kVmHeader.size());
  expect_refused(kVmHeader + "end\nevent a 1\n", kVmHeader.size() + 4);
}

TEST_F(LinuxVmEvents, RefuseMoreThanThePrograms) {
  std::string text = kVmHeader;
  for (int i = 0; i < 65; ++i) text += "victim 1 v" + std::to_string(i) + "\n";
  EXPECT_FALSE(parse(text + "end\n"));
  text = kVmHeader;
  for (int i = 0; i < 65; ++i) text += "event v" + std::to_string(i) + " 1\n";
  EXPECT_FALSE(parse(text + "end\n"));
  text = kVmHeader;
  for (int i = 0; i < 145; ++i) text += "pages " + std::to_string(i) + " movable 1\n";
  EXPECT_FALSE(parse(text + "end\n"));
}

TEST_F(LinuxVmEvents, RefuseATextThatIsCutAnywhere) {
  const std::string text = kVmHeader +
                           "unsupported a: b\nevent percpu_failure 2 4096\nfault read 3\npages 0 movable 7\npage_failures 3 "
                           "4\nvictim 2 java\nother_victim 1\ncache 5 dentry\nend\n";
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(parse(text.substr(0, size))) << size;
  EXPECT_TRUE(parse(text));
}

TEST_F(LinuxVmEvents, StayAtTheLargestNumber) {
  const std::string most = "18446744073709551615";
  ASSERT_TRUE(parse(kVmHeader + "victim " + most + " a\nvictim 1 a\ncache " + most + " a\ncache 1 a\nend\n"));
  EXPECT_EQ(std::to_string(statistic("oom_victims_total{a}")), most);
  EXPECT_EQ(std::to_string(reader_.staging.types()[0].figures[Field::kFailures]), most);
}

TEST(LinuxVmEventsCapture, AreOfAKernelThatRan) {
  for (const std::string& capture : captures_of_source("linux_vm_events")) {
    const auto view = open_fixture(capture);
    SourceReader reader(vm_source());
    MemoryTypeList list;
    ASSERT_TRUE(open_source(reader, *view)) << capture;
    ASSERT_TRUE(refresh(reader, *view, list, 1)) << capture;
    EXPECT_GT(statistics_of(reader.staging).at("vm_events_total{oom_kill}"), 0U) << capture;
  }
}

/// What the programs share with us, filled by hand.
class VmText : public testing::Test {
 protected:
  std::string text() {
    events::write_vm_text(*shared_, cpus_, facts_, out_);
    return std::string(out_.view());
  }
  static void name(memstat_vm_name& place, std::uint64_t count, std::string_view name) {
    place.state = 2;
    place.count = count;
    name.copy(place.name, sizeof place.name);
  }

  std::unique_ptr<memstat_vm_shared> shared_ = std::make_unique<memstat_vm_shared>();
  std::vector<memstat_vm_cpu> cpus_{2};
  events::VmTextFacts facts_;
  Buffer out_;
};

TEST_F(VmText, HasTheSumsOfAllCpusOfWhatIsCounted) {
  facts_.counted.set(MEMSTAT_VM_OOM_KILL).set(MEMSTAT_VM_PERCPU_FAILURE);
  facts_.unsupported = "unsupported slab_failure: why\n";
  facts_.missed_events = 4;
  cpus_[0].events[MEMSTAT_VM_OOM_KILL].count = 1;
  cpus_[1].events[MEMSTAT_VM_OOM_KILL].count = 2;
  cpus_[1].events[MEMSTAT_VM_PERCPU_FAILURE] = {.count = 1, .bytes = 64};
  cpus_[1].events[MEMSTAT_VM_PAGE_FAILURE].count = 9;
  EXPECT_EQ(text(),
            "vm_events 1\nmissed 4\nby_cache 0\nunsupported slab_failure: why\nevent oom_kill 3\nevent percpu_failure 1 "
            "64\nend\n");
}

TEST_F(VmText, HasNamesThatAreWholeOnALineEach) {
  facts_.has_victims = true;
  facts_.has_cache_failures = true;
  name(shared_->victims.names[0], 3, "a\nb");
  name(shared_->victims.names[1], 1, "half");
  shared_->victims.names[1].state = 1;
  name(shared_->caches.names[0], 2, std::string(MEMSTAT_VM_NAME_SIZE, 'x'));
  shared_->caches.others = 5;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 1\nvictim 3 a?b\ncache 2 " + std::string(MEMSTAT_VM_NAME_SIZE, 'x') +
                        "\nother_cache 5\nend\n");
}

TEST_F(VmText, AddsFaultsThatTheKernelCountedAndThoseOfTheCpu) {
  facts_.counted.set(MEMSTAT_VM_FAULT_READ).set(MEMSTAT_VM_FAULT_WRITE).set(MEMSTAT_VM_FAULT_MINOR);
  cpus_[0].events[MEMSTAT_VM_FAULT_READ].count = 1;
  cpus_[0].user_faults[0] = 10;
  cpus_[1].kernel_faults[0] = 100;
  cpus_[1].kernel_faults[1] = 7;
  facts_.minor_faults = 55;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\nfault read 111\nfault write 7\nfault minor 55\nend\n");
}

TEST_F(VmText, HasNoLengthOfBrkWhereItIsNotKnown) {
  facts_.counted.set(MEMSTAT_VM_BRK).set(MEMSTAT_VM_MMAP);
  facts_.has_brk_length = false;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\nevent mmap 0 0\nevent brk 0\nend\n");
}

TEST_F(VmText, HasPagesByOrderAndMigrateType) {
  facts_.has_pages = true;
  facts_.migrate_types[1] = "movable";
  cpus_[0].pages[0][1] = 2;
  cpus_[1].pages[0][1] = 3;
  cpus_[1].pages[9][7] = 1;
  cpus_[1].page_failures[9] = 4;
  EXPECT_EQ(text(), "vm_events 1\nmissed 0\nby_cache 0\npages 0 movable 5\npages 9 unknown 1\npage_failures 9 4\nend\n");
}

TEST_F(VmText, OfEveryEventIsTakenByTheParser) {
  facts_.counted.set();
  facts_.has_victims = true;
  SourceReader reader(vm_source());
  reader.raw.parts[0].assign(text());
  const auto result = parse_source(reader);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(sum_of_statistics(reader.staging, "vm_events_total{").count +
                sum_of_statistics(reader.staging, "page_faults_total{").count,
            static_cast<std::size_t>(MEMSTAT_VM_EVENTS));
}

// ---- this machine's kernel -----------------------------------------------------------------------------------------------

class LiveVmEvents : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto opened = table_->open(); !opened) {
      ASSERT_EQ(opened.error().code, ErrorCode::kNotPresent) << to_string(opened.error());
      GTEST_SKIP() << to_string(opened.error());
    }
    read();
  }
  void read() {
    ASSERT_TRUE(table_->read(reader_.raw.parts[0]));
    reader_.raw.cpu_count = 1;
    const auto parsed = parse_source(reader_);
    ASSERT_TRUE(parsed) << to_string(parsed.error()) << reader_.raw.parts[0].view();
  }
  /// 0 when there is none.
  std::uint64_t statistic(const std::string& words) {
    read();
    const auto all = statistics_of(reader_.staging);
    const auto found = all.find(words);
    return found == all.end() ? 0 : found->second;
  }
  bool is_counted(const std::string& event) {
    read();
    return statistics_of(reader_.staging).contains("vm_events_total{" + event + "}");
  }
  std::uint64_t failures_of(std::string_view cache) {
    read();
    for (const StagedType& type : reader_.staging.types()) {
      if (type.name == cache) return type.figures[Field::kFailures];
    }
    return 0;
  }
  /// Whether a program is attached to a function, so that messages of the kernel are not looked at.
  static bool has_function_program() {
    for (int descriptor = 0; descriptor < 256; ++descriptor) {
      std::ifstream file("/proc/self/fdinfo/" + std::to_string(descriptor));
      for (std::string word; file >> word;) {
        if (word == "tracing") return true;
      }
    }
    return false;
  }
  /// What the kernel itself would print.
  static bool print(const std::string& message) {
    const int log = ::open("/dev/kmsg", O_WRONLY);
    const bool is_written = log >= 0 && ::write(log, message.data(), message.size()) > 0;
    ::close(log);
    return is_written;
  }

  std::unique_ptr<LiveTable> table_ = events::make_vm_events("failures");
  SourceReader reader_{vm_source()};
};

TEST_F(LiveVmEvents, NameTheVictimOfAFullGroup) {
  const auto hierarchy = mounted_hierarchy();
  if (!hierarchy) GTEST_SKIP() << "no memory controller of control groups below /sys/fs/cgroup";
  LiveGroup group(hierarchy->root + "/memstat_victim_" + std::to_string(::getpid()));
  if (!group.is_made()) GTEST_SKIP() << "no control group can be made: " << group.why_not();
  ASSERT_TRUE(group.write(hierarchy->is_version_1 ? "memory.limit_in_bytes" : "memory.max", "4194304"));
  if (!hierarchy->is_version_1) group.write("memory.swap.max", "0");
  const std::uint64_t before = statistic("vm_events_total{oom_kill}");
  const std::uint64_t of_command = statistic("oom_victims_total{memstat victim}");
  std::array<char, 16> own_name{};
  ASSERT_EQ(::prctl(PR_GET_NAME, own_name.data()), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, "memstat victim"), 0);
  Eater eater(group, 64U << 20U);
  ASSERT_EQ(::prctl(PR_SET_NAME, own_name.data()), 0);
  if (!eater.is_in_group()) GTEST_SKIP() << "processes cannot be put into the control group";
  EXPECT_FALSE(eater.has_eaten());
  EXPECT_EQ(eater.wait(), SIGKILL);
  EXPECT_GE(statistic("vm_events_total{oom_kill}"), before + 1);
  EXPECT_GE(statistic("oom_victims_total{memstat victim}"), of_command + 1);
}

TEST_F(LiveVmEvents, NameTheCacheOfAMessage) {
  if (!is_counted("slab_failure")) GTEST_SKIP() << reader_.staging.note();
  if (has_function_program()) GTEST_SKIP() << "this kernel lets programs attach to slab_out_of_memory() itself";
  const std::string cache = "memstat_test_" + std::to_string(::getpid());
  const std::uint64_t before = statistic("vm_events_total{slab_failure}");
  if (!print("  cache: " + cache + ", object size: 8, buffer size: 8, default order: 0, min order: 0\n")) {
    GTEST_SKIP() << "/dev/kmsg cannot be written";
  }
  EXPECT_EQ(failures_of(cache), 1U);
  EXPECT_GE(statistic("vm_events_total{slab_failure}"), before + 1);
  ASSERT_TRUE(print("  cache: \n"));
  ASSERT_TRUE(print("  cache: " + std::string(200, 'x') + "\n"));
  EXPECT_EQ(failures_of(std::string(MEMSTAT_VM_NAME_SIZE - 1, 'x')), 0U) << "no such message of the kernel";
}

TEST_F(LiveVmEvents, CountAMessageOfAPageThatWasNotGiven) {
  if (!is_counted("page_failure")) GTEST_SKIP() << reader_.staging.note();
  const std::uint64_t before = statistic("vm_events_total{page_failure}");
  if (!print("memstat test: page allocation failure: order:3, mode:0x0(), nodemask=(null)\n")) {
    GTEST_SKIP() << "/dev/kmsg cannot be written";
  }
  EXPECT_GE(statistic("vm_events_total{page_failure}"), before + 1);
}

class LiveVmCounters : public LiveVmEvents {
 protected:
  LiveVmCounters() { table_ = events::make_vm_events("counters"); }
};

/// Memory of this size, no page of which is there yet.
class FreshMemory {
 public:
  explicit FreshMemory(std::size_t size)
      : size_(size), memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    ::madvise(memory_, size, MADV_NOHUGEPAGE);
  }
  ~FreshMemory() { ::munmap(memory_, size_); }
  FreshMemory(const FreshMemory&) = delete;
  FreshMemory& operator=(const FreshMemory&) = delete;
  [[nodiscard]] volatile char* page(std::size_t number) const {
    return static_cast<volatile char*>(memory_) + number * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }

 private:
  std::size_t size_;
  void* memory_;
};

TEST_F(LiveVmCounters, CountTheFaultsAndPagesOfMemoryThatIsTouched) {
  constexpr std::uint64_t kPages = 2000;
  const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::vector<std::string> words{"page_faults_total{read}", "page_faults_total{write}", "page_faults_total{minor}",
                                       "vm_events_total{page_alloc}"};
  std::vector<std::uint64_t> before;
  for (const std::string& word : words) before.push_back(statistic(word));
  const std::uint64_t bytes = statistic("vm_event_bytes_total{page_alloc}");
  {
    const FreshMemory read(kPages * page_size);
    const FreshMemory written(kPages * page_size);
    for (std::size_t i = 0; i < kPages; ++i) {
      (void)*read.page(i);
      *written.page(i) = 1;
    }
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (statistic(words[i]) == 0 && before[i] == 0) continue;  // this kernel does not give it
    EXPECT_GE(statistic(words[i]), before[i] + (words[i] == "page_faults_total{minor}" ? 2 : 1) * kPages) << words[i];
  }
  EXPECT_GE(statistic("vm_event_bytes_total{page_alloc}"), bytes + kPages * page_size);
  EXPECT_GE(sum_of_statistics(reader_.staging, "page_order_allocations_total{0,").sum, kPages);
}

TEST_F(LiveVmCounters, LeaveFailuresByCacheToTheEventsOfCaches) {
  EXPECT_TRUE(reader_.staging.types().empty());
  EXPECT_TRUE(reader_.staging.left_fields().has(Field::kFailures));
}

TEST_F(LiveVmCounters, HaveAReasonWhereTheyAreMissing) {
  for (int event = 0; event < MEMSTAT_VM_EVENTS; ++event) {
    const std::string word(events::word_of(static_cast<memstat_vm_event>(event)).word);
    const bool is_said_why = is_counted(word) ||
                             statistics_of(reader_.staging).contains("page_faults_total{" + word + "}") ||
                             reader_.staging.note().find(word + ": ") != std::string::npos;
    EXPECT_TRUE(is_said_why) << word;
  }
}

}  // namespace
}  // namespace memstat
