// SPDX-License-Identifier: BSD-2-Clause
// Bounded tables from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_table_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_table"); }

class Tables : public testing::Test {
 protected:
  Tables() : files_(source()) {}
  std::string& file(const std::string& path) { return files_.contents["/proc/" + path]; }
  std::map<std::string, std::uint64_t> statistics() { return files_.statistics(); }
  BundledFiles files_;
};

/// A kernel's files, with the expected tables and statistics: fixtures/linux_table.txt.
struct TableCase {
  std::string why;
  std::map<std::string, std::string> files;  ///< Below /proc.
  std::map<std::string, std::string> figures;
  std::map<std::string, std::uint64_t> statistics;
};

std::string with_line_ends(std::string text) {
  for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at) {
    text.replace(at, 2, 1, text.at(at + 1) == 'n' ? '\n' : '\t');
  }
  return text;
}

/// "files count=600" or "negative_dentries 151302".
void add_result(std::string_view text, TableCase& table) {
  if (const std::size_t blank = text.find(' '); text.find('=') != std::string_view::npos) {
    table.figures.emplace(text.substr(0, blank), text.substr(blank + 1));
    return;
  }
  const std::size_t blank = text.rfind(' ');
  const std::string number(text.substr(blank + 1));
  table.statistics.emplace(text.substr(0, blank), number.find('.') == std::string::npos
                                                      ? std::stoull(number)
                                                      : std::bit_cast<std::uint64_t>(std::stod(number)));
}

std::vector<TableCase> table_cases() {
  constexpr std::string_view kResult = "=> ";
  std::vector<TableCase> cases;
  std::map<std::string, std::string> shared;
  std::ifstream file(fixture_path("linux_table.txt"));
  bool begins = false;  // the lines before the first empty one are a comment
  for (std::string line; std::getline(file, line); begins = line.empty()) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with('@')) {
      shared.emplace(line.substr(0, colon), with_line_ends(line.substr(colon + 2)));
    } else if (!line.empty()) {
      if (begins) cases.emplace_back();
      if (cases.empty()) continue;
      if (line.starts_with('#')) {
        cases.back().why = line;
      } else if (line.starts_with(kResult)) {
        add_result(line.substr(kResult.size()), cases.back());
      } else {
        const std::string content = line.substr(colon + 2);
        cases.back().files[line.substr(0, colon)] = content.starts_with('@') ? shared.at(content) : with_line_ends(content);
      }
    }
  }
  return cases;
}

TEST_F(Tables, HaveTheFiguresAndStatisticsOfTheirFiles) {
  const std::vector<TableCase> cases = table_cases();
  EXPECT_GE(cases.size(), 33U);
  for (const TableCase& one : cases) {
    ASSERT_FALSE(one.files.empty() || one.figures.empty());
    SCOPED_TRACE(one.figures.begin()->first + ": " + one.files.begin()->second + one.why);
    files_.contents.clear();
    for (const auto& [path, content] : one.files) file(path) = content;
    for (const auto& [name, figures] : one.figures) EXPECT_EQ(files_.figures_of(name), figures) << name;
    EXPECT_EQ(statistics(), one.statistics);
    EXPECT_EQ(files_.staging().types().size(), one.figures.size());
  }
}

// The module is loaded while memstatd runs: its files are missing when the source opens.
TEST(TablesOfModules, AreSeenWithinFourReadsAfterTheModuleCame) {
  PreparedKernelView view(OperatingSystem::kLinux);
  view.contents["/proc/sys/fs/file-nr"] = {"10\t0\t100\n"};
  view.contents["/proc/loadavg"] = {"0.00 0.00 0.00 1/20 300\n"};
  SourceReader reader(source());
  MemoryTypeList list;
  std::uint64_t generation = 0;
  const auto has_conntrack = [&] {
    const auto result = refresh(reader, view, list, ++generation);
    EXPECT_TRUE(result) << to_string(result.error());
    const MemoryType* const type = list.find(Allocator::kTable, "conntrack");
    return type != nullptr && type->is_present();
  };
  ASSERT_TRUE(open_source(reader, view));
  for (int read = 0; read < 6; ++read) ASSERT_FALSE(has_conntrack());
  view.contents["/proc/sys/net/netfilter/nf_conntrack_count"] = {"7\n"};
  view.contents["/proc/sys/net/netfilter/nf_conntrack_max"] = {"70\n"};
  int reads = 1;
  while (!has_conntrack() && reads < 10) ++reads;
  EXPECT_LE(reads, 4);
  const MemoryType* const type = list.find(Allocator::kTable, "conntrack");
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->figure(Field::kCount), 7U);
  EXPECT_EQ(type->figure(Field::kCountLimit), 70U);
  view.contents.erase("/proc/sys/net/netfilter/nf_conntrack_count");
  EXPECT_FALSE(has_conntrack()) << "the module went";
  EXPECT_NE(list.find(Allocator::kTable, "files"), nullptr);
}

TEST_F(Tables, ThatAreWrongAreRefusedWithThePlace) {
  file("sys/fs/aio-nr") = "1\n";
  const auto refused = [&](const std::string& path, const std::string& content, std::size_t offset = 0) {
    files_.expect_refused_with("/proc/" + path, content, offset);
  };
  for (const char* number : {"", "x\n", "18446744073709551616\n"}) refused("sys/fs/aio-nr", number);
  refused("sys/fs/aio-nr", "12");
  refused("sys/fs/file-nr", "1 2\n");
  refused("loadavg", "1 2 3 4/x\n");
  refused("key-users", "0: 1 2/3 4/5 6/7\n1: 1 2/3 4/5\n", 17);
  refused("key-users", "0: 1 18446744073709551615/3 4/5 6/7\n1: 1 2/3 4/5 6/7\n", 36);
  refused("net/stat/arp_cache", "entries\nx\n", 8);
  refused("sysvipc/shm", "key size\n1 x\n", 9);
  refused("net/sockstat", "TCP: inuse 1 tw 2\n", 17);
  file("net/sockstat") = "TCP: orphan 1 tw 2\n";
  refused("net/netstat", "TcpExt: TCPTimeWaitOverflow\nTcpExt: x\n", 28);
  file("sys/net/netfilter/nf_conntrack_count") = "1\n";
  refused("net/stat/nf_conntrack", "drop\n1 2\nx\n", 9);
}

TEST_F(Tables, WithoutATableAreRefused) {
  EXPECT_FALSE(files_.parse());
  file("sys/fs/epoll/max_user_watches") = "100\n";
  EXPECT_FALSE(files_.parse()) << "a limit is not a table";
  file("sys/fs/aio-nr") = "1\n";
  EXPECT_TRUE(files_.parse());
}

}  // namespace
}  // namespace memstat::linux_table_test
