// SPDX-License-Identifier: BSD-2-Clause
// The table of processes in Linux's log before a kill (mm/oom_kill.c, dump_tasks), unless vm.oom_dump_tasks is 0. For a
// kill at a control group's limit it lists only the processes of that group.
//
//   [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
//   [    123]     0   123     4000      300          53248       75             0 lxc-start
//
// The columns differ: nr_ptes until 4.14, nr_pmds from 4.1 until 4.14, pgtables_bytes from 4.15 on, and rss_anon, rss_file
// and rss_shmem from 6.8 on. Amounts are in pages. Users choose the names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace memstat {

/// A row. Borrows the line.
struct KillTask {
  std::uint64_t pid = 0;     ///< of the process
  std::uint64_t thread = 0;  ///< the number in brackets: of a thread of it, usually the first, whose number is `pid`
  std::uint64_t resident_pages = 0;
  std::uint64_t swap_pages = 0;
  std::int64_t oom_score_adj = 0;  ///< -1000 to 1000; -1000: it may not be killed
  std::string_view name;
};

/// Whether a line names the columns of such a table.
bool is_task_header(std::string_view line);

/// Nothing if the line is not a row of a table with that header.
std::optional<KillTask> read_kill_task(std::string_view header, std::string_view line);

}  // namespace memstat
