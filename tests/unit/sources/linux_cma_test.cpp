// SPDX-License-Identifier: BSD-2-Clause
// Areas of contiguous memory from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/bundled_files.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_cma_test {
namespace {

constexpr const char* kDirectory = "/sys/kernel/mm/cma";

const SourceDescriptor& source() { return *find_source("linux_cma"); }

using Files = std::map<std::string, std::string>;

class Cma : public testing::Test {
 protected:
  /// Names are "AREA/FILE", or whole paths.
  Result<void> parse(const Files& files) {
    files_.contents.clear();
    for (const auto& [name, content] : files) {
      files_.contents[name.starts_with('/') ? name : std::string(kDirectory) + "/" + name] = content;
    }
    return files_.parse();
  }
  /// "name: bytes held allocated freed" of all types, "-" for a figure that is none.
  std::string words(const Files& files) {
    if (const auto result = parse(files); !result) return to_string(result.error());
    return type_words(files_.staging(), {Field::kBytes, Field::kHeldBytes, Field::kMemAlloced, Field::kMemFreed}, ' ');
  }
  void expect_refused(const Files& files) {
    const auto result = parse(files);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData}));
    EXPECT_TRUE(result.error().path.starts_with(kDirectory)) << result.error().path;
  }
  BundledFiles files_{source()};
};

TEST_F(Cma, ReadsOlderKernels) {
  EXPECT_EQ(words({{"a/alloc_pages_success", "70\n"}, {"a/alloc_pages_fail", "0\n"}, {"a/release_pages_success", "60\n"}}),
            "a: 40960 - 286720 245760")
      << "6.9 to 6.14";
  EXPECT_EQ(words({{"a/alloc_pages_success", "70\n"}, {"a/alloc_pages_fail", "2\n"}}), "a: - - 286720 -") << "5.13 to 6.8";
  EXPECT_EQ(words({{"/proc/meminfo", "MemTotal: 1 kB\nCmaTotal: 400 kB\nCmaFree: 100 kB\n"}}),
            "all areas: 307200 409600 - -");
}

TEST_F(Cma, ClampsWhatWasReadOneAfterTheOther) {
  EXPECT_EQ(words({{"a/alloc_pages_success", "7\n"}, {"a/release_pages_success", "8\n"}}), "a: 0 - 28672 32768");
  EXPECT_EQ(words({{"/proc/meminfo", "CmaTotal: 4 kB\nCmaFree: 8 kB\n"}}), "all areas: 0 4096 - -");
}

TEST_F(Cma, RefusesInvalidLargeOrTruncatedNumbers) {
  for (const char* number : {"", "x", "18446744073709551616"}) expect_refused({{"a/alloc_pages_success", number}});
  expect_refused({{"a/total_pages", "18446744073709551615"}});
  expect_refused({});
  expect_refused({{"/proc/meminfo", "MemTotal: 4 kB\n"}});
  expect_refused({{"/proc/meminfo", "CmaTotal: 4 kB\nCmaFree: x\n"}});
}

/// A view with directories, of a kernel without sysfs files of areas.
class NoAreas final : public PreparedKernelView {
 public:
  NoAreas() : PreparedKernelView(OperatingSystem::kLinux) {}
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override {
    if (path != "/sys/kernel/mm" || error != 0) return system_error(path, error != 0 ? error : ENOENT);
    names = {"hugepages", "ksm"};
    return {};
  }
  int error = 0;  ///< Of all directories.
};

TEST_F(Cma, FallsBackToMeminfoAndIsNotPresentWithoutAnyArea) {
  NoAreas view;
  MemoryTypeList list;
  SourceReader reader(source());
  view.contents["/proc/meminfo"] = {"CmaTotal: 0 kB\nCmaFree: 0 kB\n"};
  EXPECT_EQ(open_source(reader, view).error().code, ErrorCode::kNotPresent);
  view.contents["/proc/meminfo"] = {"MemTotal: 3 kB\n"};
  EXPECT_EQ(open_source(reader, view).error().code, ErrorCode::kNotPresent);
  view.contents["/proc/meminfo"] = {"CmaTotal: 64 kB\nCmaFree: 60 kB\n"};
  ASSERT_TRUE(open_source(reader, view));
  ASSERT_TRUE(refresh(reader, view, list, 1));
  ASSERT_NE(list.find(Allocator::kCma, "all areas"), nullptr);
  EXPECT_EQ(list.first()->figure(Field::kBytes), 4096U);
  view.error = ENOENT;
  EXPECT_TRUE(open_source(reader, view)) << "without sysfs";
  view.error = EACCES;
  SourceReader refused(source());
  EXPECT_EQ(open_source(refused, view).error().code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace memstat::linux_cma_test
