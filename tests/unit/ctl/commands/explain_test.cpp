// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/explain.h"

#include "core/model/field.h"
#include "daemon/ctl/commands/options.h"
#include "daemon/explain/tables.h"
#include "daemon/snapshot/metric_catalogue.h"
#include "daemon/snapshot/own_metrics.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using testing::Contains;

/// The only explanation of the word.
Explanation one(std::string_view word) {
  const auto found = explain(word);
  EXPECT_THAT(found, SizeIs(1)) << word;
  return found.empty() ? Explanation() : found.front();
}

ctl::Report explained(const char* word, ctl::Layout layout) {
  ctl::CommandLine options;
  options.word = word;
  options.view.layout = layout;
  return ctl::kExplainCommand.run(options);
}

TEST(Explain, EveryMetricIsExplainedWithWhereItIsCounted) {
  for (const MetricDescriptor& metric : metric_catalogue()) {
    const auto found = explain(metric.name);
    ASSERT_FALSE(found.empty()) << metric.name;
    EXPECT_EQ(found.front().kind, "metric");
    EXPECT_THAT(found.front().what, StartsWith(std::string(metric.help)));
    const bool is_counted = metric.scope == MetricScope::kType || metric.scope == MetricScope::kSystem;
    EXPECT_TRUE(!found.front().where.empty() || !is_counted) << metric.name;
  }
  EXPECT_EQ(one("type_failures_total").name, "memstat_type_failures_total") << "without memstat_";
  EXPECT_THAT(one("memstat_type_failures_total").growth, HasSubstr("MemstatAllocationFailures"));
}

TEST(Explain, EveryAllocatorAndColumnIsExplained) {
  for (std::size_t i = 1; i < kAllocatorCount; ++i) {
    const std::string name(to_string(static_cast<Allocator>(i)));
    ASSERT_FALSE(explain(name).empty()) << name;
    EXPECT_EQ(explain(name).front().kind, "allocator") << name;
    EXPECT_THAT(explain("allocator"), testing::Contains(testing::Field(&Explanation::name, name)));
  }
  for (const char* word : {"USED", "limit_used_ratio", "HELD", "CONFIDENCE", "with", "growth_bytes_per_second", "TREND"}) {
    EXPECT_THAT(explain(word), testing::Contains(testing::Field(&Explanation::kind, "column"))) << word;
  }
}

TEST(Explain, ARunbookIsTextAndNoMarkdown) {
  const std::string text = explained("MemstatLimitHit", ctl::Layout::kText).output;
  EXPECT_EQ(text.find_first_of("`["), std::string::npos) << text;
  EXPECT_EQ(text.find("**"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("\n    ss -s  ")) << "an example is indented";
  EXPECT_THAT(text, HasSubstr("are in MemstatConfiguredLimitExceeded.")) << "a link is its words";
}

TEST(Explain, EveryMetricOfMemstatdItselfIsExplained) {
  for (const OwnMetric& metric : own_metrics()) {
    const Explanation found = one(metric.name);
    EXPECT_EQ(found.kind, "metric");
    EXPECT_THAT(found.what, StartsWith(std::string(metric.help)));
    EXPECT_THAT(found.where, SizeIs(1));
  }
  EXPECT_EQ(one("build_info").name, "memstat_build_info");
  EXPECT_THAT(one("memstat_poll_missed_total").growth, HasSubstr("explain Memstat"));
  EXPECT_THAT(one("memstat_source_up").growth, HasSubstr("explain MemstatSourceDown"));
  EXPECT_THAT(one("process_open_fds").where, Contains(HasSubstr("the kernel")));
}

TEST(Explain, EveryAlertIsItsRunbook) {
  ASSERT_GT(runbooks().size(), 30U);
  for (const Runbook& runbook : runbooks()) {
    EXPECT_EQ(one(runbook.alert).what, runbook.section);
    EXPECT_THAT(std::string(runbook.section), HasSubstr("Quiet it")) << runbook.alert;
  }
  EXPECT_EQ(one("nearlimit").name, "MemstatNearLimit");
}

TEST(Explain, TypesThatUsersMeetAreExplained) {
  for (const char* name : {"dentry", "ext4_inode_cache", "xfs_inode", "ceph_inode_cache", "kmalloc-64", "kmalloc-rcl-128",
                           "mbuf_cluster", "mbuf_jumbo_9k", "VNODE", "devbuf", "16 Bucket", "malloc-256"}) {
    const Explanation type = one(name);
    EXPECT_EQ(type.kind, "type") << name;
    EXPECT_FALSE(type.what.empty() || type.growth.empty() || type.where.empty()) << name;
  }
  EXPECT_THAT(explain("TCP"), SizeIs(2)) << "a slab cache, and the memory of its sockets";
  EXPECT_EQ(one("socket/TCP").name, "socket/TCP");
  EXPECT_THAT(one("kmalloc-cg-64").what, HasSubstr("control group")) << "the best pattern comes first";
  EXPECT_THAT(explain("no such word"), SizeIs(0));
  EXPECT_THAT(explain(""), SizeIs(0));
}

TEST(Explain, KnownTypesAreOfKnownAllocatorsEachOnce) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::set<std::string_view> allocators;
  for (std::size_t i = 0; i < kAllocatorCount; ++i) allocators.insert(to_string(static_cast<Allocator>(i)));
  for (const KnownType& known : known_types()) {
    EXPECT_TRUE(seen.emplace(known.allocator, known.pattern).second) << known.pattern;
    EXPECT_TRUE(allocators.contains(known.allocator)) << known.allocator;
    EXPECT_LE(std::count(known.pattern.begin(), known.pattern.end(), '*'), 1) << known.pattern;
    for (const std::string_view text : {known.what, known.growth}) EXPECT_TRUE(text.ends_with('.')) << known.pattern;
  }
  for (const LimitWord& word : rows_of<LimitWord>(limit_words_text())) {
    EXPECT_LE(std::count(word.type.begin(), word.type.end(), '*'), 1) << word.type << ": two stars never match";
  }
}

TEST(Explain, PatternsMatchWholeNames) {
  EXPECT_TRUE(matches_pattern("kmalloc-*", "kmalloc-8k"));
  EXPECT_TRUE(matches_pattern("*_inode_cache", "nfs_inode_cache"));
  EXPECT_FALSE(matches_pattern("kmalloc-*", "dma-kmalloc-8k"));
  EXPECT_FALSE(matches_pattern("ab*ba", "aba")) << "no letter counts twice";
  EXPECT_FALSE(matches_pattern("dentry", "dentry2"));
}

TEST(ExplainReport, HasLinesOfOneHundredColumnsAndJson) {
  const ctl::Report text = explained("slab/dentry", ctl::Layout::kText);
  EXPECT_THAT(text.output, StartsWith("slab/dentry (type)\n  A cached directory entry"));
  EXPECT_THAT(text.output, HasSubstr("  When it grows:\n    "));
  for (std::size_t at = 0; at < text.output.size();) {
    const std::size_t end = text.output.find('\n', at);
    EXPECT_LE(end - at, 100U) << text.output.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_THAT(explained("dentry", ctl::Layout::kJson).output, HasSubstr("\"kind\": \"type\""));
  EXPECT_THAT(explained("dentry", ctl::Layout::kCsv).output, StartsWith("kind,name,what,where,growth\ntype,slab/dentry,"));
}

}  // namespace
}  // namespace memstat
