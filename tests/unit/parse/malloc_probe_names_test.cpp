// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/malloc_probe_names.h"

#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr std::size_t kRecordHeader = 32;

MallocProbeNames names_of(const std::vector<std::string>& types) {
  MallocStream builder(1);
  for (const std::string& type : types) builder.add(type);
  const std::string bytes = builder.bytes();
  MallocProbeNames names;
  const auto stream = StatisticsStream::open("kern.malloc_stats", bytes, kRecordHeader);
  EXPECT_TRUE(stream);
  EXPECT_TRUE(stream && names.take(*stream));
  return names;
}

/// The type of a probe; "unknown" and "shared" in their cases.
std::string type_of(const MallocProbeNames& names, std::string_view probe) {
  const std::size_t place = names.find(probe);
  if (place == MallocProbeNames::kUnknown) return "unknown";
  if (place == MallocProbeNames::kShared) return "shared";
  return std::string(names.name(place));
}

TEST(MallocProbeNames, AreTheTypesWithUnderscoresForBlanks) {
  const MallocProbeNames names = names_of({"vm pgdata", "temp", "UMA Hash", "proc-args", "a\tb", "zfs_x", "8021 node.x/y"});
  EXPECT_EQ(names.size(), 7U);
  for (const auto& [probe, type] : std::vector<std::pair<std::string, std::string>>{{"vm_pgdata", "vm pgdata"},
                                                                                    {"temp", "temp"},
                                                                                    {"UMA_Hash", "UMA Hash"},
                                                                                    {"proc-args", "proc-args"},
                                                                                    {"a_b", "a\tb"},
                                                                                    {"zfs_x", "zfs_x"},
                                                                                    {"8021_node.x/y", "8021 node.x/y"}}) {
    EXPECT_EQ(type_of(names, probe), type);
  }
  EXPECT_EQ(type_of(names, "vm pgdata"), "vm pgdata") << "kernels that left the blanks where they were";
  for (const char* other : {"", "tem", "temp_", "proc_args", "TEMP", "UMA"}) EXPECT_EQ(type_of(names, other), "unknown");
}

TEST(MallocProbeNames, KnowATypeByItsFirst31Bytes) {
  const std::string cut = "a type of thirty-one characters";
  ASSERT_EQ(cut.size(), 31U);
  const MallocProbeNames names = names_of({cut, "short"});
  EXPECT_EQ(type_of(names, "a_type_of_thirty-one_characters"), cut);
  EXPECT_EQ(type_of(names, "a_type_of_thirty-one_characters_and_many_more"), cut);
  EXPECT_EQ(type_of(names, "a_type_of_thirty-one_character"), "unknown");
  EXPECT_EQ(type_of(names, std::string(100'000, 'x')), "unknown");
}

TEST(MallocProbeNames, DoNotGuessBetweenTypes) {
  const MallocProbeNames names = names_of({"a b", "x", "a_b", "twice", "twice"});
  EXPECT_EQ(type_of(names, "a_b"), "shared");
  EXPECT_EQ(type_of(names, "twice"), "shared");
  EXPECT_EQ(type_of(names, "x"), "x");
}

}  // namespace
}  // namespace memstat
