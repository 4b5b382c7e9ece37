// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/freebsd_exports.h"

#include "tests/support/freebsd_tables.h"
#include "tests/support/test.h"

namespace memstat::freebsd_exports_test {
namespace {

using Walk = std::function<Result<void>(std::string_view bytes, std::size_t& count)>;

Result<void> count_processes(std::string_view bytes, std::size_t& count) {
  return for_each_process("kern.proc.proc", bytes, [&](const ExportedProcess&) { return ++count != 0; });
}
Result<void> count_files(std::string_view bytes, std::size_t& count) {
  return for_each_file("kern.file", bytes, [&](const ExportedFile&) { return ++count != 0; });
}
template <SocketTable kTable>
Result<void> count_sockets(std::string_view bytes, std::size_t& count) {
  return for_each_socket("pcblist", bytes, kTable, [&](const ExportedSocket&) { return ++count != 0; });
}

struct WholeTable {
  std::string name;
  std::string bytes;
  std::size_t record;
  std::size_t ends;
  Walk walk;
};

template <SocketTable kTable>
WholeTable sockets(std::string name, std::size_t record, std::size_t ends) {
  const std::string one = exported_socket(kTable, {.object = 5, .unread = 9});
  return {std::move(name), exported_sockets(kTable, one + one), record, ends, count_sockets<kTable>};
}

std::vector<WholeTable> tables() {
  return {{"processes", exported_process(1, "a") + exported_process(2, "b"), 1088, 0, count_processes},
          {"files", exported_file(1, 1) + exported_file(2, 2), 128, 0, count_files},
          sockets<SocketTable::kTcp>("tcp", 744, 64),
          sockets<SocketTable::kUdp>("udp", 400, 64),
          sockets<SocketTable::kLocal>("local", 904, 32)};
}

TEST(FreeBsdExports, AWholeTableHasAllItsRecords) {
  for (const WholeTable& table : tables()) {
    std::size_t count = 0;
    EXPECT_TRUE(table.walk(table.bytes, count)) << table.name;
    EXPECT_EQ(count, 2U) << table.name;
  }
}

TEST(FreeBsdExports, ATableThatIsCutWithinAStructureIsRefusedAtItsOffset) {
  for (const WholeTable& table : tables()) {
    for (std::size_t size = table.ends == 0 ? 1 : 0; size < table.bytes.size(); ++size) {
      if (table.ends == 0 && size % table.record == 0) continue;
      std::size_t count = 0;
      const std::string cut = table.bytes.substr(0, size);  // so that a sanitizer sees reads beyond it
      const auto walked = table.walk(cut, count);
      ASSERT_FALSE(walked) << table.name << " " << size;
      EXPECT_EQ(walked.error().code, ErrorCode::kData);
      EXPECT_LE(walked.error().offset, size);
    }
  }
}

TEST(FreeBsdExports, AStructureOfAnotherSizeIsNotGuessedAt) {
  for (const WholeTable& table : tables()) {
    for (const std::uint64_t size : {0UL, 1UL, 1087UL, 1UL << 40U, ~0UL}) {
      std::string bytes = table.bytes;
      std::memcpy(bytes.data() + table.ends + table.record, &size, table.name == "processes" ? 4 : 8);
      std::size_t count = 0;
      const auto walked = table.walk(bytes, count);
      ASSERT_FALSE(walked) << table.name;
      EXPECT_EQ(walked.error().code, ErrorCode::kVersion) << table.name;
      EXPECT_EQ(count, 1U) << table.name;
    }
  }
}

TEST(FreeBsdExports, FieldsAreWhereTheKernelHasThem) {
  ASSERT_TRUE(for_each_process("", exported_process(7, "nineteen characters", 12, 3, 4), [](const ExportedProcess& one) {
    EXPECT_EQ(one.pid, 7U);
    EXPECT_EQ(one.uid, 1007U);
    EXPECT_EQ(one.command, "nineteen characters");
    EXPECT_EQ(one.resident, 12U);
    EXPECT_EQ(one.jail, 3U);
    EXPECT_TRUE(one.is_kernel);
    return true;
  }));
  std::string jails;
  ASSERT_TRUE(for_each_jail("", exported_jail(1, "www", 1, 2) + exported_jail(2, "www.db", 2), [&](const ExportedJail& one) {
    jails += std::to_string(one.number) + " " + std::string(one.name) + (one.is_alive ? " alive; " : " dying; ");
    return true;
  }));
  EXPECT_EQ(jails, "1 www alive; 2 www.db dying; ");
  const std::string socket =
      exported_socket(SocketTable::kTcp, {.object = 5, .waiting = 1, .unread = 2, .unsent = 3, .is_v6 = true});
  ASSERT_TRUE(
      for_each_socket("", exported_sockets(SocketTable::kTcp, socket), SocketTable::kTcp, [](const ExportedSocket& one) {
        EXPECT_EQ(one.object, 5U);
        EXPECT_EQ(one.uid, 77U);
        EXPECT_EQ(one.waiting, 1U);
        EXPECT_EQ(one.unread, 2U);
        EXPECT_EQ(one.unsent, 3U);
        EXPECT_TRUE(one.is_v6);
        return true;
      }));
}

}  // namespace
}  // namespace memstat::freebsd_exports_test
