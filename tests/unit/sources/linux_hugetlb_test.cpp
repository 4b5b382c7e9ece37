// SPDX-License-Identifier: BSD-2-Clause
// Pools of huge pages from handwritten files and, as root, a pool of this machine to which the test adds a page. Captured
// kernels: tests/guests/checker.py.
#include "core/collect/file_list.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/meminfo.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_hugetlb_test {
namespace {

constexpr const char* kDirectory = "/sys/kernel/mm/hugepages";

const SourceDescriptor& source() { return *find_source("linux_hugetlb"); }

using Files = std::vector<std::pair<std::string, std::string>>;

/// The files of one pool: "hugepages-2048kB" and their numbers.
Files pool(const std::string& name, const std::string& pages, const std::string& free, const std::string& reserved = "0",
           const std::string& surplus = "0", const std::string& overcommit = "0") {
  const std::string directory = std::string(kDirectory) + "/" + name + "/";
  return {{directory + "nr_hugepages", pages + "\n"},
          {directory + "free_hugepages", free + "\n"},
          {directory + "resv_hugepages", reserved + "\n"},
          {directory + "surplus_hugepages", surplus + "\n"},
          {directory + "nr_overcommit_hugepages", overcommit + "\n"}};
}
Files node_pool(const std::string& node, const std::string& name, const std::string& pages, const std::string& free) {
  const std::string directory = "/sys/devices/system/node/" + node + "/hugepages/" + name + "/";
  return {{directory + "nr_hugepages", pages + "\n"}, {directory + "free_hugepages", free + "\n"}};
}
Files operator+(Files a, const Files& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class Hugetlb : public testing::Test {
 protected:
  Result<void> parse(const Files& files, bool has_end = true) {
    Buffer scratch;
    FileBundleWriter writer(raw_.parts[0], scratch);
    for (const auto& [path, content] : files) EXPECT_TRUE(writer.add(path, content));
    if (has_end) {
      EXPECT_TRUE(writer.add(kEndOfListedFiles, "\n"));
    }
    return parse_bytes(source(), raw_, staging_);
  }
  /// "name: bytes/count/held/limit/size" of all types, "-" for a figure that is none.
  std::string words(const Files& files) {
    if (const auto result = parse(files); !result) return to_string(result.error());
    return type_words(staging_, {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kCountLimit, Field::kSize}, ' ');
  }
  void expect_refused(const Files& files, bool has_end = true) {
    const auto result = parse(files, has_end);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = kDirectory}));
    EXPECT_LE(result.error().offset, raw_.parts[0].size());
    EXPECT_FALSE(result.error().detail.empty());
  }

  RawBytes raw_ = make_raw("");
  Staging staging_;
};

TEST_F(Hugetlb, HasATypeForEverySize) {
  EXPECT_EQ(words(pool("hugepages-2048kB", "10", "4") + pool("hugepages-1048576kB", "1", "1") +
                  pool("hugepages-64kB", "3", "0") + pool("hugepages-1536kB", "1", "0")),
            "2MiB: 12582912 6 20971520 10 2097152; 1GiB: 0 0 1073741824 1 1073741824; "
            "64KiB: 196608 3 196608 3 65536; 1536KiB: 1572864 1 1572864 1 1572864");
}

TEST_F(Hugetlb, HasTheLimitThatTheAdministratorSet) {
  EXPECT_EQ(words(pool("hugepages-2048kB", "0", "0")), "2MiB: 0 0 0 - 2097152") << "nothing is configured";
  EXPECT_EQ(words(pool("hugepages-2048kB", "0", "0", "0", "0", "7")), "2MiB: 0 0 0 7 2097152");
  EXPECT_EQ(words(pool("hugepages-2048kB", "5", "0", "0", "2", "7")), "2MiB: 10485760 5 10485760 10 2097152")
      << "the 7 include surplus pages";
  EXPECT_EQ(words(pool("hugepages-2048kB", "1", "2", "0", "3", "0")), "2MiB: 0 0 2097152 - 2097152")
      << "the files are read one after the other";
}

TEST_F(Hugetlb, HasReservedAndSurplusPages) {
  ASSERT_TRUE(parse(pool("hugepages-2048kB", "5", "4", "3", "2", "7")));
  EXPECT_EQ(find_statistic(staging_, metric_named("memstat_hugetlb_reserved_pages"), "2MiB"), 3U);
  EXPECT_EQ(find_statistic(staging_, metric_named("memstat_hugetlb_surplus_pages"), "2MiB"), 2U);
}

TEST_F(Hugetlb, HasTheNodesOfEachPool) {
  ASSERT_TRUE(parse(pool("hugepages-2048kB", "5", "3") + pool("hugepages-1048576kB", "2", "1") +
                    node_pool("node0", "hugepages-2048kB", "1", "1") + node_pool("node0", "hugepages-1048576kB", "0", "0") +
                    node_pool("node3", "hugepages-2048kB", "4", "2") + node_pool("node3", "hugepages-1048576kB", "2", "1")));
  ASSERT_EQ(staging_.node_count(), 4U);
  const auto figures = [&](std::size_t type, std::uint32_t node) {
    std::string text;
    for (const NodeField field : {NodeField::kHeldBytes, NodeField::kCount, NodeField::kFree}) {
      text += std::to_string(staging_.node_figure(staging_.types()[type], field, node)) + " ";
    }
    return text;
  };
  EXPECT_EQ(figures(0, 0), "2097152 0 1 ");
  EXPECT_EQ(figures(0, 1), "0 0 0 ");
  EXPECT_EQ(figures(0, 3), "8388608 2 2 ");
  EXPECT_EQ(figures(1, 0), "0 0 0 ");
  EXPECT_EQ(figures(1, 3), "2147483648 1 1 ");
}

TEST_F(Hugetlb, PassesOverNodesThatCannotBe) {
  const Files good = pool("hugepages-2048kB", "5", "3");
  for (const char* node : {"node1024", "node4294967296", "node18446744073709551616", "node-1", "nodes", "node"}) {
    ASSERT_TRUE(parse(good + node_pool(node, "hugepages-2048kB", "1", "1"))) << node;
    EXPECT_EQ(staging_.node_count(), 0U) << node;
    EXPECT_EQ(staging_.types().size(), 1U) << node;
  }
  ASSERT_TRUE(parse(good + node_pool("node1023", "hugepages-9kB", "1", "1")));
  EXPECT_EQ(staging_.node_count(), kMaxNodes);
}

TEST_F(Hugetlb, DoesWithoutFilesThatAreNotThere) {
  const Files all = pool("hugepages-2048kB", "5", "3", "1", "2", "4");
  EXPECT_EQ(words({all[0]}), "2MiB: - - 10485760 - 2097152");
  EXPECT_EQ(words({all[0], all[1]}), "2MiB: 4194304 2 10485760 - 2097152");
  EXPECT_EQ(words({all[0], {std::string(kDirectory) + "/hugepages-2048kB/new_file", "12\n"}}),
            "2MiB: - - 10485760 - 2097152");
}

TEST_F(Hugetlb, RefusesInvalidOrLargeNumbers) {
  for (const char* number : {"", "x", "-1", "1.5", "0x10", "18446744073709551616", "1 2"}) {
    expect_refused(pool("hugepages-2048kB", number, "0"));
    expect_refused(pool("hugepages-2048kB", "1", number));
    expect_refused(pool("hugepages-2048kB", "1", "1") + node_pool("node0", "hugepages-2048kB", number, "0"));
  }
  expect_refused(pool("hugepages-2048kB", "18446744073709551615", "0"));
  expect_refused(pool("hugepages-2048kB", "9", "0", "0", "0", "18446744073709551615"));
  expect_refused(pool("hugepages-18446744073709551615kB", "1", "0"));
}

TEST_F(Hugetlb, RefusesABundleWithoutPoolOrEnd) {
  expect_refused({});
  expect_refused({}, false);
  expect_refused(pool("hugepages-2048kB", "1", "0"), false);
  expect_refused({{std::string(kDirectory) + "/hugepages-2048kB/free_hugepages", "1\n"}});
  for (const char* name : {"hugepages-kB", "hugepages-0kB", "hugepages-2048", "2048kB", "", "hugepages-2048kB\n", "\xFF"}) {
    expect_refused(pool(name, "1", "0"));
  }
}

void expect_equal_to_meminfo(KernelView& view, const Staging& staging) {
  std::uint64_t held = 0;
  for (const StagedType& type : staging.types()) held += type.figures[Field::kHeldBytes];
  EXPECT_EQ(held, meminfo(view, "Hugetlb"));
  const std::uint64_t size = meminfo(view, "Hugepagesize");
  for (const StagedType& type : staging.types()) {
    if (type.figures[Field::kSize] != size) continue;
    EXPECT_EQ(type.figures[Field::kCount], meminfo(view, "HugePages_Total") - meminfo(view, "HugePages_Free"));
    EXPECT_EQ(find_statistic(staging, metric_named("memstat_hugetlb_reserved_pages"), type.name),
              meminfo(view, "HugePages_Rsvd"));
    EXPECT_EQ(find_statistic(staging, metric_named("memstat_hugetlb_surplus_pages"), type.name),
              meminfo(view, "HugePages_Surp"));
  }
}

using LiveHugetlb = LiveSource<source>;

TEST_F(LiveHugetlb, EqualsMeminfoAndSeesAPageThatTheTestAdds) {
  ASSERT_TRUE(refreshes());
  expect_equal_to_meminfo(*view_, reader_.staging);
  const std::uint64_t size = meminfo(*view_, "Hugepagesize");
  const std::string file = std::string(kDirectory) + "/hugepages-" + std::to_string(size / 1024) + "kB/nr_hugepages";
  const std::uint64_t before = std::stoull(read_text(file));
  const auto set_pool = [&](std::uint64_t pages) {
    std::ofstream out(file);
    out << pages << std::endl;
    return out.good();
  };
  if (!set_pool(before + 1)) GTEST_SKIP() << "only root may change the pool";
  const auto result = refresh(reader_, *view_, list_, 2);
  const std::uint64_t now = std::stoull(read_text(file));
  set_pool(before);
  ASSERT_TRUE(result);
  if (now != before + 1) GTEST_SKIP() << "the kernel has no huge page to give";
  std::uint64_t held = 0;
  std::uint64_t nodes_held = 0;
  for (const StagedType& type : reader_.staging.types()) {
    if (type.figures[Field::kSize] != size) continue;
    held = type.figures[Field::kHeldBytes];
    for (std::uint32_t node = 0; node < reader_.staging.node_count(); ++node) {
      nodes_held += reader_.staging.node_figure(type, NodeField::kHeldBytes, node);
    }
  }
  EXPECT_EQ(held, (before + 1) * size);
  if (reader_.staging.node_count() != 0) {
    EXPECT_EQ(nodes_held, held);
  }
}

}  // namespace
}  // namespace memstat::linux_hugetlb_test
