// SPDX-License-Identifier: BSD-2-Clause
// Linux's counters on a made-up CPU: names, scheduling limits, turns, overflow.
#include "core/counters/perf_system.h"
#include "tests/support/fake_perf_events.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"

namespace memstat::counters {
namespace {

const std::string kDevices = "/sys/bus/event_source/devices";

/// Lists the directories that the test names.
class DirectoryView : public PreparedKernelView {
 public:
  using PreparedKernelView::PreparedKernelView;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    const auto found = directories.find(path);
    if (found == directories.end()) return system_error(path, ENOENT);
    names.clear();
    for (std::string_view rest = found->second; !rest.empty(); rest.remove_prefix(rest.find('\0') + 1)) {
      names.emplace_back(rest.substr(0, rest.find('\0')));
    }
    return {};
  }
};

class PerfSystemTest : public testing::Test {
 protected:
  PerfSystemTest() {
    view_.contents["/proc/sys/kernel/perf_event_paranoid"] = {"2\n"};
    view_.contents[kDevices + "/cpu/type"] = {"4\n"};
    view_.contents[kDevices + "/cpu/format/event"] = {"config:0-7\n"};
    view_.contents[kDevices + "/cpu/format/umask"] = {"config:8-15\n"};
    view_.contents[kDevices + "/cpu/events/slots"] = {"event=0x00,umask=0x4\n"};
    view_.contents[kDevices + "/cpu/caps/max_precise"] = {"3\n"};
    view_.directories[kDevices] = std::string("cpu\0", 4);
    view_.directories[kDevices + "/cpu/format"] = std::string("event\0umask\0", 12);
    view_.directories["/proc/5/task"] = std::string(
        "5\0"
        "9\0",
        4);
    view_.contents["/sys/kernel/tracing/events/sched/sched_switch/id"] = {"321\n"};
    handle_.absent[{kPerfCache, 65538}] = ENOENT;  // LLC-load-misses
  }

  /// Requests for `count` events of the CPU, r1 to rN.
  std::vector<Request> raw_requests(unsigned count) {
    std::vector<Request> requests;
    for (unsigned i = 1; i <= count; ++i) requests.push_back(request("r" + std::to_string(i)));
    return requests;
  }
  Request request(const std::string& event) {
    Request one;
    one.event = event;
    const auto code = system_.resolve(event, {});
    EXPECT_TRUE(code.is_given()) << code.refused.text;
    one.code = code.value;
    return one;
  }
  std::string refusal(std::string_view event, std::vector<Attribute> attributes = {}) {
    const auto answer = system_.resolve(event, attributes);
    return answer.is_given() ? "none" : std::to_string(static_cast<int>(answer.refused.refusal)) + " " + answer.refused.text;
  }

  std::uint64_t ticks = 0;
  DirectoryView view_{OperatingSystem::kLinux, 8};
  FakePerfEvents handle_;
  PerfSystem system_{handle_, view_};
};

TEST_F(PerfSystemTest, KnowsEventsOfAllKinds) {
  const auto code = [this](std::string_view event, std::vector<Attribute> attributes = {}) {
    const auto answer = system_.resolve(event, attributes);
    if (!answer.is_given()) return answer.refused.text;
    return std::to_string(answer.value.type) + ":" + std::to_string(answer.value.config) +
           (answer.value.needs_counter ? "!" : "");
  };
  EXPECT_EQ(code("page-faults"), "1:2");
  EXPECT_EQ(code("instructions"), "0:1!");
  EXPECT_EQ(code("r1a8"), "4:424!");
  EXPECT_EQ(code("sched:sched_switch"), "2:321");
  EXPECT_EQ(code("cpu/event=0xa8,umask=1/"), "4:424!");
  EXPECT_EQ(code("cpu/slots/"), "4:1024!");
  EXPECT_EQ(code("cpu/config=7/"), "4:7!");
  EXPECT_EQ(code("r0", {{.name = "event", .value = 0xA8}, {.name = "umask", .value = 1}}), "4:424!");
  EXPECT_EQ(code("r0", {{.name = "config", .value = 5}, {.name = "picnum", .value = 3}}), "4:5!");
}

TEST_F(PerfSystemTest, RefusesMissingEvents) {
  EXPECT_EQ(refusal("page-fault"), "1 there is no event page-fault here; is it page-faults?");
  EXPECT_EQ(refusal("nonsense!\x1b"), "1 there is no event nonsense!\\x1b here");
  EXPECT_EQ(refusal(""), "1 a name of an event has 1 to 512 characters");
  EXPECT_EQ(refusal("gpu/x/"), "1 event gpu/x/: there is no PMU of that name in /sys/bus/event_source/devices");
  EXPECT_EQ(refusal("cpu/nothing/"),
            "1 event cpu/nothing/: nothing is neither in /sys/bus/event_source/devices/cpu/events nor in "
            "/sys/bus/event_source/devices/cpu/format");
  EXPECT_EQ(refusal("cpu/event=256/"), "4 event cpu/event=256/: event is larger than its field");
  EXPECT_EQ(refusal("cpu/event=x/"), "1 event cpu/event=x/: not of the form pmu/term=value,.../");
  EXPECT_EQ(refusal("r1", {{.name = "picnum", .value = 4}}),
            "2 event r1: attribute picnum does not name a counter: there are 4");
  EXPECT_EQ(refusal("r1", {{.name = "precise", .value = 4}}), "4 event r1: attribute precise is at most 3");
  EXPECT_EQ(refusal("r1", {{.name = "umask", .value = 256}}), "4 event r1: attribute umask is larger than its field");
  EXPECT_EQ(refusal("page-faults", {{.name = "umask", .value = 1}}),
            "3 event page-faults: attribute umask does not exist for it");
  EXPECT_EQ(refusal("r1", {{.name = "../type", .value = 1}}), "3 event r1: attribute ../type does not exist for it");
  EXPECT_EQ(refusal("sched:no_such"),
            "1 event sched:no_such: the numbers of tracepoints are in tracefs, which is not mounted or not "
            "readable: mount -t tracefs nodev /sys/kernel/tracing");
  view_.failures["/sys/kernel/tracing/events/sched/sched_switch/id"] = EACCES;
  EXPECT_EQ(refusal("sched:sched_switch"),
            "9 event sched:sched_switch: the numbers of tracepoints are in "
            "/sys/kernel/tracing/events/, which only root may read");
}

TEST_F(PerfSystemTest, PageWalksAreTheEventOfTheCpu) {
  const std::string device = kDevices + "/armv8_pmuv3_0";
  view_.directories[kDevices] = std::string("armv8_pmuv3_0\0", 14);
  view_.contents[device + "/type"] = {"8\n"};
  view_.contents[device + "/format/event"] = {"config:0-15\n"};
  view_.contents[device + "/events/dtlb_walk"] = {"event=0x0034\n"};
  const Request walks = request("dTLB-walks");
  EXPECT_EQ(walks.code.type, 8U);
  EXPECT_EQ(walks.code.config, 0x34U);
  EXPECT_TRUE(walks.code.needs_counter);
}

TEST_F(PerfSystemTest, ListsWhatTheCpuHas) {
  bool has_instructions = false;
  bool has_absent = false;
  for (const EventInfo& event : system_.facts().events) {
    has_instructions |= event.name == "instructions";
    has_absent |= event.name == "LLC-load-misses";
  }
  EXPECT_TRUE(has_instructions);
  EXPECT_FALSE(has_absent);
  EXPECT_EQ(system_.facts().counters, 4U);
  EXPECT_TRUE(system_.facts().is_precise);
  EXPECT_EQ(handle_.open_count(), 0U) << "attempts are closed";
}

TEST_F(PerfSystemTest, CountsCountersWhereEventsThatAreOffAreIgnored) {
  handle_.ignores_what_is_off = true;
  EXPECT_EQ(system_.facts().counters, 4U);
}

TEST_F(PerfSystemTest, WithoutCountersListsTheKernelsEvents) {
  handle_.counters = 0;
  for (const EventInfo& event : system_.facts().events) EXPECT_FALSE(event.needs_counter) << event.name;
  EXPECT_EQ(system_.facts().counters, 0U);
}

TEST_F(PerfSystemTest, ReadsASetThatFitsInOneCall) {
  for (const CpuLimit& limit : real_cpu_limits()) {
    handle_.counters = limit.counters;
    auto bound = system_.bind(raw_requests(limit.counters), {});
    ASSERT_TRUE(bound.is_given()) << bound.refused.text;
    handle_.rates[{kPerfRaw, 2}] = 5;
    handle_.run(100);
    std::vector<Count> counts(limit.counters);
    handle_.reads = 0;
    ASSERT_EQ(bound.value->sample(counts, ticks), 0);
    EXPECT_EQ(handle_.reads, 1U) << limit.cpu;
    EXPECT_EQ(counts[0].value, 100U);
    EXPECT_EQ(counts[1].value, 500U);
    EXPECT_EQ(counts[0].enabled_ns, counts[0].running_ns);
  }
  EXPECT_EQ(handle_.open_count(), 0U);
}

TEST_F(PerfSystemTest, MultiplexesASetThatDoesNotFitAndReportsIt) {
  for (const CpuLimit& limit : real_cpu_limits()) {
    handle_.counters = limit.counters;
    handle_.ignores_what_is_off = !handle_.ignores_what_is_off;
    const unsigned wanted = limit.counters + 1;
    auto bound = system_.bind(raw_requests(wanted), {});
    ASSERT_TRUE(bound.is_given()) << bound.refused.text;
    handle_.run(1000);
    std::vector<Count> counts(wanted);
    ASSERT_EQ(bound.value->sample(counts, ticks), 0);
    for (const Count& count : counts) {
      EXPECT_LT(count.running_ns, count.enabled_ns) << limit.cpu;
      EXPECT_EQ(count.value, 1000U) << limit.cpu << ": scaled by the time counted";
    }
  }
}

TEST_F(PerfSystemTest, AnExactSetThatLosesItsCountersIsAnError) {
  auto bound = system_.bind(raw_requests(4), {.is_exact = true});
  ASSERT_TRUE(bound.is_given());
  handle_.taken_by_others = 1;
  handle_.run(10);
  std::vector<Count> counts(4);
  EXPECT_EQ(bound.value->sample(counts, ticks), EAGAIN);
}

TEST_F(PerfSystemTest, ASetThatNeverCountedIsReported) {
  handle_.taken_by_others = 1;
  auto bound = system_.bind(raw_requests(4), {});
  ASSERT_TRUE(bound.is_given());
  handle_.run(10);
  std::vector<Count> counts(4);
  ASSERT_EQ(bound.value->sample(counts, ticks), 0);
  EXPECT_EQ(counts[0].value, 0U);
  EXPECT_EQ(counts[0].enabled_ns, 10U);
  EXPECT_EQ(counts[0].running_ns, 0U);
}

TEST_F(PerfSystemTest, AnOverflowStopsTheSetUntilItIsRestarted) {
  auto requests = raw_requests(2);
  requests[1].notifies = true;
  requests[1].preset = 0 - std::uint64_t{10};
  auto bound = system_.bind(requests, {});
  ASSERT_TRUE(bound.is_given());
  handle_.run(100);
  EXPECT_EQ(handle_.signals.size(), 1U);
  std::vector<Count> counts(2);
  ASSERT_EQ(bound.value->sample(counts, ticks), 0);
  EXPECT_EQ(counts[1].value, 0U) << "preset and ten events";
  EXPECT_EQ(counts[0].value, 10U) << "the others of the set stop with it";
  requests[1].preset = 0 - std::uint64_t{20};
  ASSERT_EQ(bound.value->restart(requests), 0);
  handle_.run(100);
  ASSERT_EQ(bound.value->sample(counts, ticks), 0);
  EXPECT_EQ(counts[1].value, 0U);
  EXPECT_EQ(counts[0].value, 20U);
  EXPECT_EQ(handle_.signals.size(), 2U);
  // A restart before the overflow starts again and leaves one to be signalled.
  ASSERT_EQ(bound.value->restart(requests), 0);
  handle_.run(5);
  ASSERT_EQ(bound.value->restart(requests), 0);
  handle_.run(19);
  EXPECT_EQ(handle_.signals.size(), 2U);
  ASSERT_EQ(bound.value->enable(false), 0);
  ASSERT_EQ(bound.value->enable(true), 0);
  handle_.run(100);
  EXPECT_EQ(handle_.signals.size(), 3U);
  ASSERT_EQ(bound.value->enable(true), 0);
  handle_.run(100);
  EXPECT_EQ(handle_.signals.size(), 3U) << "a set that its overflow stopped continues only after a restart";
}

TEST_F(PerfSystemTest, PeriodsAreWhatTheKernelTakes) {
  auto requests = raw_requests(1);
  requests[0].notifies = true;
  requests[0].preset = 0;  // 2^64 events away
  ASSERT_TRUE(system_.bind(requests, {}).is_given());
  EXPECT_EQ(handle_.opened.back().period, ~0ULL >> 1U);
}

TEST_F(PerfSystemTest, ReadsAgainWhatAChildDisturbedThatExits) {
  const auto bound = system_.bind(raw_requests(2), {.is_inherited = true});
  ASSERT_TRUE(bound.is_given());
  std::array<Count, 2> counts;
  handle_.mismatched_reads = 20;
  EXPECT_EQ(bound.value->sample(counts, ticks), 0);
  handle_.mismatched_reads = 1000;
  EXPECT_EQ(bound.value->sample(counts, ticks), ECHILD) << "not for ever";
}

TEST_F(PerfSystemTest, OverflowIsNotifiedWhereLinuxCan) {
  auto requests = raw_requests(1);
  requests[0].notifies = true;
  for (const Target& target :
       {Target{.is_inherited = true}, Target{.kind = Target::Kind::kThread, .process = 5, .thread = 5}}) {
    const auto bound = system_.bind(requests, target);
    ASSERT_FALSE(bound.is_given());
    EXPECT_EQ(bound.refused.refusal, Refusal::kInvalidFlags);
  }
  handle_.notify_errno = EINVAL;
  EXPECT_FALSE(system_.bind(requests, {}).is_given());
  EXPECT_EQ(handle_.open_count(), 0U);
}

TEST_F(PerfSystemTest, BindsToThreadsProcessesAndCpus) {
  const auto places = [this](const Target& target) {
    handle_.places.clear();
    const auto bound = system_.bind(raw_requests(1), target);
    if (!bound.is_given()) return bound.refused.text;
    std::string text;
    for (const auto& [thread, cpu] : handle_.places) text += std::to_string(thread) + "@" + std::to_string(cpu) + " ";
    return text;
  };
  EXPECT_EQ(places({}), "0@-1 ");
  EXPECT_EQ(places({.kind = Target::Kind::kCpu, .cpu = 7}), "-1@7 ");
  EXPECT_EQ(places({.kind = Target::Kind::kCpu, .cpu = 8}), "there is no CPU 8: the highest is 7");
  EXPECT_EQ(places({.kind = Target::Kind::kCpu, .cpu = -1}), "there is no CPU -1: the highest is 7");
  EXPECT_EQ(places({.kind = Target::Kind::kThread, .process = 5, .thread = 9}), "9@-1 ");
  EXPECT_EQ(places({.kind = Target::Kind::kThread, .process = 5, .thread = 6}), "process 5 has no thread 6");
  EXPECT_EQ(places({.kind = Target::Kind::kProcess, .process = 5}), "5@-1 9@-1 ");
  EXPECT_EQ(places({.kind = Target::Kind::kProcess, .process = 6}), "there is no process 6");
}

TEST_F(PerfSystemTest, ThreadsOfAProcessAreSummed) {
  handle_.counters = 8;
  auto bound = system_.bind(raw_requests(2), {.kind = Target::Kind::kProcess, .process = 5});
  ASSERT_TRUE(bound.is_given());
  handle_.run(10);
  std::vector<Count> counts(2);
  ASSERT_EQ(bound.value->sample(counts, ticks), 0);
  EXPECT_EQ(counts[0].value, 20U);
}

TEST_F(PerfSystemTest, ErrorsOfTheKernelLeaveNothingOpen) {
  for (const int error : {EACCES, EMFILE, ENOENT, EBUSY}) {
    handle_.next_open_errno = error;
    const auto bound = system_.bind(raw_requests(2), {});
    ASSERT_FALSE(bound.is_given());
    EXPECT_EQ(bound.refused.system_errno, error);
    EXPECT_EQ(handle_.open_count(), 0U);
  }
  handle_.next_open_errno = ENOSYS;
  EXPECT_EQ(system_.check().system_errno, ENOSYS);
  EXPECT_EQ(system_.check().system_errno, 0);
}

}  // namespace
}  // namespace memstat::counters
