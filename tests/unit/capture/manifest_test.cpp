// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/manifest.h"

#include "core/capture/flat_yaml.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kManifest =
    "format: 1\nos: freebsd\nrelease: 15.0-RELEASE\nmachine: amd64\npage_size: 4096\ncpus_present: \"0-3,6\"\nnodes: 2\n"
    "how: >\n  Raw reads\n  of a machine.\n\n  Second paragraph.\nedits: >\n  None.\n\n";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kManifest;
  return text.replace(text.find(from), from.size(), to);
}

TEST(Manifest, ReadsEveryKeyAndFoldsBlocks) {
  const std::string machine = native_byte_order() == "little" ? "amd64" : "sparc64";
  const auto manifest = parse_manifest(with("machine: amd64", "machine: " + machine), "m");
  ASSERT_TRUE(manifest) << to_string(manifest.error());
  EXPECT_EQ(manifest->os, OperatingSystem::kFreeBsd);
  EXPECT_EQ(manifest->release, "15.0-RELEASE");
  EXPECT_EQ(manifest->machine, machine);
  EXPECT_EQ(manifest->page_size, 4096U);
  EXPECT_EQ(manifest->cpus_present, "0-3,6");
  EXPECT_EQ(manifest->cpu_count, 7U);
  EXPECT_EQ(manifest->nodes, 2U);
  EXPECT_EQ(manifest->how, "Raw reads of a machine.\nSecond paragraph.");
  EXPECT_EQ(manifest->edits, "None.");
}

TEST(Manifest, OfTheOtherByteOrderIsRefusedWhereTheBytesMatter) {
  const bool is_little = native_byte_order() == "little";
  const std::string other = is_little ? "big" : "little";
  const std::string machine = is_little ? "machine: sparc64" : "machine: amd64";
  for (const std::string& text :
       {with("page_size", "byte_order: " + other + "\npage_size"), with("machine: amd64", machine)}) {
    EXPECT_TRUE(fails(parse_manifest(text, "cap/manifest.yaml"),
                      {.code = ErrorCode::kVersion, .path = "cap/manifest.yaml", .detail = "(" + other + " endian)"}));
  }
  std::string text = with("page_size", "byte_order: " + other + "\npage_size");
  text.replace(text.find("freebsd"), 7, "linux");
  const auto text_only = parse_manifest(text, "m");
  ASSERT_TRUE(text_only) << "the files of Linux are text";
  EXPECT_EQ(text_only->byte_order, other);
  EXPECT_TRUE(parse_manifest(with("machine: amd64", "machine: powerpc"), "m")) << "which exists with both";
  EXPECT_FALSE(parse_manifest(with("page_size", "byte_order: middle\npage_size"), "m"));
}

struct BadManifest {
  const char* from;
  const char* to;
  const char* message;
};

class BadManifests : public testing::TestWithParam<BadManifest> {};

TEST_P(BadManifests, AreRefusedWithFileAndLine) {
  const auto manifest = parse_manifest(with(GetParam().from, GetParam().to), "cap/manifest.yaml");
  ASSERT_TRUE(fails(manifest, {.path = "cap/manifest.yaml"}));
  EXPECT_NE(to_string(manifest.error()).find(GetParam().message), std::string::npos) << to_string(manifest.error());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadManifests,
    testing::Values(
        BadManifest{"page_size: 4096", "page_size: 0", "line 5: page_size"},
        BadManifest{"page_size: 4096", "page_size: 4097", "line 5: page_size"},
        BadManifest{"page_size: 4096", "page_size: 99999999999999999999", "line 5: page_size"},
        BadManifest{"page_size: 4096\n", "", "page_size: missing"},
        BadManifest{"cpus_present: \"0-3,6\"\n", "", "cpus_present: missing"},
        BadManifest{"\"0-3,6\"", "", "line 6: cpus_present"}, BadManifest{"0-3,6", "3-0", "line 6: cpus_present"},
        BadManifest{"0-3,6", "0-4294967294", "line 6: cpus_present"}, BadManifest{"nodes: 2", "nodes: 0", "line 7: nodes"},
        BadManifest{"os: freebsd", "os: plan9", "line 2: os"}, BadManifest{"os: freebsd\n", "", "os: missing"},
        BadManifest{"format: 1", "format: 2", "line 1: format"}, BadManifest{"format: 1\n", "", "format: missing"},
        BadManifest{"machine: amd64", "machine amd64", "line 4: not `key: value`"},
        BadManifest{"machine: amd64", "os: linux", "line 4: os: appears twice"},
        BadManifest{"machine: amd64", "machine: [amd64]", "line 4: machine"},
        BadManifest{"machine: amd64", "machine: \"amd64", "line 4: machine"},
        BadManifest{"machine: amd64", "machine: \"a\" b", "line 4: machine"},
        BadManifest{"machine: amd64", "  machine: amd64", "line 4: not"}));

TEST(Manifest, SurvivesARoundTrip) {
  CaptureManifest manifest;
  manifest.os = OperatingSystem::kLinux;
  manifest.release = "6.12 \"odd\" \\ # x: y";
  manifest.machine = "";
  manifest.page_size = 16384;
  manifest.cpus_present = "0-63";
  manifest.nodes = 4;
  manifest.how = "two\nlines\twith \x01 and caf\xC3\xA9";
  const auto back = parse_manifest(format_manifest(manifest), "m");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->release, manifest.release);
  EXPECT_EQ(back->machine, "");
  EXPECT_EQ(back->page_size, 16384U);
  EXPECT_EQ(back->cpu_count, 64U);
  EXPECT_EQ(back->nodes, 4U);
  EXPECT_EQ(back->how, manifest.how);
}

TEST(PollInfo, SurvivesARoundTrip) {
  const PollInfo info{.label = "after: a # storm", .realtime_ns = 1'795'000'000'123'456'789, .monotonic_ns = 42};
  const auto back = parse_poll_info(format_poll_info(info), "p");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->label, info.label);
  EXPECT_EQ(back->realtime_ns, info.realtime_ns);
  EXPECT_EQ(back->monotonic_ns, 42);
}

TEST(PollInfo, BothTimesMustBeThereAndMakeSense) {
  for (const char* bad :
       {"", "label: x\n", "realtime: 2026-11-20T15:00:00Z\n", "realtime: today\nmonotonic_ns: 1\n",
        "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: -1\n", "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 1.5\n"}) {
    EXPECT_TRUE(fails(parse_poll_info(bad, "p"), ErrorCode::kData)) << bad;
  }
}

TEST(Iso8601, KnowsTheCalendar) {
  EXPECT_EQ(parse_iso8601_utc("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso8601_utc("2026-11-20T15:00:00Z"), 1'795'186'800'000'000'000);
  EXPECT_EQ(parse_iso8601_utc("2024-02-29T23:59:59.5Z"), 1'709'251'199'500'000'000);
  for (const char* bad :
       {"", "Z", "2026-11-20", "2026-11-20T15:00:00", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-20T24:00:00Z",
        "2026-11-20T15:60:00Z", "2026-11-20T15:00:00.Z", "2026-11-20T15:00:00.1234567890Z", "2026-11-20T15:00:00+01:00",
        "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z", "2026-11-20 15:00:00Z"}) {
    EXPECT_FALSE(parse_iso8601_utc(bad)) << bad;
  }
}

TEST(RecordedErrors, ReadBothKindsWithAndWithoutQuotes) {
  const auto errors = parse_recorded_errors(
      "# reads that failed\n- {path: /proc/x, errno: 13}\n- {sysctl: kern.x, errno: 1}\n\n- {errno: 5, path: \"/odd, } \\\" "
      "name\"}\n",
      "e");
  ASSERT_TRUE(errors) << to_string(errors.error());
  ASSERT_EQ(errors->size(), 3U);
  EXPECT_EQ((*errors)[0], (RecordedError{PollPlace::kFile, "/proc/x", 13}));
  EXPECT_EQ((*errors)[1], (RecordedError{PollPlace::kSysctl, "kern.x", 1}));
  EXPECT_EQ((*errors)[2], (RecordedError{PollPlace::kFile, "/odd, } \" name", 5}));
  const auto back = parse_recorded_errors(format_recorded_errors(*errors), "e");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, *errors);
}

TEST(RecordedErrors, MalformedLinesAreNamed) {
  for (const char* bad :
       {"- {path: /x}", "- {errno: 13}", "- {path: /x, sysctl: y, errno: 1}", "- {path: /x, errno: 0}",
        "- {path: /x, errno: -1}", "- {path: /x, errno: 99999}", "- {path: /x, errno: 13", "- path: /x", "path: /x", "- {}",
        "- {path: , errno: 3}", "- {path: /x, errno: 13} trailing", "- {path: /x, path: /y, errno: 3}"}) {
    EXPECT_TRUE(fails(parse_recorded_errors("\n" + std::string(bad) + "\n", "e"), {.detail = "line 2"})) << bad;
  }
}

TEST(YamlQuote, GivesBackWhateverItWasGiven) {
  for (const std::string& text :
       {std::string(""), std::string("plain"), std::string("- x"), std::string(":A-0000072"), std::string("# no comment"),
        std::string("'single'"), std::string("a: b"), std::string(" padded "), std::string("\\x41"),
        std::string("line\nend\r"), std::string("nul\0byte", 8)}) {
    const auto map = parse_flat_yaml("k: " + yaml_quote(text) + "\n", "f");
    ASSERT_TRUE(map) << text << ": " << to_string(map.error());
    EXPECT_EQ(map->front().value, text);
  }
}

}  // namespace
}  // namespace memstat
