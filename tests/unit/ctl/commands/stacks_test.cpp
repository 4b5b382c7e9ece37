// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

using testing::AllOf;

constexpr std::int64_t kNsOfASecond = 1'000'000'000;

std::string name_of(std::uint64_t frame) {
  static const std::map<std::uint64_t, std::string> kNames{
      {0x10, "fcntl_dirnotify"}, {0x20, "do_fcntl"}, {0x21, "do_fcntl"}, {0x30, "nf_alloc [nf_conntrack]"}};
  const auto found = kNames.find(frame);
  return found == kNames.end() ? std::string() : found->second;
}

/// A minute in which one program allocated and kept a block every second, and another program two blocks.
MemuseFindings findings() {
  MemuseFindings findings{
      .table = {.watched_ns = 60 * kNsOfASecond, .older_ns = 10 * kNsOfASecond}, .options = {}, .name_of = name_of};
  events::MemuseTable& table = findings.table;
  table.counts = {.blocks_in_use = 62, .allocations = 100, .other_frees = 7};
  table.caches = {{.key = 1, .name = "dnotify_struct"}, {.key = 2, .name = "nf_conntrack"}};
  table.stacks = {{.key = 5, .frames = {0x10, 0x20, 0xffffffff81000123}, .allocations = 60},
                  {.key = 6, .frames = {0x30, 0x21}, .allocations = 40},
                  {.key = 7, .frames = {0x30, 0x20}, .allocations = 2}};
  for (int age = 0; age < 60; ++age) {
    table.blocks.push_back(
        {.stack = 5, .cache = 1, .age_ns = age * kNsOfASecond, .bytes = 32, .process = 1234, .command = "python3"});
  }
  for (const std::uint64_t stack : {6U, 7U}) {
    table.blocks.push_back(
        {.stack = stack, .cache = 2, .age_ns = kNsOfASecond, .bytes = 4096, .process = 9, .command = "curl"});
  }
  return findings;
}

TEST(MemuseReport, HasSuspectsFirstWithTheirCalls) {
  EXPECT_THAT(
      memuse_text(findings(), false),
      StartsWith(
          "watched for 60 s: of what was allocated then 62 blocks with 10112 bytes are in use; 1 suspected leak\n\nsuspect "
          "that continues: 60 blocks, 1920 bytes, of dnotify_struct; 50 older than 10 s, the oldest 59 s; by python3 "
          "(1234)\n "
          "   fcntl_dirnotify\n    do_fcntl\n    0xffffffff81000123\n\nin use: 1 block, 4096 bytes, of nf_conntrack; 0 "
          "older than 10 s, the oldest 1 s; by curl (9)\n    nf_alloc [nf_conntrack]\n    do_fcntl\n"));
  EXPECT_THAT(memuse_text(findings(), true), HasSubstr("Earlier allocations are unknown.\n"));
  EXPECT_THAT(memuse_text(findings(), true), Not(HasSubstr("lost")));
}

TEST(MemuseReport, ShowsAsManyFramesAndGroupsAsAskedFor) {
  MemuseFindings few = findings();
  few.options.frames = 1;
  few.options.match = 1;
  EXPECT_THAT(memuse_text(few, true),
              AllOf(Not(HasSubstr("do_fcntl")), HasSubstr("and 1 other stack with the same first 1\n")));
  few.options.match = 2;
  few.options.groups = 1;
  EXPECT_THAT(memuse_text(few, true), HasSubstr("1 smaller group omitted: --groups 0 shows them\n"));
  few.options.groups = 0;
  EXPECT_THAT(memuse_text(few, true), Not(HasSubstr("left out")));
}

TEST(MemuseReport, NamesTheControlGroup) {
  MemuseFindings grouped = findings();
  grouped.table.control_groups = {{.key = 11, .path = "/docker/4f\x1b[2Ja"}};
  for (events::MemuseBlock& block : grouped.table.blocks) block.control_group = 11;
  EXPECT_THAT(memuse_text(grouped, true),
              AllOf(HasSubstr("by python3 (1234) in control group /docker/4f"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(memuse_json(grouped), HasSubstr("\"control_group\": \"/docker/4f"));
}

TEST(MemuseReport, SaysThatNothingLeaks) {
  MemuseFindings quiet = findings();
  quiet.table.blocks.resize(3);
  EXPECT_THAT(memuse_text(quiet, true), HasSubstr("nothing looks like a leak"));
  quiet.table.watched_ns = quiet.table.older_ns;
  EXPECT_THAT(memuse_text(quiet, true), HasSubstr("no block is older than 10 s\n"));
  quiet.table.blocks.clear();
  EXPECT_THAT(memuse_text(quiet, true), HasSubstr("0 blocks with 0"));
  EXPECT_EQ(memuse_folded(quiet), "");
}

TEST(MemuseReport, SuspectsNothingWhileItIsTooEarly) {
  MemuseFindings early = findings();
  ASSERT_THAT(memuse_text(early, true), HasSubstr("suspect that continues"));
  early.table.watched_ns = 12 * kNsOfASecond;
  EXPECT_THAT(memuse_text(early, true), HasSubstr("the time is too short to find leaks: watch for 20 s or longer"));
  EXPECT_THAT(memuse_text(early, true), testing::Not(HasSubstr("suspect")));
  EXPECT_THAT(memuse_json(early), testing::Not(HasSubstr("suspect")));
}

TEST(MemuseReport, FoldsStacksFromTheOutermostCall) {
  EXPECT_EQ(memuse_folded(findings()),
            "0xffffffff81000123;do_fcntl;fcntl_dirnotify 1920\n"
            "do_fcntl;nf_alloc [nf_conntrack] 8192\n")
      << "calls from two places of one function are one";
}

TEST(MemuseReport, HasNoControlBytes) {
  MemuseFindings hostile = findings();
  for (events::MemuseBlock& block : hostile.table.blocks) block.command = "\x1b[2J\xff";
  hostile.table.caches[0].name = "\x1b]0;x";
  for (const std::string& text : {memuse_text(hostile, true), memuse_json(hostile), memuse_folded(hostile)}) {
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\xff")));
  }
}

}  // namespace
}  // namespace memstat::ctl
