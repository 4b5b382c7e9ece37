// SPDX-License-Identifier: BSD-2-Clause
// Events of memory management that the test causes in this machine's kernel.
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <numeric>

#include "core/events/attach/live_tables.h"
#include "core/events/vm/vm_rows.h"
#include "core/query.h"
#include "tests/support/live_group.h"
#include "tests/support/live_load.h"
#include "tests/support/live_table.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class LiveVmEvents : public testing::Test {
 protected:
  std::unique_ptr<KernelView> view_ = *make_live_kernel_view();  // outlives the table
  void SetUp() override {
    table_->set_view(*view_);
    if (const auto opened = table_->open(); !opened) {
      const bool may_be_refused = opened.error().code == ErrorCode::kPermission && ::geteuid() != 0;
      ASSERT_TRUE(may_be_refused || opened.error().code == ErrorCode::kNotPresent) << to_string(opened.error());
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
  /// 0 if there is none.
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
  /// Whether a program is attached to a function, so that the kernel's messages are not used.
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

  std::unique_ptr<events::EventTable> table_ = events::make_vm_events("failures");
  SourceReader reader_{*find_source("linux_vm_events")};
};

TEST_F(LiveVmEvents, NameTheVictimOfAFullGroup) {
  const auto hierarchy = mounted_hierarchy();
  if (!hierarchy) GTEST_SKIP() << "no memory controller of control groups below /sys/fs/cgroup";
  LiveGroup group(hierarchy->root + "/memstat_victim_" + std::to_string(::getpid()));
  if (!group.is_made()) GTEST_SKIP() << "cannot create a control group:  " << group.why_not();
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
  LiveVmCounters() { table_ = events::make_vm_events(kWithoutLimit); }
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
    const FreshPages read(kPages);
    read.read();
    const FreshPages written(kPages);
    written.write();
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (statistic(words[i]) == 0 && before[i] == 0) continue;  // this kernel does not have it
    EXPECT_GE(statistic(words[i]), before[i] + (words[i] == "page_faults_total{minor}" ? 2 : 1) * kPages) << words[i];
  }
  EXPECT_GE(statistic("vm_event_bytes_total{page_alloc}"), bytes + kPages * page_size);
  EXPECT_GE(sum_of_statistics(reader_.staging, "page_order_allocations_total{0,").sum, kPages);
}

TEST_F(LiveVmCounters, AreOfTheCpuWhereTheyHappened) {
  table_->show_cpus(true);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    const OnCpu here(cpu);
    if (!here.is_there()) continue;
    const std::string of_cpu = "cpu_vm_events_total{page_alloc," + std::to_string(cpu) + "}";
    const std::uint64_t count = statistic(of_cpu);
    constexpr std::size_t kPages = 500;
    FreshPages(kPages).write();
    EXPECT_GE(statistic(of_cpu), count + kPages) << of_cpu;
  }
  read();
  EXPECT_EQ(sum_of_statistics(reader_.staging, "cpu_vm_events_total{page_alloc,").sum,
            statistics_of(reader_.staging).at("vm_events_total{page_alloc}"));
  table_->show_cpus(false);
  read();
  EXPECT_EQ(sum_of_statistics(reader_.staging, "cpu_vm_events_total{").count, 0U);
}

TEST_F(LiveVmCounters, KeepRareEventsWhenTheOthersExceedTheBudget) {
  events::EventBudget budget(0);
  table_ = events::make_vm_events("counters 100", budget);
  ASSERT_TRUE(table_->open());
  FreshPages(20'000).write();
  EXPECT_FALSE(is_counted("page_alloc")) << reader_.raw.parts[0].view();
  EXPECT_TRUE(is_counted("oom_kill")) << reader_.raw.parts[0].view();
  EXPECT_NE(reader_.staging.note().find("until it is restarted"), std::string::npos);
  table_.reset();  // before the budget
}

TEST_F(LiveVmCounters, HaveAReasonWhereTheyAreMissing) {
  for (int event = 0; event < MEMSTAT_VM_TIME_MINOR; ++event) {
    const std::string word(events::word_of(static_cast<memstat_vm_event>(event)).word);
    const bool is_said_why = is_counted(word) ||
                             statistics_of(reader_.staging).contains("page_faults_total{" + word + "}") ||
                             reader_.staging.note().find(word + ": ") != std::string::npos;
    EXPECT_TRUE(is_said_why) << word;
  }
}

class LiveFaultTimes : public LiveVmEvents {
 protected:
  LiveFaultTimes() { table_ = events::make_vm_events("full 4000000000"); }
  /// The durations of page faults with this outcome; nothing if this kernel does not have them.
  std::optional<HistogramCounts> times(std::string_view kind) {
    read();
    const StagedStatistics& statistics = reader_.staging.statistics();
    for (const StagedStatistics::Entry& entry : statistics.entries()) {
      if (entry.metric->facts.name != "memstat_page_fault_seconds" || statistics.label(entry, 0) != kind) continue;
      const HistogramCounts counts = statistics.histogram(entry);
      counts_.assign(counts.counts.begin(), counts.counts.end());
      return HistogramCounts{.counts = counts_, .sum = counts.sum};
    }
    return std::nullopt;
  }
  std::uint64_t count(std::string_view kind) {
    const auto all = times(kind);
    return all ? std::accumulate(all->counts.begin(), all->counts.end(), std::uint64_t{0}) : 0;
  }

  std::vector<std::uint64_t> counts_;
};

TEST_F(LiveFaultTimes, AreThoseOfMemoryThatIsTouched) {
  if (!times("minor")) GTEST_SKIP() << reader_.staging.note();
  constexpr std::size_t kPages = 2000;
  const std::uint64_t before = count("minor");
  const double seconds = times("minor")->sum;
  FreshPages(kPages).write();
  EXPECT_GE(count("minor"), before + kPages);
  EXPECT_GT(times("minor")->sum, seconds + 1e-7 * kPages) << "no fault takes less";
}

/// The last CPU, which goes offline and comes back.
class PluggedCpu {
 public:
  /// Whether a CPU may go offline. A machine that others use keeps all of its CPUs.
  bool find() {
    if (::getenv("MEMSTAT_MAY_UNPLUG") == nullptr) return false;
    for (number_ = static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF)) - 1; number_ > 0; --number_) {
      if (::access(file().c_str(), W_OK) == 0) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] bool plug(bool is_in) const {
    std::ofstream out(file());
    out << (is_in ? "1" : "0") << std::flush;
    return out.good();
  }

 private:
  [[nodiscard]] std::string file() const { return "/sys/devices/system/cpu/cpu" + std::to_string(number_) + "/online"; }
  std::size_t number_ = 0;
};

TEST_F(LiveFaultTimes, AndCountsSurviveACpuThatGoesAndComesBack) {
  PluggedCpu cpu;
  if (!cpu.find()) GTEST_SKIP() << "no CPU may be unplugged: MEMSTAT_MAY_UNPLUG is set in the guests of tests/guests only";
  table_->show_cpus(true);
  const std::string of_cpu = "cpu_vm_events_total{page_alloc," + std::to_string(cpu.number()) + "}";
  constexpr std::size_t kPages = 500;
  const auto touch = [&cpu] {
    const OnCpu here(cpu.number());
    ASSERT_TRUE(here.is_there());
    FreshPages(kPages).write();
  };
  const auto ended = [this] { return count("minor") + statistic("events_lost_total{untimed}"); };
  const std::uint64_t first = statistic(of_cpu);
  touch();
  const std::uint64_t before = statistic(of_cpu);
  EXPECT_GE(before, first + kPages);
  ASSERT_TRUE(cpu.plug(false));
  EXPECT_GE(statistic(of_cpu), before) << "its counts remain";
  ASSERT_TRUE(cpu.plug(true));
  const std::uint64_t faults = ended();
  touch();
  EXPECT_GE(statistic(of_cpu), before + kPages) << "and continues to count";
  const bool has_time = !times("minor") || ended() + 1 >= faults + kPages;
  EXPECT_TRUE(has_time) << "faults without a time are reported as such";
}

}  // namespace
}  // namespace memstat
