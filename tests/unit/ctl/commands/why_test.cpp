// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "core/base/text.h"
#include "daemon/ctl/commands/options.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

Finding finding_of(std::string cause, Severity severity, std::string type) {
  Finding finding{.cause = std::move(cause), .severity = severity, .headline = "The table of " + type + " is full"};
  finding.is_about("table", type).by("group", "/web.service").leads_to("Opening fails.").then("sysctl fs.file-max");
  finding.fact({.text = "99 of 100 in use", .source = "table/" + type});
  return finding;
}

Diagnosis diagnosis_of_two() {
  Diagnosis diagnosis;
  diagnosis.findings = {finding_of("open_files_full", Severity::kNow, "files"),
                        finding_of("ptys_full", Severity::kNotable, "ptys")};
  diagnosis.ruled_out = {"swap_full"};
  diagnosis.not_checked = {{"zone_short", "memstat_zone_watermark_bytes is not available"}};
  diagnosis.polls = 3;
  diagnosis.watched_seconds = 20;
  return diagnosis;
}

NamePattern pattern_of(const char* text) {
  auto pattern = NamePattern::compile(text);
  EXPECT_TRUE(pattern) << text;
  return *std::move(pattern);
}

std::string causes_left(const char* pattern) {
  Findings findings = diagnosis_of_two().findings;
  const std::vector<NamePattern> patterns{pattern_of(pattern)};
  select_findings(patterns, findings);
  std::string text;
  for (const Finding& finding : findings) text += finding.cause + " ";
  return text;
}

TEST(Why, PatternsAreOfCausesTypesAndCulprits) {
  EXPECT_EQ(causes_left("ptys"), "ptys_full ");
  EXPECT_EQ(causes_left("table/files"), "open_files_full ");
  EXPECT_EQ(causes_left("open_files_full"), "open_files_full ");
  EXPECT_EQ(causes_left("/web.service"), "open_files_full ptys_full ");
  EXPECT_EQ(causes_left("dentry"), "");
}

TEST(Why, VerboseAddsWhatWasRuledOutAndWhatCouldNotBeChecked) {
  const std::string text = why_text(diagnosis_of_two(), false, 0);
  EXPECT_THAT(text, HasSubstr("1. NOW   The table of files is full"));
  EXPECT_THAT(text, HasSubstr("2. NOTE  The table of ptys is full"));
  EXPECT_THAT(text, HasSubstr("Who: group /web.service"));
  EXPECT_THAT(text, HasSubstr("Next: sysctl fs.file-max\n"));
  EXPECT_THAT(text, HasSubstr("memstatctl explain open_files_full\n"));
  EXPECT_THAT(text, Not(HasSubstr("swap_full")));
  Diagnosis kill = diagnosis_of_two();
  kill.findings[0].killed = "hog (pid 7)";
  kill.findings[0].by("process", "hog (pid 7)").by("process", "web (pid 8)");
  EXPECT_THAT(why_text(kill, false, 0), HasSubstr("Who: group /web.service, the victim, process web (pid 8)\n"));
  const std::string verbose = why_text(diagnosis_of_two(), true, 0);
  EXPECT_THAT(verbose, HasSubstr("Ruled out:\n  swap_full\n"));
  EXPECT_THAT(verbose, HasSubstr("Not checked:\n  zone_short: memstat_zone_watermark_bytes is not available\n"));
  EXPECT_THAT(why_text(diagnosis_of_two(), true, 50),
              HasSubstr("  zone_short: memstat_zone_watermark_bytes is not\n  available\n"));
}

TEST(Why, WrapsHeadlinesOnANarrowTerminal) {
  Diagnosis diagnosis = diagnosis_of_two();
  diagnosis.findings[0].headline = "Network buffers: zone mbuf_jumbo_page is full: 400 of 400 (100 %), 1532 requests failed";
  EXPECT_THAT(why_text(diagnosis, false, 0), HasSubstr("400 of 400 (100 %), 1532 requests failed  possible\n"));
  const std::string text = why_text(diagnosis, false, 60);
  EXPECT_THAT(text, HasSubstr("1. NOW   Network buffers: zone mbuf_jumbo_page is full: 400\n"
                              "         of 400 (100 %), 1532 requests failed       possible\n"));
  for (std::string_view rest = text, line; next_line(rest, line);) EXPECT_LE(line.size(), 60U) << line;
}

TEST(Why, JsonHasTheSameAndTheExitStatusIsOfTheMostUrgent) {
  const Diagnosis diagnosis = diagnosis_of_two();
  EXPECT_THAT(why_json(diagnosis, {}), HasSubstr("open_files_full"));
  EXPECT_THAT(why_json(diagnosis, {}), Not(HasSubstr("incident")));
  Incident incident;
  incident.effect = "What would have prevented it: a higher limit.";
  incident.figures = {{.realtime_ns = 2'500'000'000, .bytes = 7}};
  const std::string told = why_json(diagnosis, {}, ToldIncident{incident, std::nullopt});
  EXPECT_THAT(told, HasSubstr("What would have prevented it: a higher limit."));
  EXPECT_THAT(told, HasSubstr("2.5"));
  EXPECT_THAT(told, HasSubstr("open_files_full"));
  EXPECT_EQ(exit_status_of(diagnosis.findings), kExitUrgent);
  EXPECT_EQ(exit_status_of({diagnosis.findings[1]}), kExitNotable);
  EXPECT_EQ(exit_status_of({}), kExitDone);
}

TEST(Why, ATypeThatDoesNotLeakIsAnAnswer) {
  GrowthAnswer growth;
  growth.polls = 40;
  growth.seconds = 600;
  growth.is_enough = true;
  growth.set_aside.push_back(
      {.allocator = "slab", .name = "dentry", .is_bytes = true, .grew = 1 << 20, .why = "is a cache"});
  const std::vector<NamePattern> patterns{pattern_of("dentry")};
  EXPECT_THAT(growth_words(growth, patterns), HasSubstr("slab/dentry is not a leak: it grew by 1 MiB"));
  growth.is_enough = false;
  growth.polls = 3;
  growth.seconds = 20;
  EXPECT_THAT(growth_words(growth, patterns),
              HasSubstr("Whether it leaks is unknown after 3 polls in 20 s: 8 are needed, 5 more, which take 50 s ("));
  growth.polls = 1;
  growth.seconds = 0;
  EXPECT_EQ(polls_to_go(growth), "8 are needed, 7 more") << "the interval is unknown";
}

TEST(Why, AMachineOfWhichLittleCanBeReadIsNotSaidToBeWell) {
  Diagnosis diagnosis;
  diagnosis.ruled_out = {"a", "b"};
  diagnosis.not_checked = {{"c", "no /proc"}};
  EXPECT_THAT(why_text(diagnosis, false, 0), testing::StartsWith("Nothing is wrong: "));
  diagnosis.not_checked = {{"c", "no /proc"}, {"d", "no /proc"}, {"e", "no /proc"}};
  EXPECT_THAT(why_text(diagnosis, false, 0), testing::StartsWith("Nothing was found, but most could not be looked at: "));
}

}  // namespace
}  // namespace memstat::ctl
