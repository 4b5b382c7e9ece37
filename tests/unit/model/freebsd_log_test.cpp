// SPDX-License-Identifier: BSD-2-Clause
// Lines of kern.msgbuf, as kernels print them and as users could forge them.
#include "core/model/freebsd_log.h"

#include "core/model/log_fields.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr const char* kFreeBsdKill = "<3>pid 812 (a b), jid 2, uid 1001, was killed: failed to reclaim memory";

std::string event_in(std::string_view line) {
  const auto event = event_of_line(read_freebsd_log_line(line));
  return event ? std::string(to_string(*event)) : "";
}

std::string fields_in(std::string_view line) {
  const FreeBsdLogLine read = read_freebsd_log_line(line);
  const auto event = event_of_line(read);
  if (!event) return "no event";
  std::string words;
  for (const LogField& field : fields_of({.event = *event, .time_us = 0, .text = read.text, .more = {}})) {
    words += (words.empty() ? "" : " ") + std::string(field.name) + "=" + field.value;
  }
  return words;
}

TEST(FreeBsdLog, ReadsPriorityAndTime) {
  const auto printed = read_freebsd_log_line("[zone: x] y");
  EXPECT_FALSE(printed.priority);
  EXPECT_FALSE(printed.time_us);
  EXPECT_EQ(printed.text, "[zone: x] y");
  const auto logged = read_freebsd_log_line("<118>[12.000345] [7] text");
  EXPECT_EQ(logged.priority, 118U);
  EXPECT_EQ(logged.time_us, 12000345U);
  EXPECT_EQ(logged.text, "[7] text");
  EXPECT_EQ(read_freebsd_log_line("[12] x").time_us, 12000000U);
  for (const char* line : {"", "<", "<>x", "<3x", "[", "[]", "[1]x", "[1.] x", "[1.5] x", "[1.0000001] x", "<-1>x", "[-1] x",
                           "[18446744073709551615] x", "[99999999999999999999] x"}) {
    const auto read = read_freebsd_log_line(line);
    EXPECT_FALSE(read.priority) << line;
    EXPECT_FALSE(read.time_us) << line;
    EXPECT_EQ(read.text, line);
  }
}

TEST(FreeBsdLog, PassesOverWhatOnlyLooksAlike) {
  for (const char* line :
       {"", "x", "pid 1 (x), jid 0, uid 0, was killed: failed to reclaim memory",  // printf(9) does not write it
        "<118>pid 1 (x), jid 0, uid 0, was killed: failed to reclaim memory",      // a program did
        "<11>swap_pager: out of swap space", "<3>swap_pager: out of swap space",   //
        "<7>kern.maxfiles limit exceeded by uid 0, (x) please see tuning(7).",     // in a socket's path
        "<3>pid 1 (x), jid 0, uid 0, was killed: exceeded maximum CPU limit",      //
        "<3>pid 1 (, was killed: out of swap space), jid 0, uid 0, was killed: text file modification",
        "<6>pid 1 (x), jid 0, uid 0: exited on signal 9 (core dumped)", "[zone: x] limit reached.", "swblk zone ok"}) {
    EXPECT_EQ(event_in(line), "") << line;
  }
}

TEST(FreeBsdLog, CountsAKillWhoseProgramHasANewlineInItsName) {
  EXPECT_EQ(event_in("<3>pid 812 (a"), "");
  EXPECT_EQ(fields_in("<3>b), jid 0, uid 1001, was killed: out of swap space"),
            "scope=machine uid=1001 jail=0 reason=out of swap space");
}

TEST(FreeBsdLog, KnowsTheLinesOfKernelsAndTheirFields) {
  const std::pair<const char*, const char*> lines[] = {
      {kFreeBsdKill, "oom_kill scope=machine pid=812 command=a b uid=1001 jail=2 reason=failed to reclaim memory"},
      {"<3>[5] pid 1 (x), jid 0, uid 0, was killed: a thread waited too long to allocate a page",
       "oom_kill scope=machine pid=1 command=x uid=0 jail=0 reason=a thread waited too long to allocate a page"},
      {"<3>pid 7 (x), uid 3, was killed: out of swap space",  // before 13.0
       "oom_kill scope=machine pid=7 command=x uid=3 reason=out of swap space"},
      {"<3>pid 7 (x), jid 9), jid 0, uid 3, was killed: out of swap space",
       "oom_kill scope=machine pid=7 command=x), jid 9 uid=3 jail=0 reason=out of swap space"},
      {"kern.maxfiles limit exceeded by uid 1001, (fi) (ll) please see tuning(7).", "files_full uid=1001 command=fi) (ll"},
      {"maxproc limit exceeded by uid 1001 (pid 9); see tuning(7) and login.conf(5)", "processes_full uid=1001 pid=9"},
      {"maxthread limit exceeded by uid 0 (pid 9); consider increasing kern.maxthread", "threads_full uid=0 pid=9"},
      {"[zone: mbuf_cluster] kern.ipc.nmbclusters limit reached", "zone_full zone=mbuf_cluster limit=kern.ipc.nmbclusters"},
      {"kern.ipc.maxpipekva exceeded; see tuning(7)", "pipes_full"},
      {"Freed UMA keg (rl_entry) was not empty (2080 items).  Lost 26 pages of memory.",
       "cache_leaked zone=rl_entry items=2080 pages=26"},
      {"swap_pager: out of swap space", "swap_full"},
      {"swp_pager_getswapspace(32): failed", "swap_full pages=32"},
      {"swap_pager_getswapspace(16): failed", "swap_full pages=16"},
      {"swap blk zone exhausted, increase kern.maxswzone", "swap_table_full"},
      {"swap pctrie zone exhausted, increase kern.maxswzone", "swap_table_full"},
      {"uid 5, pid 6: swap reservation for 4096 bytes failed", "swap_reservation_refused uid=5 pid=6 bytes=4096"},
      {"vm_fault: pager read error, pid 7 (cc)", "paging_error pid=7 command=cc"},
      {"swap_pager: I/O error - pagein failed; blkno 8,size 4096, error 5", "paging_error"},
      {"<7>sonewconn: pcb 0xf (local:/a: Listen queue overflow: 1): Listen queue overflow: 193 already in queue awaiting "
       "acceptance (5 occurrences), euid 1001, rgid 1001, jail 0",
       "accept_queue_full socket=local:/a: Listen queue overflow: 1 queued=193 times=5 uid=1001"},
      {"<7>sonewconn: pcb 0xf: Listen queue overflow: 8 already in queue awaiting acceptance (1 occurrences)",
       "accept_queue_full queued=8 times=1"}};
  for (const auto& [line, wanted] : lines) {
    const std::string found = fields_in(line);
    EXPECT_EQ(event_in(line) + (found.empty() ? "" : " ") + found, wanted);
  }
}

TEST(FreeBsdLog, SurvivesLinesThatAreCutAnywhere) {
  for (const std::string& line : {std::string(kFreeBsdKill),
                                  std::string("<7>sonewconn: pcb 0xf (0.0.0.0:80): Listen queue overflow: 193 already in "
                                              "queue awaiting acceptance (5 occurrences), euid 1001"),
                                  std::string("kern.maxfiles limit exceeded by uid 1001, (fill) please see tuning(7).")}) {
    for (std::size_t size = 0; size <= line.size(); ++size) {
      static_cast<void>(fields_in(line.substr(0, size)));
      const std::string_view text = std::string_view(line).substr(size);
      for (const LogEvent event : kFreeBsdLogEvents) {
        LogFieldList fields;
        add_freebsd_fields({.event = event, .time_us = 0, .text = text, .more = {}}, fields);
      }
    }
  }
}

TEST(FreeBsdLog, KnowsTheFirstLinesOfAKernel) {
  const auto tag = read_freebsd_log_line("---<<BOOT>>---");
  EXPECT_TRUE(is_start_of_boot(tag, read_freebsd_log_line("Copyright (c) 1992-2025 The FreeBSD Project.")));
  EXPECT_FALSE(is_start_of_boot(tag, read_freebsd_log_line(") please see tuning(7).")))
      << "a program's name may hold the first line, and not both";
  EXPECT_FALSE(is_start_of_boot(read_freebsd_log_line("<7>---<<BOOT>>---"),
                                read_freebsd_log_line("<7>Copyright (c) 1992-2025 The FreeBSD Project.")));
}

TEST(LinesBehind, AreThoseSinceTheLastRead) {
  EXPECT_EQ(lines_after("", "a\nb\n"), "a\nb\n");
  EXPECT_EQ(lines_after("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(lines_after("a\nb\n", "a\nb\nc\n"), "c\n");
  EXPECT_EQ(lines_after("a\nb\nc\n", "c\nd\n"), "d\n") << "the ring overwrote a and b";
  EXPECT_EQ(lines_after("a\nb\nc\n", "x\ny\n"), "x\ny\n") << "and here all of it";
  EXPECT_EQ(lines_after("a\na\nb\n", "a\nb\na\n"), "a\n") << "the text after the first match differs from the buffer";
  EXPECT_EQ(lines_after("long line\nb\nc\n", "b\n"), "b\n") << "cleared";
  EXPECT_EQ(lines_after("a\n", ""), "");
}

TEST(LinesBehind, CountEachLineOnceHoweverTheRingTurns) {
  std::string ring;
  std::string known;
  std::string seen;
  std::string printed;
  for (int line = 0; line < 2000; ++line) {
    const std::string text = "line " + std::to_string(line * line % 97) + " of " + std::to_string(line) + "\n";
    printed += text;
    ring += text;
    while (ring.size() > 4096) ring.erase(0, ring.find('\n') + 1);
    if (line % 7 != 0) continue;
    seen += lines_after(known, ring);
    known = ring;
  }
  EXPECT_EQ(seen, printed.substr(0, seen.size()));
  EXPECT_GT(seen.size() + 200, printed.size());
}

}  // namespace
}  // namespace memstat
