// SPDX-License-Identifier: BSD-2-Clause
// Areas of contiguous memory from handwritten files. Captured and live kernels: tests/guests/checker.py.
#include "core/collect/file_list.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_cma_test {
namespace {

constexpr const char* kDirectory = "/sys/kernel/mm/cma";

const SourceDescriptor& source() { return *find_source("linux_cma"); }

using Files = std::vector<std::pair<std::string, std::string>>;

class Cma : public testing::Test {
 protected:
  /// Names are "AREA/FILE", or whole paths.
  Result<void> parse(const Files& files, bool has_end = true) {
    Buffer scratch;
    FileBundleWriter writer(raw_.parts[0], scratch);
    for (const auto& [name, content] : files) {
      EXPECT_TRUE(writer.add(name.starts_with('/') ? name : std::string(kDirectory) + "/" + name, content));
    }
    if (has_end) {
      EXPECT_TRUE(writer.add(kEndOfListedFiles, "\n"));
    }
    return parse_bytes(source(), raw_, staging_);
  }
  /// "name: bytes/held/limit/allocated/freed/failures" of all types in pages, "-" for a figure that is none.
  std::string words(const Files& files) {
    if (const auto result = parse(files); !result) return to_string(result.error());
    std::string text;
    for (const StagedType& type : staging_.types()) {
      text += (text.empty() ? "" : "; ") + std::string(type.name) + ":";
      for (const Field field :
           {Field::kBytes, Field::kHeldBytes, Field::kBytesLimit, Field::kMemAlloced, Field::kMemFreed, Field::kFailures}) {
        const std::uint64_t unit = field == Field::kFailures ? 1 : 4096;
        text += " " + (type.fields.has(field) ? std::to_string(type.figures[field] / unit) : std::string("-"));
      }
    }
    return text;
  }
  void expect_refused(const Files& files, bool has_end = true) {
    const auto result = parse(files, has_end);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = kDirectory}));
    EXPECT_LE(result.error().offset, raw_.parts[0].size());
  }
  RawBytes raw_ = make_raw("");
  Staging staging_;
};

TEST_F(Cma, HasATypeForEveryArea) {
  EXPECT_EQ(words({{"reserved/alloc_pages_success", "70\n"},
                   {"reserved/alloc_pages_fail", "3\n"},
                   {"reserved/release_pages_success", "30\n"},
                   {"reserved/total_pages", "100\n"},
                   {"reserved/available_pages", "60\n"},
                   {"linux,cma/alloc_pages_success", "1\n"},
                   {"linux,cma/total_pages", "9\n"},
                   {"linux,cma/available_pages", "8\n"}}),
            "reserved: 40 100 100 70 30 3; linux,cma: 1 9 9 1 - -");
}

TEST_F(Cma, ReadsOlderKernels) {
  EXPECT_EQ(words({{"a/alloc_pages_success", "70\n"}, {"a/alloc_pages_fail", "0\n"}, {"a/release_pages_success", "60\n"}}),
            "a: 10 - - 70 60 0")
      << "6.9 to 6.14";
  EXPECT_EQ(words({{"a/alloc_pages_success", "70\n"}, {"a/alloc_pages_fail", "2\n"}}), "a: - - - 70 - 2") << "5.13 to 6.8";
  EXPECT_EQ(words({{"/proc/meminfo", "MemTotal: 1 kB\nCmaTotal: 400 kB\nCmaFree: 100 kB\n"}}), "all areas: 75 100 - - - -");
}

TEST_F(Cma, ClampsWhatWasReadOneAfterTheOther) {
  EXPECT_EQ(words({{"a/alloc_pages_success", "7\n"}, {"a/release_pages_success", "8\n"}}), "a: 0 - - 7 8 -");
  EXPECT_EQ(words({{"/proc/meminfo", "CmaTotal: 4 kB\nCmaFree: 8 kB\n"}}), "all areas: 0 1 - - - -");
}

TEST_F(Cma, TakesHostileNames) {
  EXPECT_EQ(words({{"my \"area\"\n\xFF/alloc_pages_success", "1\n"}}), "my \"area\"\\x0a\xEF\xBF\xBD: - - - 1 - -");
  const std::string endless(4096, 'n');
  EXPECT_EQ(words({{endless + "/alloc_pages_success", "1\n"}}), endless + ": - - - 1 - -");
}

TEST_F(Cma, RefusesInvalidLargeOrTruncatedNumbers) {
  for (const char* number : {"", "x", "-1", "1.5", "18446744073709551616", "1 2"}) {
    expect_refused({{"a/alloc_pages_success", number}});
    expect_refused({{"a/new_file", number}});
  }
  expect_refused({{"a/total_pages", "18446744073709551615"}});
  expect_refused({{"a/alloc_pages_success", "1"}}, false);
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
}

TEST_F(Cma, FallsBackToMeminfoWithoutSysfsButNotWhereItCannotBeRead) {
  NoAreas view;
  view.contents["/proc/meminfo"] = {"CmaTotal: 64 kB\nCmaFree: 60 kB\n"};
  view.error = ENOENT;
  MemoryTypeList list;
  SourceReader reader(source());
  ASSERT_TRUE(open_source(reader, view));
  ASSERT_TRUE(refresh(reader, view, list, 1));
  EXPECT_NE(list.find(Allocator::kCma, "all areas"), nullptr);
  view.error = EACCES;
  SourceReader refused(source());
  EXPECT_EQ(open_source(refused, view).error().code, ErrorCode::kPermission);
}

}  // namespace
}  // namespace memstat::linux_cma_test
