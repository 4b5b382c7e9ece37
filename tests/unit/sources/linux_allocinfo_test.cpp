// SPDX-License-Identifier: BSD-2-Clause
// /proc/allocinfo from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/base/text.h"
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_allocinfo_test {
namespace {

constexpr std::string_view kFile = "/proc/allocinfo";
constexpr std::string_view kSwitch = "/proc/sys/vm/mem_profiling";
const std::string kVersion1 = "allocinfo - version: 1.0\n";
const std::string kVersion2 = "allocinfo - version: 2.0\n";
const std::string kNames = "#     <size>  <calls> <tag info>\n";

const SourceDescriptor& source() { return *find_source("linux_allocinfo"); }

/// A line as the kernel prints it.
std::string site(const std::string& size, const std::string& calls, const std::string& tag) {
  const auto padded = [](const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
  };
  return padded(size, 12) + ' ' + padded(calls, 8) + ' ' + tag + " \n";
}

class LinuxAllocinfo : public ParsedSource<source> {
 protected:
  /// "name: bytes/calls detail" of all types.
  std::string words_of_text(const std::string& text) {
    if (const auto result = parse(text); !result) return to_string(result.error());
    std::string words;
    for (const StagedType& type : reader_.staging.types()) {
      words += (words.empty() ? "" : "; ") + std::string(type.name) + ": " +
               figure_words(type, {Field::kBytes, Field::kCount}) + ' ' + std::string(type.detail);
    }
    return words;
  }
  std::string words(const std::string& lines) { return words_of_text(kVersion2 + kNames + lines); }
  /// Expects lines to be refused N bytes after the header.
  void expect_lines_refused(const std::string& lines, std::uint64_t offset) {
    expect_refused(kVersion2 + kNames + lines, kVersion2.size() + kNames.size() + offset);
  }
};

TEST_F(LinuxAllocinfo, NamesATypeByFunctionAndModule) {
  EXPECT_EQ(words(site("12288", "3", "mm/slub.c:3282 func:alloc_slab_page") +
                  site("4096", "1", "net/ctnetlink.c:12 [nf_conntrack] func:init")),
            "alloc_slab_page: 12288/3 mm/slub.c:3282; init [nf_conntrack]: 4096/1 net/ctnetlink.c:12");
}

TEST_F(LinuxAllocinfo, TakesBothVersionsAndNoColumnNames) {
  const std::string line = site("4096", "1", "a.c:1 func:f");
  for (const std::string& header : {kVersion1 + kNames, kVersion2 + kNames, kVersion1, kVersion2}) {
    EXPECT_EQ(words_of_text(header + line), "f: 4096/1 a.c:1");
    EXPECT_EQ(words_of_text(header + "4096 1 a.c:1 func:f\n"), "f: 4096/1 a.c:1");
    EXPECT_EQ(words_of_text(header + "\n" + line + "\n"), "f: 4096/1 a.c:1");
  }
}

TEST_F(LinuxAllocinfo, MergesTheSitesOfAFunctionWhereverTheyStand) {
  EXPECT_EQ(words(site("100", "1", "a.c:1 func:f") + site("7", "7", "b.c:9 func:g") + site("300", "2", "a.c:2 func:f") +
                  site("200", "4", "a.c:3 func:f") + site("50", "1", "a.c:1 [m] func:f")),
            "f: 600/7 a.c:2 and 2 more; g: 7/7 b.c:9; f [m]: 50/1 a.c:1");
  EXPECT_EQ(words(site("0", "0", "a.h:1 func:f") + site("0", "0", "a.h:2 func:f")), "f: 0/0 a.h:1 and 1 more");
}

TEST_F(LinuxAllocinfo, SaysWhatTheKernelDidNotCountWell) {
  EXPECT_EQ(words(site("100", "1", "a.c:1 func:f accurate:no")), "f: 100/1 a.c:1, not accurate");
  EXPECT_EQ(words(site("100", "1", "a.c:1 func:f accurate:no") + site("200", "1", "a.c:2 func:f")),
            "f: 300/2 a.c:2 and 1 more, not accurate");
  EXPECT_EQ(words(site("100", "1", "a.c:1 func:f accurate:yes new:word accurate")), "f: 100/1 a.c:1");
  EXPECT_EQ(words(site("100", "1", "a.c:1 func:f new:word accurate:no x")), "f: 100/1 a.c:1, not accurate");
}

TEST_F(LinuxAllocinfo, TakesSumsBelowZeroForZero) {
  EXPECT_EQ(words(site("-4096", "18446744073709551615", "a.c:1 func:f")), "f: 0/0 a.c:1");
  EXPECT_EQ(words(site("-4096", "1", "a.c:1 func:f") + site("100", "18446744073709551600", "a.c:2 func:f")),
            "f: 100/1 a.c:2 and 1 more")
      << "it takes nothing off the other site";
  EXPECT_EQ(words(site("-9223372036854775808", "9223372036854775808", "a.c:1 func:f")), "f: 0/0 a.c:1");
  EXPECT_EQ(words(site("9223372036854775807", "9223372036854775807", "a.c:1 func:f")),
            "f: 9223372036854775807/9223372036854775807 a.c:1");
  EXPECT_EQ(words(site("-0", "0", "a.c:1 func:f")), "f: 0/0 a.c:1");
}

TEST_F(LinuxAllocinfo, RefusesNumbersAndSumsBeyond64Bits) {
  for (const std::string number : {"18446744073709551616", "-99999999999999999999999", "+1", "1.5", "0x10", "--1", "-"}) {
    expect_lines_refused(site(number, "1", "a.c:1 func:f"), 0);
    expect_lines_refused(site("1", number, "a.c:1 func:f"), 0);
  }
  const std::string most = site("18446744073709551615", "1", "a.c:1 func:f");
  EXPECT_EQ(words(most), "f: 18446744073709551615/1 a.c:1");
  expect_lines_refused(most + site("1", "0", "a.c:1 func:f"), most.size());
  const std::string calls = site("0", "9223372036854775807", "a.c:1 func:f");
  expect_lines_refused(calls + calls + site("0", "2", "a.c:1 func:f"), 2 * calls.size());
}

TEST_F(LinuxAllocinfo, FindsColumnsByTheirNames) {
  EXPECT_EQ(words_of_text(kVersion2 + "# <calls> <size> <tag info>\n3 100 a.c:1 func:f\n"), "f: 100/3 a.c:1");
  EXPECT_EQ(words_of_text(kVersion2 + "#  <node> <size> <peak> <calls> <tag info> <new>\n1 100 -7 3 a.c:1 func:f\n"),
            "f: 100/3 a.c:1");
  for (const std::string names : {"#\n", "# <size> <tag info>\n", "# <calls> <tag info>\n", "# size calls <tag info>\n",
                                  "# <tag info> <size> <calls>\n"}) {
    expect_refused(kVersion2 + names + site("1", "1", "a.c:1 func:f"), kVersion2.size(), ErrorCode::kVersion);
  }
}

TEST_F(LinuxAllocinfo, TakesOddPlacesAndModules) {
  EXPECT_EQ(words(site("1", "1", "/home/my dir/m.c:1 [m] func:f")), "f [m]: 1/1 /home/my dir/m.c:1");
  EXPECT_EQ(words(site("1", "1", "a.c:1 [] func:f")), "f: 1/1 a.c:1");
  EXPECT_EQ(words(site("1", "1", "a.c:1 [m func:f")), "f: 1/1 a.c:1 [m");
  EXPECT_EQ(words(site("1", "1", "[m] func:f")), "f: 1/1 [m]") << "there must be a place";
  EXPECT_EQ(words(site("1", "1", "a.c:1 func:f func:g")), "f: 1/1 a.c:1");
  const std::string control(4096, '\x01');  // the bytes with the longest escaped text
  const std::string longest = site("1", "1", control + " [" + control + "] func:" + control + " accurate:no");
  ASSERT_TRUE(parse(kVersion2 + kNames + longest + longest));
  EXPECT_EQ(reader_.staging.types()[0].name.size(), kMaxLabelBytes * (512 + 63) + 3U);
  EXPECT_EQ(reader_.staging.types()[0].detail.size(), kMaxLabelBytes * 256 + std::strlen(" and 1 more, not accurate"));
}

// ---- what the kernel does not have, and what it refuses ------------------------------------------------------------------

class LinuxAllocinfoSwitch : public testing::Test {
 protected:
  LinuxAllocinfoSwitch() { view_.contents[std::string(kFile)] = {kVersion2 + kNames + site("4096", "1", "a.c:1 func:f")}; }
  PreparedKernelView view_{OperatingSystem::kLinux};
  SourceReader reader_{source()};
  MemoryTypeList list_;
};

TEST_F(LinuxAllocinfoSwitch, OffIsNotPresentAndExplainsHowToEnableIt) {
  std::string& profiling = view_.contents[std::string(kSwitch)].emplace_back("0\n");
  for (const auto& result : {open_source(reader_, view_), refresh(reader_, view_, list_, 1)}) {
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kNotPresent, .path = kFile, .detail = "vm.mem_profiling=1"}));
  }
  EXPECT_EQ(list_.size(), 0U);
  EXPECT_EQ(view_.reads_of(kFile), 1U) << "opened, but never read";
  profiling = "1\n";
  EXPECT_TRUE(refresh(reader_, view_, list_, 2)) << "switched on while we run";
  EXPECT_EQ(list_.size(), 1U);
  profiling = "0\n";
  EXPECT_FALSE(refresh(reader_, view_, list_, 3));
}

TEST_F(LinuxAllocinfoSwitch, AnythingButOffIsOn) {
  for (const std::string text : {"1\n", "1", "", "2\n", "00\n", "on\n"}) {
    view_.contents[std::string(kSwitch)] = {text};
    EXPECT_TRUE(open_source(reader_, view_)) << text;
    EXPECT_TRUE(refresh(reader_, view_, list_, 1)) << text;
  }
  view_.failures[std::string(kSwitch)] = EIO;
  EXPECT_TRUE(refresh(reader_, view_, list_, 2)) << "cannot be read any more";
  view_.failures.clear();
  view_.contents[std::string(kSwitch)] = {"0\n"};
  EXPECT_FALSE(refresh(reader_, view_, list_, 3)) << "until it can be again";
}

TEST_F(LinuxAllocinfoSwitch, ThatCannotBeReadIsNotAskedForAgain) {
  view_.contents.erase(std::string(kSwitch));
  EXPECT_TRUE(open_source(reader_, view_)) << "a kernel without sysctls";
  const std::size_t reads = view_.reads_of(kSwitch);
  EXPECT_TRUE(refresh(reader_, view_, list_, 1));
  EXPECT_EQ(view_.reads_of(kSwitch), reads);
}

}  // namespace
}  // namespace memstat::linux_allocinfo_test
