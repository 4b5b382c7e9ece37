// SPDX-License-Identifier: BSD-2-Clause
// The table of processes before a kill, and all that the kernel's log says about kills, from 3.10 to 7.0.
#include "core/model/kill_tasks.h"

#include <map>

#include "core/base/text.h"
#include "core/model/kernel_log_book.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr const char* kHeader = "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name";
constexpr const char* kRow = "[   1400]  1001  1399    3000      900    12000        7          -250 a b] x";

TEST(KillTasks, AreReadByTheNamesOfTheirColumns) {
  const auto task = read_kill_task(kHeader, kRow);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->thread, 1400U);
  EXPECT_EQ(task->pid, 1399U);
  EXPECT_EQ(task->resident_pages, 900U);
  EXPECT_EQ(task->swap_pages, 7U);
  EXPECT_EQ(task->oom_score_adj, -250);
  EXPECT_EQ(task->name, "a b] x");
  EXPECT_EQ(read_kill_task(kHeader, "[1] 0 1 1 1 -4096 0 0  x")->name, " x") << "a name may begin with a blank";
}

TEST(KillTasks, AreNothingElse) {
  for (const char* header : {"", "[", "[ pid ]", "[ pid ] uid name", "[ 12 ] uid tgid rss name", "uid tgid rss name"}) {
    EXPECT_FALSE(is_task_header(header)) << header;
    EXPECT_FALSE(read_kill_task(header, kRow)) << header;
  }
  for (const char* row : {"", "[", "[]", "[x] 0 1 1 1 1 0 0 x", "[1] 0 x 1 1 1 0 0 x", "[1] 0 1 1 1 1 0 x x", "[1] 0 1 1 1",
                          "[1] 0 1 1 18446744073709551616 1 0 0 x", "0 1 1 1 1 0 0 x"}) {
    EXPECT_FALSE(read_kill_task(kHeader, row)) << row;
  }
  for (std::size_t size = 0; size < std::string_view(kRow).size(); ++size) {
    static_cast<void>(read_kill_task(kHeader, std::string_view(kRow).substr(0, size)));
    static_cast<void>(read_kill_task(std::string_view(kHeader).substr(0, size), kRow));
  }
}

/// The fields of the only kill in the log.
std::map<std::string, std::string, std::less<>> fields_of_kill(const KernelLogBook& book) {
  Buffer text;
  book.write(text);
  LogTable table;
  EXPECT_FALSE(read_log_table(text.view(), table));
  EXPECT_EQ(table.size, 1U) << text.view();
  std::map<std::string, std::string, std::less<>> fields;
  for (const LogField& field : fields_of(table.events[0])) fields.emplace(field.name, field.value);
  return fields;
}

TEST(KillLogs, OfEachKernelHaveTheReasonTheScoreAndWhoWasNotKilled) {
  const std::string text = read_text(fixture_path("kill_logs.txt"));
  std::string_view rest = text;
  std::string_view line;
  std::string title;
  std::uint64_t sequence = 0;
  std::size_t kills = 0;
  auto book = std::make_unique<KernelLogBook>();
  std::map<std::string, std::string, std::less<>> found;
  while (next_line(rest, line)) {
    if (line.empty() || line.starts_with('#')) {
      title = line;
      found.clear();
      book = std::make_unique<KernelLogBook>();
    } else if (line.starts_with("= ") || line.starts_with("! ")) {
      if (found.empty()) {
        found = fields_of_kill(*book);
        ++kills;
      }
      const std::string_view field = line.substr(2);
      const std::string_view name = field.substr(0, field.find(' '));
      const auto at = found.find(name);
      const std::string wanted(line.starts_with('!') ? std::string_view() : field.substr(name.size() + 1));
      EXPECT_EQ(at == found.end() ? std::string() : at->second, wanted) << title << ": " << name;
    } else {
      ++sequence;
      book->add("4," + std::to_string(sequence) + "," + std::to_string(sequence) + ",-;" + std::string(line) + "\n");
    }
  }
  EXPECT_EQ(kills, 11U);
}

TEST(KillLogs, KeepTheTwoLargestOfManyProcesses) {
  KernelLogBook book;
  book.add(std::string("4,1,1,-;") + kHeader + "\n");
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const std::string pid = std::to_string(i);
    const std::string pages = std::to_string(i * 7919 % 1009);
    book.add("4," + std::to_string(i + 1) + ",1,-;[" + pid + "] 0 " + pid + " 1 " + pages + " 1 0 0 p" + pid + "\n");
  }
  book.add("4,2000,1,-;Out of memory: Killed process 765 (p765) total-vm:1kB, anon-rss:1kB, oom_score_adj:0\n");
  const auto fields = fields_of_kill(book);
  std::uint64_t largest = 0;
  std::uint64_t most = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    if (i == 765 || i * 7919 % 1009 <= most) continue;
    most = i * 7919 % 1009;
    largest = i;
  }
  EXPECT_EQ(fields.at("other_pid"), std::to_string(largest));
  EXPECT_EQ(fields.at("other_resident_pages"), std::to_string(most));
}

TEST(KillLogs, OfProgramsAreNoProcesses) {
  KernelLogBook book;
  book.add(std::string("14,1,1,-;") + kHeader + "\n");
  book.add(std::string("14,2,1,-;") + kRow + "\n");
  book.add("4,3,1,-;Out of memory: Killed process 1 (x) total-vm:1kB\n");
  EXPECT_FALSE(fields_of_kill(book).contains("other_pid"));
}

}  // namespace
}  // namespace memstat
