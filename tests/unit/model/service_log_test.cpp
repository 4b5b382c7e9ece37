// SPDX-License-Identifier: BSD-2-Clause
// Messages of programs that free memory, as they write them and as users could forge them.
#include "core/model/service_log.h"

#include "tests/support/fixtures.h"
#include "tests/support/service_messages.h"
#include "tests/support/test.h"

namespace memstat::service_log_test {
namespace {

using testing::ElementsAre;

/// The fields of each kill: "program=earlyoom pid=2 ...".
std::vector<std::string> kills_in(std::string_view messages) {
  ServiceLogBook book;
  for_each_service_message(messages, [&](const ServiceMessage& one) { book.add(one.unit, one.time_us, one.text); });
  book.finish();
  Buffer text;
  book.write(text);
  LogTable table;
  EXPECT_EQ(read_log_table(text.view(), table), std::nullopt);
  EXPECT_EQ(table.counts[static_cast<std::size_t>(LogEvent::kProgramKill)], table.size);
  std::vector<std::string> kills;
  for (std::size_t i = 0; i < table.size; ++i) {
    std::string& words = kills.emplace_back();
    for (const LogField& field : fields_of(table.events[i])) {
      words += (words.empty() ? "" : " ") + std::string(field.name) + "=" + field.value;
    }
  }
  return kills;
}

TEST(ServiceLog, HasTheKillsOfEachProgram) {
  EXPECT_THAT(
      kills_in(read_text(fixture_path("requests/service_log_messages.txt"))),
      ElementsAre(
          "program=earlyoom signal=SIGTERM pid=2 uid=0 command=python3 bytes=46137344 reason=at or below SIGTERM limits: "
          "mem "
          "10.00%, swap 100.00%",
          "program=earlyoom signal=SIGTERM pid=906175 uid=1000 command=java bytes=46045069312 reason=at or below SIGTERM "
          "limits: "
          "mem  1.66%, swap 10.00%",
          "program=earlyoom signal=SIGTERM pid=12006 command=python3 bytes=3031433216",
          "program=nohang signal=SIGKILL pid=2 command=python3 bytes=133169152 reason=MemAvailable [391 MiB, 1.6 %] <= "
          "hard_threshold_min_mem [11571 MiB, 48.0 %]",
          "program=systemd-oomd group=/system.slice/bloat.service processes=12 reason=memory pressure for /system.slice "
          "being "
          "61.10% > 50.00% for > 20s with reclaim activity",
          "program=systemd-oomd group=/user.slice/user-1000.slice/user@1000.service/app.slice/build.scope reason=memory "
          "used "
          "(60312891392) / total (67002466304) and swap used (16207028224) / total (17179865088) being more than 90.00%",
          "program=systemd-oomd group=/system.slice/web.service processes=1 reason=memory pressure for /system.slice being "
          "85.03% > 80.00% for > 2s with reclaim activity",
          "program=oomd group=/user.slice/user-1000.slice/session-12.scope reason=size > 10% of total 6989MB (size "
          "threshold "
          "overridden) bytes=2139095040 processes=2 pid=1377 command=stress",
          "program=oomd group=/system.slice/b.service",
          "program=kubelet pod=shop/cart-0 reason=it must reclaim memory of the node",
          "program=kubelet pod=shop/web-868d7b reason=it must reclaim memory of the node"));
}

TEST(ServiceLog, JoinsSystemdsLineInEitherOrder) {
  EXPECT_THAT(
      kills_in("init.scope 1 a.service: systemd-oomd killed 3 process(es) in this unit.\n"
               "systemd-oomd.service 2 Killed /system.slice/a.service due to memory pressure for / being 1%\n"),
      ElementsAre("program=systemd-oomd group=/system.slice/a.service processes=3 reason=memory pressure for / being 1%"));
  EXPECT_THAT(kills_in("systemd-oomd.service 2 Killed /system.slice/a.service due to memory pressure for / being 1%\n"
                       "init.scope 3 other-a.service: systemd-oomd killed 3 process(es) in this unit.\n"
                       "init.scope 20000000 a.service: systemd-oomd killed 4 process(es) in this unit.\n"),
              ElementsAre("program=systemd-oomd group=/system.slice/a.service reason=memory pressure for / being 1%"))
      << "of another unit, and too late";
}

TEST(ServiceLog, BelievesOnlyThePrograms) {
  EXPECT_THAT(
      kills_in("user@1000.service 1 sending SIGTERM to process 1 uid 0 \"init\": badness 1, VmRSS 1 MiB\n"
               "sshd.service 1 Killed /system.slice/a.service due to memory pressure for / being 1%\n"
               "kubelet.service 1 sending SIGTERM to process 1 uid 0 \"init\": badness 1, VmRSS 1 MiB\n"
               "init.scope 1 Killed /system.slice/a.service due to memory pressure for / being 1%\n"
               "init.scope 1 a.service: systemd-oomd killed 3 process(es) in this unit.\n"
               "earlyoom.service 1 sending 0 (no-op signal) to process 1 uid 0 \"init\": badness 1, VmRSS 1 MiB\n"
               "kubelet.service 2 I0528 16:05:54.802914 1 kubelet.go:62] to reclaim memory\n"
               "kubelet.service 2 I0528 16:05:54.802914 1 eviction_manager.go:627] \"Eviction manager: pod is evicted "
               "successfully\" pod=\"a/b\"\n"),
      ElementsAre());
}

TEST(ServiceLog, NamesThatUsersChooseStayNames) {
  EXPECT_THAT(kills_in("earlyoom.service 1 sending SIGTERM to process 7 uid 9 \"a\" uid 1: x\": badness 1, VmRSS 2 MiB\n"),
              ElementsAre("program=earlyoom signal=SIGTERM pid=7 uid=9 command=a\" uid 1: x bytes=2097152"));
  EXPECT_THAT(kills_in("systemd-oomd.service 1 Killed /u/x due to y.scope due to memory pressure for /u being 1%\n"),
              ElementsAre("program=systemd-oomd group=/u/x due to y.scope reason=memory pressure for /u being 1%"));
  EXPECT_THAT(
      kills_in("nohang.service 1 PID: 5, name: a, badness: 3, badness: 9\nnohang.service 2 Sending SIGTERM to the victim\n"),
      ElementsAre("program=nohang signal=SIGTERM pid=5 command=a, badness: 3"));
}

TEST(ServiceLog, TruncatedMessagesAreSafe) {
  for_each_service_message(read_text(fixture_path("requests/service_log_messages.txt")), [](const ServiceMessage& one) {
    for (std::size_t size = 0; size < one.text.size(); ++size) {
      const std::string line = std::string(one.unit) + " 1 " + std::string(one.text.substr(0, size)) + "\n";
      EXPECT_LE(kills_in(line).size(), 1U) << line;
    }
  });
}

TEST(ServiceLog, TruncatedLinesOfTheTableAreSafe) {
  for_each_service_message(read_text(fixture_path("requests/service_log_messages.txt")), [](const ServiceMessage& one) {
    for (const std::string_view program : {"systemd-oomd", "oomd", "earlyoom", "nohang", "kubelet", "other"}) {
      const std::string text = std::string(program) + ": " + std::string(one.text);
      for (std::size_t size = 0; size <= text.size(); ++size) {
        const LoggedEvent event{.event = LogEvent::kProgramKill,
                                .text = std::string_view(text).substr(0, size),
                                .more = {std::string_view(text).substr(size)}};
        for (const LogField& field : fields_of(event)) EXPECT_LE(field.value.size(), text.size() + 40);
      }
    }
  });
}

}  // namespace
}  // namespace memstat::service_log_test
