// SPDX-License-Identifier: BSD-2-Clause
// Counters of CPUs, from the configured sets to the metrics: the table on made-up CPUs, and the parser on handwritten text.
#include "tests/support/test.h"

#include "core/base/text.h"
#include "core/counters/counter_table.h"
#include "core/counters/perf_system.h"
#include "core/query.h"
#include "tests/support/fake_perf_events.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/staged_statistics.h"

namespace memstat::counters {
namespace {

const SourceDescriptor& counter_source() { return *find_source("cpu_counters"); }

double value_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }

/// One event's numbers in a line of the table: its increase and its total.
std::pair<std::uint64_t, std::uint64_t> figures_in(std::string_view table, std::string_view line, std::string_view event) {
  const std::size_t at = table.find(line);
  const std::size_t place = at == std::string_view::npos ? at : table.find(" " + std::string(event) + " ", at);
  if (place == std::string_view::npos) return {~std::uint64_t{0}, ~std::uint64_t{0}};
  std::string_view rest = table.substr(place, table.find('\n', place) - place);
  std::string_view word;
  next_word(rest, word);
  next_word(rest, word);
  const std::uint64_t count = parse_u64(word).value_or(~std::uint64_t{0});
  next_word(rest, word);
  return {count, parse_u64(word).value_or(~std::uint64_t{0})};
}

class CounterTableTest : public testing::Test {
 protected:
  CounterTableTest() {
    view_.contents["/proc/sys/kernel/perf_event_paranoid"] = {"2\n"};
    handle_.rates[{kPerfSoftware, 5}] = 3;  // minor faults a ns
  }
  /// A table of these sets whose CPUs `online` are online, opened.
  CounterTable& open(std::vector<CounterSet> sets, std::string_view online = "0-1") {
    table_ = std::make_unique<CounterTable>(std::move(sets), [this] {
      Answer<std::unique_ptr<CounterSystem>> answer;
      answer.value = std::make_unique<PerfSystem>(handle_, view_);
      return answer;
    });
    table_->set_online(online);
    opened_ = table_->open();
    return *table_;
  }
  std::string read() {
    const auto result = table_->read(out_);
    return result ? std::string(out_.view()) : "error: " + to_string(result.error());
  }

  FakePerfEvents handle_;
  PreparedKernelView view_{OperatingSystem::kLinux, 128};
  std::unique_ptr<CounterTable> table_;
  Result<void> opened_;
  Buffer out_;
};

TEST_F(CounterTableTest, CountsEachCpuSinceTheReadBeforeAndInAll) {
  open({{.name = "memory", .cpus = "all", .events = {"minor-faults", "context-switches"}}});
  ASSERT_TRUE(opened_) << to_string(opened_.error());
  handle_.run(10);
  EXPECT_EQ(read(),
            "cpu 0 set memory enabled_ns 10 running_ns 10 minor-faults 30 30 context-switches 10 10\n"
            "cpu 1 set memory enabled_ns 10 running_ns 10 minor-faults 30 30 context-switches 10 10\n"
            "end 2\n");
  handle_.run(5);
  EXPECT_EQ(read(),
            "cpu 0 set memory enabled_ns 5 running_ns 5 minor-faults 15 45 context-switches 5 15\n"
            "cpu 1 set memory enabled_ns 5 running_ns 5 minor-faults 15 45 context-switches 5 15\n"
            "end 2\n");
  for (const auto& [thread, cpu] : handle_.places) EXPECT_EQ(thread, -1) << "whatever runs on a CPU is counted";
  table_.reset();
  EXPECT_EQ(handle_.open_count(), 0U);
}

TEST_F(CounterTableTest, ReadsSixEventsOfSixtyFourCpusByOneCallACpu) {
  open({{.name = "six",
         .cpus = "all",
         .events = {"page-faults", "minor-faults", "major-faults", "context-switches", "cpu-migrations", "cpu-clock"}}},
       "0-63");
  handle_.run(1);
  handle_.reads = 0;
  EXPECT_THAT(read(), HasSubstr("\nend 64\n"));
  EXPECT_EQ(handle_.reads, 64U);
}

TEST_F(CounterTableTest, CountsSetsOnTheCpusThatTheyName) {
  open({{.name = "few", .cpus = "1,3", .events = {"minor-faults"}},
        {.name = "all", .cpus = "all", .events = {"major-faults"}}},
       "0-2");
  handle_.run(1);
  EXPECT_EQ(read(),
            "cpu 0 set all enabled_ns 1 running_ns 1 major-faults 1 1\n"
            "cpu 1 set few enabled_ns 1 running_ns 1 minor-faults 3 3\n"
            "cpu 1 set all enabled_ns 1 running_ns 1 major-faults 1 1\n"
            "cpu 2 set all enabled_ns 1 running_ns 1 major-faults 1 1\n"
            "end 4\n");
}

// Two sets of three events take turns on a CPU with four counters, unevenly: a value scaled over the whole time would fall.
TEST_F(CounterTableTest, TotalsOfSetsThatTakeTurnsAreScaledAndNeverFall) {
  open({{.name = "a", .cpus = "0", .events = {"r1", "r2", "r3"}}, {.name = "b", .cpus = "0", .events = {"r4", "r5", "r6"}}},
       "0");
  ASSERT_TRUE(opened_) << to_string(opened_.error());
  handle_.run(100);
  std::string table = read();
  EXPECT_THAT(table, StartsWith("cpu 0 set a enabled_ns 100 running_ns 50 r1 50 100 "));
  std::uint64_t before = figures_in(table, "set b", "r4").second;
  EXPECT_EQ(before, 100U);
  handle_.rates[{kPerfRaw, 4}] = 0;  // The event is rare from now on, and a larger part of the time is counted.
  handle_.counters = 6;
  for (int poll = 0; poll < 5; ++poll) {
    handle_.run(30);
    table = read();
    EXPECT_THAT(table, HasSubstr("enabled_ns 30 running_ns 30"));
    const std::uint64_t total = figures_in(table, "set b", "r4").second;
    EXPECT_GE(total, before);
    before = total;
  }
  EXPECT_EQ(before, 100U);
}

TEST_F(CounterTableTest, LeavesOutWhatTheMachineLacksAndSaysWhy) {
  handle_.absent[{kPerfHardware, 3}] = ENOENT;   // cache-misses
  handle_.absent[{kPerfCache, 65539}] = ENOENT;  // dTLB-load-misses
  open({{.name = "memory", .cpus = "all", .events = {"cache-misses", "dTLB-load-misses", "minor-faults", "no-event"}}}, "0");
  ASSERT_TRUE(opened_) << to_string(opened_.error());
  const std::string table = read();
  EXPECT_THAT(table, HasSubstr("left_out cache-misses: this CPU does not have the event, or the virtual machine hides it"));
  EXPECT_THAT(table, HasSubstr("left_out dTLB-load-misses: this CPU"));
  EXPECT_THAT(table, HasSubstr("left_out no-event: there is no event no-event here"));
  EXPECT_THAT(table, Not(HasSubstr("cache-misses 0"))) << "never 0";
  EXPECT_THAT(table, HasSubstr("cpu 0 set memory enabled_ns 0 running_ns 0 minor-faults 0 0\n"));
}

TEST_F(CounterTableTest, FailsWhenNoEventIsLeft) {
  handle_.absent[{kPerfHardware, 3}] = ENOENT;
  open({{.name = "memory", .cpus = "all", .events = {"cache-misses"}}});
  EXPECT_EQ(opened_.error().code, ErrorCode::kNotPresent);
  handle_.absent[{kPerfSoftware, 5}] = EACCES;
  open({{.name = "memory", .cpus = "all", .events = {"cache-misses", "minor-faults"}}});
  EXPECT_EQ(opened_.error().code, ErrorCode::kPermission) << "there is something to do about it";
  EXPECT_THAT(to_string(opened_.error()), HasSubstr("kernel.perf_event_paranoid is 2"));
  EXPECT_THAT(read(), StartsWith("error: perf_event_open: "));
  EXPECT_EQ(handle_.open_count(), 0U);
}

TEST_F(CounterTableTest, ACpuThatGoesEndsItsLineAndOneThatComesContinuesIt) {
  open({{.name = "m", .cpus = "all", .events = {"minor-faults"}}}, "0-1");
  handle_.run(2);
  EXPECT_THAT(read(), HasSubstr("cpu 1 set m enabled_ns 2 running_ns 2 minor-faults 6 6\n"));
  table_->set_online("0\n");
  EXPECT_THAT(read(), HasSubstr("\nend 1\n"));
  EXPECT_EQ(handle_.open_count(), 1U);
  table_->set_online("0-1\n");
  read();
  handle_.run(1);
  EXPECT_THAT(read(), HasSubstr("cpu 1 set m enabled_ns 1 running_ns 1 minor-faults 3 9\n")) << "the total does not fall";
}

TEST_F(CounterTableTest, ACpuThatComesWhenPrivilegesAreGoneNeedsARestart) {
  open({{.name = "m", .cpus = "all", .events = {"minor-faults"}}}, "0");
  handle_.absent[{kPerfSoftware, 5}] = EACCES;
  table_->set_online("0-1");
  const std::string table = read();
  EXPECT_THAT(table, HasSubstr("left_out cpu1: kernel.perf_event_paranoid is 2"));
  EXPECT_THAT(table, HasSubstr("; restart memstatd to count it\n"));
  EXPECT_THAT(table, HasSubstr("end 1\n"));
}

TEST(CounterSets, NamesOfEventsAreRefusedWithTheNearest) {
  for (const char* event : {"page-faults", "PAPI_tot_ins", "dTLB-walks", "r1a8", "sched:sched_switch", "cpu/event=0xa8/",
                            "MEM_LOAD_RETIRED:L3_MISS", "DTLB_WALK"}) {
    EXPECT_EQ(problem_with_event(event), "") << event;
  }
  EXPECT_EQ(problem_with_event("page-fault"), "is not an event; is it page-faults?");
  EXPECT_EQ(problem_with_event("dTLB-walk"), "is not an event; is it dTLB-walks?");
  EXPECT_THAT(problem_with_event("zzzzzz"), HasSubstr("memstatctl counters --list"));
  EXPECT_THAT(problem_with_event("a b"), HasSubstr("without blanks"));
  EXPECT_THAT(problem_with_event(""), HasSubstr("1 to 512 characters"));
}

class CpuCounters : public testing::Test {
 protected:
  Result<void> parse(std::string_view table) {
    reader_.raw.parts[0].assign(table);
    return parse_source(reader_);
  }
  std::string problem(std::string_view table) {
    const auto result = parse(table);
    return result ? "none" : result.error().detail;
  }
  SourceReader reader_{counter_source()};
};

TEST_F(CpuCounters, AreOneSeriesForEachEventAndCpu) {
  ASSERT_TRUE(
      parse("left_out cache-misses: not here\n"
            "left_out cpu7: asleep\n"
            "cpu 0 set a enabled_ns 100 running_ns 100 minor-faults 1 17 major-faults 0 0\n"
            "cpu 0 set b enabled_ns 100 running_ns 25 r1 5 20\n"
            "cpu 3 set a enabled_ns 0 running_ns 0 minor-faults 0 18446744073709551615\n"
            "end 3\n"));
  auto found = statistics_of(reader_.staging);
  EXPECT_EQ(found.at("cpu_event_total{0,minor-faults}"), 17U);
  EXPECT_EQ(found.at("cpu_event_total{0,major-faults}"), 0U);
  EXPECT_EQ(found.at("cpu_event_total{0,r1}"), 20U);
  EXPECT_EQ(found.at("cpu_event_total{3,minor-faults}"), ~std::uint64_t{0});
  EXPECT_EQ(value_of(found.at("cpu_event_running_ratio{0}")), 0.25) << "of the set that counted least";
  EXPECT_FALSE(found.contains("cpu_event_running_ratio{3}")) << "no time has passed";
  EXPECT_EQ(found.size(), 5U);
  EXPECT_EQ(reader_.staging.note(), "cache-misses: not here; cpu7: asleep");
}

TEST_F(CpuCounters, RefuseATableThatContradictsItself) {
  const std::string good = "cpu 0 set a enabled_ns 1 running_ns 1 r1 1 1\n";
  EXPECT_EQ(problem(good + "end 1\n"), "none");
  EXPECT_THAT(problem(good + "end 2\n"), HasSubstr("ends early"));
  EXPECT_THAT(problem(good + "end 1\nend 1\n"), HasSubstr("ends early"));
  EXPECT_THAT(problem(good + good + "end 2\n"), HasSubstr("an event twice on one CPU"));
  EXPECT_THAT(problem("cpu 1 set a enabled_ns 1 running_ns 1\n" + good + "end 2\n"), HasSubstr("out of order"));
  for (const char* line : {"cpu 65536 set a enabled_ns 1 running_ns 1", "cpu x set a enabled_ns 1 running_ns 1", "cpu 0 set",
                           "cpu 0 set a enabled_ns 1 running_ns 2", "cpu 0 set a running_ns 1 enabled_ns 1",
                           "cpu -1 set a enabled_ns 1 running_ns 1"}) {
    EXPECT_THAT(problem(std::string(line) + "\nend 1\n"), HasSubstr("a line cpu without")) << line;
  }
  for (const char* events : {"r1", "r1 1", "r1 1 x", "r1 1 18446744073709551616", "r\x01 1 1", "r\xFF 1 1"}) {
    EXPECT_THAT(problem("cpu 0 set a enabled_ns 1 running_ns 1 " + std::string(events) + "\nend 1\n"),
                HasSubstr("an event without its two numbers"))
        << events;
  }
  EXPECT_THAT(problem("\nend 0\n"), HasSubstr("an empty line"));
  EXPECT_THAT(problem("gpu 0\nend 0\n"), HasSubstr("neither of an event nor of a CPU"));
  EXPECT_THAT(problem("left_out x:\nend 0\n"), HasSubstr("without a name or a reason"));
  std::string many = "cpu 0 set a enabled_ns 1 running_ns 1";
  for (int i = 0; i < 65; ++i) many += " r" + std::to_string(i) + " 1 1";
  EXPECT_THAT(problem(many + "\nend 1\n"), HasSubstr("more than 64 events"));
  EXPECT_EQ(parse("").error().path, "perf_event_open");
}

}  // namespace
}  // namespace memstat::counters
