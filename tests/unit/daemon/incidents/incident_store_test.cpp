// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/incidents/incident_store.h"

#include <filesystem>
#include <fstream>
#include <random>

#include "core/capture/archive.h"
#include "core/capture/archive_stream.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTime = 1'790'000'000 * kSecond;

Incident incident_at(std::int64_t seconds, std::string_view cause = "cgroup_oom_kill") {
  Incident incident;
  incident.realtime_ns = kTime + seconds * kSecond;
  incident.cause = cause;
  incident.headline = "Control group /a: 'it' was \"killed\": # no comment";
  incident.object = "/a";
  incident.file = incident_file_name(incident.realtime_ns, cause);
  return incident;
}

PollRing ring_of(std::size_t bytes) {
  PollRing ring(4 << 20);
  std::string noise;
  for (std::uint64_t i = 0, x = 1; i < bytes; ++i)
    noise += static_cast<char>('a' + ((x = x * 6364136223846793005U + 1) >> 60U));
  ring.add(PollRecord::Kind::kFile, "/proc/meminfo", noise, 0);
  ring.end_poll({.label = "live", .realtime_ns = kTime, .monotonic_ns = 1});
  return ring;
}

class IncidentStoreTest : public testing::Test {
 protected:
  std::unique_ptr<IncidentStore> open(const IncidentStore::Limits& limits = {}) {
    auto store = IncidentStore::open(directory_.file("incidents"), {}, limits);
    EXPECT_TRUE(store) << to_string(store.error());
    return store ? *std::move(store) : nullptr;
  }
  void write(IncidentStore& store, Incident incident, std::size_t bytes = 100) {
    const auto written = store.write(incident, polls_of(bytes));
    EXPECT_TRUE(written) << to_string(written.error());
  }
  KeptPolls polls_of(std::size_t bytes) { return {.ring = ring_of(bytes), .manifest = manifest_, .texts = {}}; }
  static std::vector<std::int64_t> seconds_of(const IncidentStore& store) {
    std::vector<std::int64_t> seconds;
    for (const Incident& one : store.incidents()) seconds.push_back((one.realtime_ns - kTime) / kSecond);
    return seconds;
  }

  static IncidentFigures figures_in_last_poll(const Incident& incident) {
    return incident.figures.empty() ? IncidentFigures() : incident.figures.back();
  }

  TemporaryDirectory directory_;
  FakeKernelView kernel_{OperatingSystem::kLinux};
  CaptureManifest manifest_ = manifest_of(kernel_);
};

TEST_F(IncidentStoreTest, KeepsWhatItWroteForTheNextRun) {
  {
    const auto store = open();
    write(*store, incident_at(1));
    write(*store, incident_at(70, "swap_full"));
  }
  const auto store = open();
  EXPECT_EQ(seconds_of(*store), (std::vector<std::int64_t>{70, 1})) << "newest first";
  const Incident first = store->incidents().back();
  EXPECT_EQ(first.headline, incident_at(1).headline);
  EXPECT_EQ(first.cause, "cgroup_oom_kill");
  EXPECT_EQ(first.polls, 1U);
  EXPECT_GT(first.bytes, 0U);
  const auto bytes = store->read(first.file);
  ASSERT_TRUE(bytes);
  EXPECT_FALSE(bytes->empty());
  EXPECT_FALSE(store->read("../incidents/" + first.file));
  EXPECT_FALSE(store->read("incident.yaml"));
}

TEST_F(IncidentStoreTest, HasTheFiguresOfItsPolls) {
  PollRing ring(1 << 20);
  const auto poll = [&](std::int64_t second, std::string_view available, std::string_view usage) {
    ring.add(PollRecord::Kind::kFile, "/proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    " + std::string(available), 0);
    ring.add(PollRecord::Kind::kFile, "/sys/fs/cgroup/a/memory.current", usage, 0);
    ring.add(PollRecord::Kind::kFile, "/sys/fs/cgroup/b/a/memory.current", "1\n", 0);
    ring.add(PollRecord::Kind::kFile, "/sys/fs/cgroup/a/memory.max", "65536\n", 0);
    ring.end_poll({.label = "live", .realtime_ns = kTime + second * kSecond, .monotonic_ns = second * kSecond});
  };
  poll(1, "8 kB\n", "4096\n");
  poll(2, "18446744073709551615 kB\n", "max\n");
  poll(3, "", "65536\n");
  Incident incident = incident_at(3);
  ASSERT_TRUE(open()->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}}));
  const std::vector<IncidentFigures> expected{
      {.realtime_ns = kTime + kSecond, .available_bytes = 8192, .bytes = 4096, .limit_bytes = 65536},
      {.realtime_ns = kTime + 2 * kSecond, .limit_bytes = 65536},
      {.realtime_ns = kTime + 3 * kSecond, .bytes = 65536, .limit_bytes = 65536}};
  EXPECT_EQ(incident.figures, expected);
  EXPECT_EQ(open()->incidents().at(0).figures, expected) << "in the note";
  incident.object = "/missing";
  ASSERT_TRUE(open()->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}}));
  EXPECT_FALSE(incident.figures.at(0).bytes);
}

TEST_F(IncidentStoreTest, OfThatManyPollsOnly) {
  PollRing ring(1 << 20);
  for (std::int64_t second = 0; second < 20; ++second) {
    ring.add(PollRecord::Kind::kFile, "/proc/meminfo", "MemAvailable: " + std::to_string(second) + " kB\n", 0);
    ring.end_poll({.label = "live", .realtime_ns = kTime + second * kSecond, .monotonic_ns = second * kSecond});
  }
  Incident incident = incident_at(3);
  ASSERT_TRUE(open()->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}, .most = 3}));
  EXPECT_EQ(incident.polls, 3U);
  ASSERT_EQ(incident.figures.size(), 3U);
  EXPECT_EQ(incident.figures.front().available_bytes, 17U * 1024);
  const auto capture = open_capture(directory_.file("incidents/" + incident.file));
  ASSERT_TRUE(capture);
  EXPECT_EQ((*capture)->poll_count(), 3U);
}

TEST_F(IncidentStoreTest, OnlyTheNewestHaveFigures) {
  const auto store = open({.max_bytes = 1 << 20, .max_files = 100});
  for (std::size_t i = 0; i < kMaxCharts + 2; ++i) write(*store, incident_at(static_cast<std::int64_t>(i)));
  const auto listed = list_incidents(store->directory());
  ASSERT_TRUE(listed);
  for (const std::vector<Incident>& all : {store->incidents(), *listed}) {
    ASSERT_EQ(all.size(), kMaxCharts + 2);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].figures.size(), i < kMaxCharts ? 1U : 0U) << i;
  }
}

TEST_F(IncidentStoreTest, FiguresOfHierarchiesOfVersion1AreThoseOfTheGroup) {
  PollRing ring(1 << 20);
  ring.add(PollRecord::Kind::kFile, "/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "4096\n", 0);
  ring.add(PollRecord::Kind::kFile, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n", 0);
  ring.end_poll({.label = "live", .realtime_ns = kTime, .monotonic_ns = 1});
  Incident incident = incident_at(3);
  ASSERT_TRUE(open()->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}}));
  EXPECT_EQ(incident.figures, (std::vector<IncidentFigures>{{.realtime_ns = kTime, .bytes = 4096}})) << "without a limit";
}

TEST_F(IncidentStoreTest, FiguresOfADamagedNoteAreLeftOut) {
  const auto figures_in = [](const std::string& text) {
    const auto incident = parse_incident("format: 1\ntime: 2026-11-29T03:10:12Z\nfigures: \"" + text + "\"\n", "note");
    return incident ? incident->figures.size() : 99;
  };
  EXPECT_EQ(figures_in("1000 1 2 3, 2000 - - -"), 2U);
  for (const char* text : {"", ",", " ", "x 1 2 3", "-1 1 2 3", "99999999999999999999 1 2 3"}) {
    EXPECT_EQ(figures_in(text), 0U) << text;
  }
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "1 2 3 4, ";
  EXPECT_LE(figures_in(many), 256U);
}

/// Polls of a machine with that many groups, of which 7 moves and 3 is killed. Each has 2 kB that cannot be packed.
PollRing ring_of_groups(int groups) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  PollRing ring(3 << 19);
  ring.want(std::vector<std::string>{"/app/5"});
  for (std::int64_t poll = 0; poll < 12; ++poll) {
    for (int group = 0; group < groups; ++group) {
      const std::string directory = "/sys/fs/cgroup/app/" + std::to_string(group);
      const std::int64_t bytes = group == 7 ? poll << 20 : 4096 * (group + poll);
      ring.add(PollRecord::Kind::kFile, directory + "/memory.current", std::to_string(bytes) + "\n", 0);
      std::string stat;
      while (poll == 0 && stat.size() < 2000) stat += std::to_string(random()) + "\n";
      if (poll == 0) ring.add(PollRecord::Kind::kFile, directory + "/memory.stat", stat, 0);
    }
    ring.add(PollRecord::Kind::kFile, "/proc/meminfo", "MemAvailable: " + std::to_string(poll) + " kB\n", 0);
    ring.add(PollRecord::Kind::kTable, "linux_kernel_log", "kill " + std::to_string(poll), 0);
    ring.end_poll({.label = "live", .realtime_ns = kTime + poll * kSecond, .monotonic_ns = poll * kSecond});
  }
  return ring;
}

TEST_F(IncidentStoreTest, AFileOfManyGroupsStaysSmallAndKeepsWhatMatters) {
  if (!packs_zstd()) GTEST_SKIP() << "this build has no libzstd";
  for (const int groups : {20, 500, 5000}) {
    const auto store = open();
    Incident incident = incident_at(groups);
    incident.object = "/app/3";
    const PollRing ring = ring_of_groups(groups);
    ASSERT_TRUE(store->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}}));
    EXPECT_LE(incident.bytes, 256U << 10U) << groups;
    EXPECT_EQ(incident.polls, 12U) << "groups go before polls";
    EXPECT_EQ(incident.left_out > ring.left_out(), groups > 20) << groups;
    EXPECT_EQ(store->incidents().front().left_out, incident.left_out);
    const auto capture = open_capture(directory_.file("incidents/" + incident.file));
    ASSERT_TRUE(capture);
    ASSERT_TRUE((*capture)->select_poll(11));
    Buffer bytes;
    for (const char* const group : {"3", "5", "7"}) {
      EXPECT_TRUE((*capture)->read_file("/sys/fs/cgroup/app/" + std::string(group) + "/memory.stat", bytes))
          << groups << group;
    }
    ASSERT_TRUE((*capture)->read_file("/proc/meminfo", bytes));
    EXPECT_EQ(bytes.view(), "MemAvailable: 11 kB\n");
    EXPECT_EQ(figures_in_last_poll(incident),
              (IncidentFigures{.realtime_ns = kTime + 11 * kSecond, .available_bytes = 11264, .bytes = 4096 * 14}));
  }
}

TEST_F(IncidentStoreTest, AFileWithoutGroupsStaysSmallByHavingFewerPolls) {
  std::mt19937_64 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  PollRing ring(4 << 20);
  for (std::int64_t poll = 0; poll < 10; ++poll) {
    std::string noise;
    while (noise.size() < 100'000) noise += std::to_string(random());
    ring.add(PollRecord::Kind::kFile, "/proc/zoneinfo", noise, 0);
    ring.end_poll({.label = "live", .realtime_ns = kTime + poll * kSecond, .monotonic_ns = poll * kSecond});
  }
  Incident incident = incident_at(1);
  ASSERT_TRUE(open()->write(incident, {.ring = ring, .manifest = manifest_, .texts = {}}));
  EXPECT_LE(incident.bytes, 256U << 10U);
  EXPECT_GE(incident.polls, 2U);
  EXPECT_LT(incident.polls, 10U);
  EXPECT_EQ(figures_in_last_poll(incident).realtime_ns, kTime + 9 * kSecond) << "the newest stay";
}

TEST_F(IncidentStoreTest, TheSameIncidentIsReplaced) {
  const auto store = open();
  write(*store, incident_at(1));
  write(*store, incident_at(1), 50000);
  ASSERT_EQ(store->incidents().size(), 1U);
  EXPECT_GT(store->incidents()[0].bytes, 20000U);
}

TEST_F(IncidentStoreTest, TheOldestMakeRoom) {
  const auto store = open({.max_bytes = 60000, .max_files = 3});
  for (int i = 0; i < 5; ++i) write(*store, incident_at(i));
  EXPECT_EQ(seconds_of(*store), (std::vector<std::int64_t>{4, 3, 2}));
  write(*store, incident_at(9), 80000);  // half of that, packed
  EXPECT_EQ(seconds_of(*store), (std::vector<std::int64_t>{9, 4, 3}));
  write(*store, incident_at(10), 200000);
  EXPECT_EQ(seconds_of(*store), std::vector<std::int64_t>{10}) << "even if it alone is larger";
}

TEST_F(IncidentStoreTest, ADamagedOneIsListedWithTheReason) {
  write(*open(), incident_at(1));
  const std::string path = directory_.file("incidents/" + incident_at(1).file);
  std::filesystem::resize_file(path, 30);
  std::ofstream(directory_.file("incidents/" + incident_file_name(kTime, "swap_full"))) << "text";
  std::ofstream(directory_.file("incidents/notes.txt")) << "mine";
  const auto store = open();
  ASSERT_EQ(store->incidents().size(), 2U);
  for (const Incident& one : store->incidents()) EXPECT_FALSE(one.problem.empty()) << one.file;
}

TEST_F(IncidentStoreTest, WhatAKilledWriterLeftIsRemoved) {
  (void)open();
  std::ofstream(directory_.file("incidents/.unfinished")) << "half";
  (void)open();
  EXPECT_FALSE(std::filesystem::exists(directory_.file("incidents/.unfinished")));
}

TEST_F(IncidentStoreTest, ADirectoryThatIsGoneIsAnError) {
  const auto store = open();
  std::filesystem::remove(directory_.file("incidents"));
  Incident incident = incident_at(1);
  EXPECT_FALSE(store->write(incident, polls_of(10)));
  EXPECT_TRUE(store->incidents().empty());
  EXPECT_FALSE(IncidentStore::open(directory_.file("missing/incidents"), {}, {}));
}

TEST(IncidentNote, IsReadAsItWasWritten) {
  Incident incident = incident_at(3);
  incident.culprit = "group /a, process java (pid 1528)";
  incident.next = "memstatctl who anonymous";
  incident.polls = 12;
  const std::string text = format_incident(incident);
  const auto parsed = parse_incident(text, "incident.yaml");
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(format_incident(*parsed), text);
  for (std::size_t size = 0; size < text.size(); ++size) (void)parse_incident(text.substr(0, size), "incident.yaml");
  EXPECT_FALSE(parse_incident("format: 2\n", "incident.yaml"));
  EXPECT_FALSE(parse_incident("format: 1\ntime: yesterday\n", "incident.yaml"));
  EXPECT_TRUE(parse_incident(text + "mood: later\n", "incident.yaml")) << "a newer memstatd may say more";
}

TEST(IncidentNote, ACommandForTheLastHourIsForTheHourBefore) {
  EXPECT_EQ(command_at("journalctl -k --since -1h --grep oom -n 50", 7'200'000'000'000),
            "journalctl -k --since '1970-01-01 01:00:00 UTC' --until '1970-01-01 02:01:00 UTC' --grep oom -n 50");
  EXPECT_EQ(command_at("memstatctl events", 1), "memstatctl events");
}

TEST(IncidentNote, NamesOfFiles) {
  EXPECT_TRUE(is_incident_file(incident_at(1).file));
  EXPECT_TRUE(incident_file_name(0, "swap_full").starts_with("19700101T000000Z-swap_full.tar"));
  for (const char* const name : {"", ".", ".unfinished", "notes.tar", "19700101T000000Z.tar", "19700101T000000Z-a.txt"})
    EXPECT_FALSE(is_incident_file(name)) << name;
}

}  // namespace
}  // namespace memstat
