// SPDX-License-Identifier: BSD-2-Clause
// Jails: the source from handwritten tables, and the table from a kernel in memory.
#include "core/collect/jail_table.h"
#include "core/query.h"
#include "tests/support/freebsd_tables.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::freebsd_jail_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_jail"); }

class FreeBsdJail : public ParsedSource<source> {};

TEST_F(FreeBsdJail, HasWhatTheKernelCountsAndTheLowestLimits) {
  constexpr std::string_view kTable =
      "jails 1\n"
      "jail racct cputime=7,memoryuse=8192,maxproc=3,openfiles=12,vmemoryuse=65536,swapuse=4096,nthr=5,shmsize=-1 www\n"
      "rule maxproc:deny=20\nrule maxproc:deny=10/jail\nrule maxproc:log=9\nrule openfiles:deny=5/process\n"
      "rule memoryuse:deny=16384\nrule memoryuse:deny=0\n"
      "jail processes memoryuse=4096,vmemoryuse=8192,maxproc=1,nthr=1 a b\n"
      "end\n";
  EXPECT_EQ(words(kTable, {Field::kBytes, Field::kBytesLimit, Field::kCount, Field::kCountLimit, Field::kAddressSpace}),
            "www: 8192/-/3/10/65536; a b: 4096/-/1/-/8192");
  const std::map<std::string, std::uint64_t> expected = {
      {"jail_bytes{www,swapuse}", 4096},    {"jail_bytes{www,vmemoryuse}", 65536},
      {"jail_bytes{a b,vmemoryuse}", 8192}, {"jail_objects{www,openfiles}", 12},
      {"jail_objects{www,nthr}", 5},        {"jail_limit{www,maxproc,deny}", 10},
      {"jail_limit{www,maxproc,log}", 9},   {"jail_limit{www,memoryuse,deny}", 0},
      {"jail_objects{a b,nthr}", 1},        {"jails", 2}};
  EXPECT_EQ(statistics_of(reader_.staging), expected);
}

TEST_F(FreeBsdJail, AMachineWithoutJailsHasNone) {
  ASSERT_TRUE(parse("jails 1\nend\n"));
  const std::map<std::string, std::uint64_t> none = {{"jails", 0}, {"jails_counted", 0}};
  EXPECT_EQ(statistics_of(reader_.staging), none);
}

TEST_F(FreeBsdJail, ADamagedTableIsRefused) {
  const std::string table = "jails 1\njail racct maxproc=1 a\nrule maxproc:deny=2\nend\n";
  for (std::size_t size = 0; size < table.size(); ++size) EXPECT_FALSE(parse(table.substr(0, size))) << size;
  for (const char* line : {"rule maxproc:deny=1", "jail racct maxproc=1", "jail other maxproc=1 a", "other 1", ""}) {
    EXPECT_FALSE(parse("jails 1\n" + std::string(line) + "\nend\n")) << line;
  }
  for (const char* rule : {"maxproc", "maxproc:deny", "maxproc:deny=x", "maxproc:deny=-1"}) {
    EXPECT_FALSE(parse("jails 1\njail racct maxproc=1 a\nrule " + std::string(rule) + "\nend\n")) << rule;
  }
}

/// Counts the jails in `counts`, as the kernel does with kern.racct.enable, unless the caller is nobody.
class JailKernel final : public SysctlKernel {
 public:
  std::map<std::string, std::string, std::less<>> counts;
  bool is_root = true;

  Result<void> read_jail_counts(std::string_view jail, Buffer& out) override {
    if (!is_root) return system_error("rctl_get_racct", EPERM);
    const auto found = counts.find(jail);
    if (found == counts.end()) return system_error("rctl_get_racct", ESRCH);
    out.assign(found->second);
    return {};
  }
};

class TableOfJails : public testing::Test {
 protected:
  TableOfJails() {
    kernel_.set("security.jail.list", exported_jail(1, "www", 1, 2) + exported_jail(2, "www.db") + exported_jail(3, "wwwx") +
                                          exported_jail(4, "ending", 2));
    kernel_.set("kern.proc.proc", exported_process(1, "init") + exported_process(7, "httpd", 2, 1) +
                                      exported_process(8, "postgres", 3, 2) + exported_process(9, "new", 5, 99));
  }
  std::string table() {
    JailTable table;
    Buffer out;
    const Result<void> read = kernel_.read_table("freebsd_jail", table, out);
    return read ? std::string(out.view()) : to_string(read.error());
  }
  JailKernel kernel_;
};

TEST_F(TableOfJails, HasTheKernelsCountsAndRules) {
  kernel_.counts["www"] = "maxproc=2\nmaxproc:deny=20\nnthr:log=5\n";
  kernel_.counts["wwwx"] = "maxproc=0\n";
  EXPECT_EQ(table(),
            "jails 1\njail racct maxproc=2 www\nrule maxproc:deny=20\nrule nthr:log=5\njail racct maxproc=0 wwwx\nend\n")
      << "www.db was removed between the two reads";
  EXPECT_EQ(kernel_.reads["kern.proc.proc"], 0);
}

TEST_F(TableOfJails, HasSumsOverProcessesForAllButRoot) {
  kernel_.is_root = false;
  EXPECT_EQ(table(),
            "jails 1\njail processes memoryuse=20480,vmemoryuse=2000,maxproc=2,nthr=4 www\n"
            "jail processes memoryuse=12288,vmemoryuse=1000,maxproc=1,nthr=2 www.db\n"
            "jail processes memoryuse=0,vmemoryuse=0,maxproc=0,nthr=0 wwwx\nend\n");
  EXPECT_EQ(kernel_.reads["kern.proc.proc"], 1);
}

TEST_F(TableOfJails, ReadsNoProcessesWithoutJails) {
  kernel_.set("security.jail.list", "");
  kernel_.is_root = false;
  EXPECT_EQ(table(), "jails 1\nend\n");
  EXPECT_EQ(kernel_.reads["kern.proc.proc"], 0);
}

TEST_F(TableOfJails, ANameCannotMakeALine) {
  kernel_.is_root = false;
  kernel_.set("security.jail.list", exported_jail(1, "a\nend"));
  EXPECT_EQ(table(), "jails 1\njail processes memoryuse=8192,vmemoryuse=1000,maxproc=1,nthr=2 a\\x0aend\nend\n");
}

TEST_F(TableOfJails, AnErrorIsThatOfTheSysctl) {
  kernel_.failures["security.jail.list"] = EPERM;
  EXPECT_EQ(table().substr(0, 18), "security.jail.list");
  kernel_.failures.clear();
  kernel_.set("security.jail.list", exported_jail(1, "a").substr(1));
  EXPECT_EQ(table().substr(0, 18), "security.jail.list");
}

}  // namespace
}  // namespace memstat::freebsd_jail_test
