// SPDX-License-Identifier: BSD-2-Clause
// Through the C API, real FreeBSD kernels look the same as with FreeBSD's own libmemstat: result, order, every accessor,
// every CPU, in every captured poll that has such a dump.
#include "tests/support/oracle.h"
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// One dump: what the query returned, and the list after it.
struct Dump {
  int result = 0;
  int error = 0;
  std::vector<OracleType> types;
};

std::optional<Dump> dump_of(const std::string& capture, std::size_t poll, const std::string& allocator) {
  char path[64];
  std::snprintf(path, sizeof path, "oracle/%06zu-libmemstat-%s.txt", poll, allocator.c_str());
  const auto text = read_beside_capture(capture, path);
  if (!text) return std::nullopt;
  Dump dump;
  EXPECT_EQ(std::sscanf(text->c_str(), "# rc %d error %d", &dump.result, &dump.error), 2) << capture << ' ' << path;
  auto types = parse_oracle(*text);
  EXPECT_TRUE(types) << (types ? "" : to_string(types.error()));
  if (types) dump.types = std::move(*types);
  EXPECT_GT(dump.types.size(), 100U);
  return dump;
}

void expect_equal(const memory_type* type, const OracleType& oracle) {
  EXPECT_EQ(memstat_get_name(type), oracle.name);
  std::set<std::string> compared = {"allocator"};
  EXPECT_EQ(static_cast<std::uint64_t>(memstat_get_allocator(type)), oracle.figures.at("allocator")) << oracle.name;
  for (const Accessor& accessor : kAccessors) {
    const auto expected = oracle.figures.find(accessor.name);
    ASSERT_NE(expected, oracle.figures.end()) << accessor.name;
    EXPECT_EQ(accessor.get(type), expected->second) << oracle.name << ' ' << accessor.name;
    compared.insert(accessor.name);
  }
  EXPECT_EQ(compared.size(), oracle.figures.size()) << "the dump has an accessor that was not compared";
  std::size_t cpu_accessors = 0;
  for (const CpuAccessor& accessor : kCpuAccessors) {
    const auto expected = oracle.cpus.find(accessor.name);
    if (expected == oracle.cpus.end()) continue;  // a dump of zones omits what only malloc has
    ++cpu_accessors;
    for (std::size_t cpu = 0; cpu < expected->second.size(); ++cpu) {
      EXPECT_EQ(accessor.get(type, static_cast<int>(cpu)), expected->second[cpu])
          << oracle.name << ' ' << accessor.name << " CPU " << cpu;
    }
    EXPECT_EQ(accessor.get(type, static_cast<int>(std::max<std::size_t>(expected->second.size(), 1024))), 0U);
  }
  EXPECT_EQ(cpu_accessors, oracle.cpus.size());
}

void expect_list(memory_type_list* list, const std::vector<OracleType>& expected) {
  const memory_type* type = memstat_mtl_first(list);
  for (const OracleType& oracle : expected) {
    ASSERT_NE(type, nullptr) << "the list ends before " << oracle.name;
    expect_equal(type, oracle);
    type = memstat_mtl_next(const_cast<memory_type*>(type));
  }
  EXPECT_EQ(type, nullptr) << "one too many: " << memstat_get_name(type);
  EXPECT_EQ(memstat_mtl_get_count(list), expected.size());
}

class CApiOracle : public testing::TestWithParam<std::string> {
 protected:
  const std::shared_ptr<ReplayKernelView> view_ = open_fixture(GetParam());
};

TEST_P(CApiOracle, EveryPollIsTheSameOnAFreshList) {
  std::size_t compared = 0;
  for (std::size_t poll = 0; poll < view_->poll_count(); ++poll) {
    ASSERT_TRUE(view_->select_poll(poll));
    const auto malloc_dump = dump_of(GetParam(), poll, "malloc");
    const auto uma_dump = dump_of(GetParam(), poll, "uma");
    if (malloc_dump) {
      const ListPtr list = make_list(view_);
      EXPECT_EQ(memstat_sysctl_malloc(list.get(), 0), malloc_dump->result) << memstat_mtl_get_message(list.get());
      EXPECT_EQ(memstat_mtl_geterror(list.get()), malloc_dump->error);
      expect_list(list.get(), malloc_dump->types);
      ++compared;
    }
    if (uma_dump) {
      const ListPtr list = make_list(view_);
      EXPECT_EQ(memstat_sysctl_uma(list.get(), 0), uma_dump->result) << memstat_mtl_get_message(list.get());
      EXPECT_EQ(memstat_mtl_geterror(list.get()), uma_dump->error);
      expect_list(list.get(), uma_dump->types);
      ++compared;
    }
    if (malloc_dump && uma_dump) {
      const ListPtr list = make_list(view_);
      EXPECT_EQ(memstat_sysctl_all(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
      std::vector<OracleType> both = uma_dump->types;  // zones before malloc's types
      both.insert(both.end(), malloc_dump->types.begin(), malloc_dump->types.end());
      expect_list(list.get(), both);
    }
  }
  EXPECT_GE(compared, 2U);
}

INSTANTIATE_TEST_SUITE_P(Captures, CApiOracle, shown_by("freebsd_uma"), name_of_capture);

}  // namespace
}  // namespace memstat
