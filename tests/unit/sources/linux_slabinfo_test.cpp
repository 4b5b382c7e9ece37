// SPDX-License-Identifier: BSD-2-Clause
// /proc/slabinfo from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/source_reading.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::linux_slabinfo_test {
namespace {

constexpr std::string_view kFile = "/proc/slabinfo";

const SourceDescriptor& source() { return *find_source("linux_slabinfo"); }

class LinuxSlabinfo : public ParsedSource<source> {
 protected:
  std::uint64_t figure(std::string_view name, Field field, std::size_t ordinal = 0) {
    const StagedType* type = find_staged(reader_.staging, name, ordinal);
    EXPECT_NE(type, nullptr) << name;
    return type == nullptr ? 0 : type->figures[field];
  }
};

TEST_F(LinuxSlabinfo, MultipliesByThePageSizeOfTheKernelRead) {
  ASSERT_TRUE(parse(slabinfo_header() + slabinfo_line("a", 1, 1, 64, 2, 3), 1, 65536));
  EXPECT_EQ(figure("a", Field::kHeldBytes), 3U * 2 * 65536);
}

TEST_F(LinuxSlabinfo, TakesMoreActiveThanAllObjectsAsNoneFree) {
  ASSERT_TRUE(parse(slabinfo_header() + slabinfo_line("racy", 10, 9, 64, 1, 1)));
  EXPECT_EQ(figure("racy", Field::kFree), 0U);
  EXPECT_EQ(figure("racy", Field::kCount), 10U);
}

TEST_F(LinuxSlabinfo, FindsColumnsByTheirNames) {
  const std::string text =
      "slabinfo - version: 3.0\n"
      "# name <new_thing> <pagesperslab> <objsize> <num_objs> <objperslab> <active_objs> : slabdata <num_slabs> "
      "<active_slabs> "
      "<other> : tunables <limit>\n"
      "kmalloc-8 77 2 8 600 512 500 : slabdata 5 4 1 : tunables 9\n";
  const auto result = parse(text);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(figure("kmalloc-8", Field::kCount), 500U);
  EXPECT_EQ(figure("kmalloc-8", Field::kFree), 100U);
  EXPECT_EQ(figure("kmalloc-8", Field::kRSize), 8U);
  EXPECT_EQ(figure("kmalloc-8", Field::kHeldBytes), 5U * 2 * 4096);
}

TEST_F(LinuxSlabinfo, ReadsTheStatisticsOfADebuggingKernel) {
  std::string header = slabinfo_header();
  header.insert(header.size() - 1, " : globalstat <listallocs> <maxobjs> : cpustat <allochit> <allocmiss>");
  std::string line = slabinfo_line("a", 3, 4, 64, 1, 7);
  line.insert(line.size() - 1, " : globalstat 11 12 : cpustat 13 14");
  ASSERT_TRUE(parse(header + line));
  EXPECT_EQ(figure("a", Field::kHeldBytes), 7U * 4096);
}

TEST_F(LinuxSlabinfo, RefusesAHeaderThatLacksAColumn) {
  const std::string good = slabinfo_header();
  const std::size_t second_line = good.find('\n') + 1;
  for (const std::string column : {"<active_objs>", "<num_objs>", "<objsize>", "<pagesperslab>", "<num_slabs>"}) {
    std::string text = good + slabinfo_line("a", 1, 1, 64, 1, 1);
    text.replace(text.find(column), column.size(), "<x>");
    expect_refused(text, second_line);
  }
}

TEST_F(LinuxSlabinfo, RefusesOtherText) {
  for (const std::string text : {"", "\n", "slabinfo\n", "garbage", "MemTotal: 1 kB\n"}) {
    expect_refused(text, 0, ErrorCode::kVersion);
  }
  std::string wide = "slabinfo - version: 2.1\n# name";
  for (int i = 0; i < 40; ++i) wide += " <c" + std::to_string(i) + ">";
  expect_refused(wide + " <active_objs> <num_objs> <objsize> <pagesperslab> : <num_slabs>\n", 24);
}

TEST_F(LinuxSlabinfo, RefusesATextWithoutAnyCache) { expect_refused(slabinfo_header(), slabinfo_header().size()); }

TEST_F(LinuxSlabinfo, TakesNamesWithBlanksDigitsAndColons) {
  for (const std::string name :
       {"TCP v6 sockets", "a : b", "kmalloc 64", "1 2 3", "12345", "x:y", "dm_bio 7 : tun", "(8:1)io"}) {
    ASSERT_TRUE(parse(slabinfo_header() + slabinfo_line(name, 11, 12, 64, 1, 5))) << name;
    EXPECT_EQ(reader_.staging.types()[0].name, name);
    EXPECT_EQ(figure(name, Field::kCount), 11U) << name;
    EXPECT_EQ(figure(name, Field::kHeldBytes), 5U * 4096) << name;
  }
}

TEST_F(LinuxSlabinfo, KeepsDuplicateCachesApart) {
  ASSERT_TRUE(parse(slabinfo_header() + slabinfo_line("dup", 1, 1, 8, 1, 1) + slabinfo_line("x", 9, 9, 8, 1, 1) +
                    slabinfo_line("dup", 2, 2, 8, 1, 1)));
  EXPECT_EQ(figure("dup", Field::kCount, 0), 1U);
  EXPECT_EQ(figure("dup", Field::kCount, 1), 2U);
}

TEST_F(LinuxSlabinfo, TakesNumbersUpTo64BitsAndRefusesLargerOnes) {
  const auto text = [](std::string_view active) {
    return slabinfo_header() + "a " + std::string(active) + " 0 1 1 1 : tunables 0 0 0 : slabdata 0 0 0\n";
  };
  ASSERT_TRUE(parse(text("18446744073709551615")));
  EXPECT_EQ(figure("a", Field::kCount), 18446744073709551615U);
  ASSERT_TRUE(parse(text("00000000000000000000000000000000000000007")));
  EXPECT_EQ(figure("a", Field::kCount), 7U);
  for (const std::string number : {"18446744073709551616", "36893488147419103233", "-1", "1.5", "0x10"}) {
    expect_refused(text(number), slabinfo_header().size());
  }
}

TEST_F(LinuxSlabinfo, RefusesProductsBeyond64Bits) {
  const std::size_t offset = slabinfo_header().size();
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 40U;
  expect_refused(slabinfo_header() + slabinfo_line("a", kLarge, kLarge, kLarge, 1, 1), offset);
  expect_refused(slabinfo_header() + slabinfo_line("a", 1, 1, 1, std::uint64_t{1} << 60U, 1), offset);
  expect_refused(slabinfo_header() + slabinfo_line("a", 1, 1, 1, kLarge, kLarge), offset);
  // One below is fine.
  ASSERT_TRUE(
      parse(slabinfo_header() + slabinfo_line("a", (std::uint64_t{1} << 32U) - 1, 0, std::uint64_t{1} << 32U, 1, 1)));
  EXPECT_EQ(figure("a", Field::kBytes), 0xFFFFFFFF00000000U);
}

TEST_F(LinuxSlabinfo, ReadsNumbersOfEveryLengthWhereverTheyStand) {
  std::mt19937_64 random(1);
  const auto number = [&](unsigned most_digits) {
    std::uint64_t value = 0;
    for (std::uint64_t digits = 1 + random() % most_digits; digits > 0; --digits) value = value * 10 + random() % 10;
    return value;
  };
  const auto column = [&](std::uint64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    return ' ' + std::string(digits.size() < width ? width - digits.size() : 0, ' ') + digits;
  };
  for (int round = 0; round < 20000; ++round) {
    std::string name(1 + random() % 30, 'c');
    for (char& c : name) c = static_cast<char>('0' + random() % 75);
    if (random() % 4 == 0) name[name.size() / 2] = ' ';
    if (name.front() == ' ' || name.back() == ' ') continue;
    // Mostly the kernel's own widths, sometimes any.
    const auto width = [&](std::size_t usual) { return random() % 8 == 0 ? random() % 12 : usual; };
    const std::uint64_t active = number(9), all = number(9), size = number(8), per_slab = number(4), pages = number(3),
                        slabs = number(7);
    std::string line = name + std::string(name.size() < 17 ? 17 - name.size() : 0, ' ');
    line += column(active, width(6)) + column(all, width(6)) + column(size, width(6)) + column(per_slab, width(4)) +
            column(pages, width(4)) + " : tunables" + column(number(4), 4) + column(number(4), 4) + column(number(4), 4) +
            " : slabdata" + column(number(7), width(6)) + column(slabs, width(6)) + column(number(2), width(6)) + '\n';
    ASSERT_TRUE(parse(slabinfo_header() + line)) << line;
    const StagedType& cache = reader_.staging.types()[0];
    ASSERT_EQ(cache.name, name) << line;
    ASSERT_EQ(cache.figures[Field::kCount], active) << line;
    ASSERT_EQ(cache.figures[Field::kFree], all > active ? all - active : 0) << line;
    ASSERT_EQ(cache.figures[Field::kRSize], size) << line;
    ASSERT_EQ(cache.figures[Field::kBytes], active * size) << line;
    ASSERT_EQ(cache.figures[Field::kHeldBytes], slabs * pages * 4096) << line;
  }
}

// ---- object sizes, which need privileges that go away
// ---------------------------------------------------------------------

class ObjectSizes : public testing::Test {
 protected:
  ObjectSizes() : view_(OperatingSystem::kLinux) {}
  void set_caches(const std::vector<std::string>& names) {
    std::string text = slabinfo_header();
    for (const std::string& name : names) text += slabinfo_line(name, 1, 2, 64, 1, 1);
    view_.contents[std::string(kFile)] = {text};
  }
  static std::string path(const std::string& name) { return "/sys/kernel/slab/" + name + "/object_size"; }
  void set_size(const std::string& file, const std::string& text) { view_.contents[path(file)] = {text}; }
  void poll() {
    const auto result = refresh(reader_, view_, list_, ++generation_);
    ASSERT_TRUE(result) << to_string(result.error());
  }
  std::uint64_t size_of(std::string_view name) {
    const MemoryType* type = list_.find(Allocator::kSlab, name);
    if (type == nullptr) return 1;
    EXPECT_EQ(type->fields().has(Field::kSize), type->figure(Field::kSize) != 0);
    return type->figure(Field::kSize);
  }

  PreparedKernelView view_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(ObjectSizes, AreReadOncePerCache) {
  set_caches({"a", "b"});
  set_size("a", "56\n");
  for (int i = 0; i < 5; ++i) poll();
  EXPECT_EQ(size_of("a"), 56U);
  EXPECT_EQ(size_of("b"), 0U);
  EXPECT_EQ(view_.reads_of(path("a")), 1U);
  EXPECT_EQ(view_.reads_of(path("b")), 1U);  // a missing one is not requested again either
}

TEST_F(ObjectSizes, AreReadForACacheThatAppearsLaterAndNotAgainForTheOthers) {
  set_caches({"a"});
  set_size("a", "56\n");
  set_size("b", "40\n");
  poll();
  set_caches({"b", "a"});
  poll();
  EXPECT_EQ(size_of("a"), 56U);
  poll();  // the parser noticed the new cache, so this read requests its size
  EXPECT_EQ(size_of("b"), 40U);
  for (int i = 0; i < 3; ++i) poll();
  EXPECT_EQ(view_.reads_of(path("a")), 1U);
  EXPECT_EQ(view_.reads_of(path("b")), 1U);
}

TEST_F(ObjectSizes, StayKnownWhenThePermissionIsLost) {
  set_caches({"a", "b"});
  set_size("a", "56\n");
  set_size("b", "48\n");
  ASSERT_TRUE(open_source(reader_, view_));  // with privileges
  for (const char* name : {"a", "b", "c"}) view_.failures[path(name)] = EACCES;
  poll();
  EXPECT_EQ(size_of("a"), 56U);
  set_caches({"c", "b", "a"});
  poll();
  EXPECT_EQ(size_of("a"), 56U);
  EXPECT_EQ(size_of("b"), 48U);
  EXPECT_EQ(size_of("c"), 0U);
  set_caches({"b"});
  for (int i = 0; i < 3; ++i) poll();
  EXPECT_EQ(size_of("b"), 48U);
  set_caches({"a", "b"});  // a cache that vanished and came back
  for (int i = 0; i < 3; ++i) {
    poll();
    EXPECT_EQ(size_of("a"), 56U);
    EXPECT_EQ(size_of("b"), 48U);
  }
}

TEST_F(ObjectSizes, AreThoseOfTheRightCacheWhenCachesSwapOrShareAName) {
  set_caches({"a", "dup", "b", "dup"});
  set_size("a", "10\n");
  set_size("b", "20\n");
  set_size("dup", "30\n");
  poll();
  set_caches({"b", "dup", "dup", "a"});
  for (int i = 0; i < 3; ++i) {
    poll();
    EXPECT_EQ(size_of("a"), 10U);
    EXPECT_EQ(size_of("b"), 20U);
    EXPECT_EQ(size_of("dup"), 30U);
  }
}

TEST_F(ObjectSizes, AreSoughtUnderTheNameThatSysfsGivesTheCache) {
  set_caches({"dm/bio"});
  set_size("dm!bio", "72\n");
  poll();
  EXPECT_EQ(size_of("dm/bio"), 72U);
}

TEST_F(ObjectSizes, AreNeverSoughtOutsideTheDirectory) {
  set_caches({"..", ".", "../../../etc"});
  poll();
  for (const auto& name :
       {"/sys/kernel/slab/../object_size", "/sys/kernel/slab/./object_size", "/sys/kernel/slab/../../../etc/object_size"}) {
    EXPECT_EQ(view_.reads_of(name), 0U) << name;
  }
}

TEST_F(ObjectSizes, AreNotReadFromAFileWithoutANumber) {
  set_caches({"a", "b", "c"});
  set_size("a", "many\n");
  set_size("b", "");
  set_size("c", "99999999999999999999\n");
  poll();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(size_of(name), 0U) << name;
}

}  // namespace
}  // namespace memstat::linux_slabinfo_test
