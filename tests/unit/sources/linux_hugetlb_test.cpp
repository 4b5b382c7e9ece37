// SPDX-License-Identifier: BSD-2-Clause
// Pools of huge pages from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_hugetlb_test {
namespace {

constexpr const char* kDirectory = "/sys/kernel/mm/hugepages";

const SourceDescriptor& source() { return *find_source("linux_hugetlb"); }

using Files = std::map<std::string, std::string>;

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
  a.insert(b.begin(), b.end());
  return a;
}

class Hugetlb : public testing::Test {
 protected:
  Result<void> parse(const Files& files) {
    files_.contents = files;
    return files_.parse();
  }
  /// "name: bytes/count/held/limit/size" of all types, "-" for a figure that is none.
  std::string words(const Files& files) {
    if (const auto result = parse(files); !result) return to_string(result.error());
    return type_words(files_.staging(), {Field::kBytes, Field::kCount, Field::kHeldBytes, Field::kCountLimit, Field::kSize},
                      ' ');
  }
  void expect_refused(const Files& files) {
    const auto result = parse(files);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData}));
    EXPECT_NE(result.error().path.find("hugepages"), std::string::npos) << result.error().path;
  }
  BundledFiles files_{source()};
};

TEST_F(Hugetlb, HasATypeForEverySize) {
  EXPECT_EQ(words(pool("hugepages-2048kB", "10", "4") + pool("hugepages-1048576kB", "1", "1") +
                  pool("hugepages-64kB", "3", "0") + pool("hugepages-1536kB", "1", "0")),
            "1GiB: 0 0 1073741824 1 1073741824; 1536KiB: 1572864 1 1572864 1 1572864; "
            "2MiB: 12582912 6 20971520 10 2097152; 64KiB: 196608 3 196608 3 65536");
}

TEST_F(Hugetlb, HasTheLimitThatTheAdministratorSet) {
  EXPECT_EQ(words(pool("hugepages-2048kB", "0", "0")), "2MiB: 0 0 0 - 2097152") << "nothing is configured";
  EXPECT_EQ(words(pool("hugepages-2048kB", "0", "0", "0", "0", "7")), "2MiB: 0 0 0 7 2097152");
  EXPECT_EQ(words(pool("hugepages-2048kB", "5", "0", "0", "2", "7")), "2MiB: 10485760 5 10485760 10 2097152")
      << "the 7 include surplus pages";
  EXPECT_EQ(words(pool("hugepages-2048kB", "1", "2", "0", "3", "0")), "2MiB: 0 0 2097152 - 2097152")
      << "the files are read one after the other";
}

TEST_F(Hugetlb, PassesOverNodesThatCannotBe) {
  const Files good = pool("hugepages-2048kB", "5", "3");
  for (const char* node : {"node1024", "node18446744073709551616", "node-1", "nodes", "node"}) {
    ASSERT_TRUE(parse(good + node_pool(node, "hugepages-2048kB", "1", "1"))) << node;
    EXPECT_EQ(files_.staging().node_count(), 0U) << node;
    EXPECT_EQ(files_.staging().types().size(), 1U) << node;
  }
  ASSERT_TRUE(parse(good + node_pool("node1023", "hugepages-9kB", "1", "1")));
  EXPECT_EQ(files_.staging().node_count(), kMaxNodes);
}

TEST_F(Hugetlb, DoesWithoutFilesThatAreNotThere) {
  const std::string directory = std::string(kDirectory) + "/hugepages-2048kB/";
  EXPECT_EQ(words({{directory + "nr_hugepages", "5\n"}}), "2MiB: - - 10485760 - 2097152");
  EXPECT_EQ(words({{directory + "nr_hugepages", "5\n"}, {directory + "free_hugepages", "3\n"}}),
            "2MiB: 4194304 2 10485760 - 2097152");
}

TEST_F(Hugetlb, RefusesInvalidOrLargeNumbers) {
  for (const char* number : {"", "x", "18446744073709551616"}) {
    expect_refused(pool("hugepages-2048kB", number, "0"));
    expect_refused(pool("hugepages-2048kB", "1", "1") + node_pool("node0", "hugepages-2048kB", number, "0"));
  }
  expect_refused(pool("hugepages-2048kB", "18446744073709551615", "0"));
  expect_refused(pool("hugepages-2048kB", "9", "0", "0", "0", "18446744073709551615"));
  expect_refused(pool("hugepages-18446744073709551615kB", "1", "0"));
}

}  // namespace
}  // namespace memstat::linux_hugetlb_test
