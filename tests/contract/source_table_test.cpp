// SPDX-License-Identifier: BSD-2-Clause
// Rules for the table of sources as a whole.
#include "core/kernel/forwarding_view.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(SourceTable, HasADescriptorForEveryFileInAlphabeticalOrder) {
  ASSERT_FALSE(all_sources().empty());
  std::string_view previous;
  for (const SourceDescriptor* source : all_sources()) {
    EXPECT_LT(previous, source->name);
    previous = source->name;
    EXPECT_EQ(find_source(source->name), source);
    EXPECT_FALSE(source->origin.empty()) << source->name;
    EXPECT_FALSE(source->notes.empty()) << source->name;
    EXPECT_FALSE(source->origins.empty()) << source->name;
    const bool has_types = source->allocator != Allocator::kUnknown;
    EXPECT_EQ(has_types, !(source->fields.empty() && source->cpu_fields.empty() && source->node_fields.empty()))
        << source->name;
    EXPECT_NE(source->os, OperatingSystem::kOther) << source->name;
    EXPECT_TRUE(source->steps.open != nullptr && source->steps.read != nullptr && source->steps.parse != nullptr &&
                source->steps.make_state != nullptr)
        << source->name;
  }
  EXPECT_EQ(find_source("linked_source"), nullptr) << "only test_linked_target links its target";
}

TEST(SourceTable, NamesThePrivilegeOfEverySourceWhoseNotesSpeakOfOne) {
  for (const SourceDescriptor* source : all_sources()) {
    std::string helper;
    for (const std::string_view name : source->helper_capabilities)
      helper += (helper.empty() ? "" : ",") + std::string(name);
    EXPECT_TRUE(helper.empty() || source->needs == helper) << source->name;
    EXPECT_EQ(source->needs.find(' '), std::string_view::npos) << source->name << ": a label, such as CAP_BPF,CAP_PERFMON";
    const bool speaks = source->notes.find("needs root") != std::string_view::npos && source->name != "linux_page";
    EXPECT_FALSE(speaks && source->needs.empty()) << source->name << ": a refusal would count as a failure";
  }
}

TEST(SourceTable, GivesEveryAllocatorOneRosterAndEachOfItsFieldsOneOwner) {
  using Owner = std::pair<OperatingSystem, Allocator>;
  std::map<Owner, FieldMask> fields;
  std::map<Owner, CpuFieldMask> cpu_fields;
  std::map<Owner, NodeFieldMask> node_fields;
  std::map<Owner, int> rosters;
  for (const SourceDescriptor* source : all_sources()) {
    const Owner owner{source->os, source->allocator};
    EXPECT_TRUE((fields[owner] & source->fields).empty()) << source->name;
    EXPECT_TRUE((cpu_fields[owner] & source->cpu_fields).empty()) << source->name;
    EXPECT_TRUE((node_fields[owner] & source->node_fields).empty()) << source->name;
    if (source->allocator != Allocator::kUnknown) rosters[owner] += source->is_roster ? 1 : 0;
    fields[owner] = fields[owner] | source->fields;
    cpu_fields[owner] = cpu_fields[owner] | source->cpu_fields;
    node_fields[owner] = node_fields[owner] | source->node_fields;
  }
  for (const auto& [owner, count] : rosters) EXPECT_EQ(count, 1) << to_string(owner.second);
}

TEST(SourceTable, GivesEveryMetricOfASystemOneOwner) {
  std::set<std::pair<OperatingSystem, const SystemMetric*>> owned;
  for (const SourceDescriptor* source : all_sources()) {
    std::set<const SystemMetric*> own;  // one metric may be named once for each of its labels' values
    for (const MetricOrigin& origin : source->origins) {
      if (origin.of == MetricOrigin::Of::kSystem) own.insert(origin.metric);
    }
    for (const SystemMetric* metric : own) {
      EXPECT_TRUE(owned.emplace(source->os, metric).second) << source->name << ": " << metric->facts.name;
    }
  }
}

TEST(SourceTable, NamesTheOriginOfEveryFigure) {
  for (const SourceDescriptor* source : all_sources()) {
    EXPECT_EQ(fields_of(source->origins), source->fields) << source->name;
    EXPECT_EQ(cpu_fields_of(source->origins), source->cpu_fields) << source->name;
    EXPECT_EQ(node_fields_of(source->origins), source->node_fields) << source->name;
    for (const MetricOrigin& origin : source->origins) {
      EXPECT_FALSE(origin.origin.empty()) << source->name;
      EXPECT_EQ(origin.origin.find("; "), std::string_view::npos) << "that separates figures in --list-sources";
    }
    for (const SourceOption& option : source->options)
      EXPECT_EQ(option.help.find("; "), std::string_view::npos) << option.help;
  }
}

TEST(SourceTable, HasOptionsWithNamesAndPossibleDefaults) {
  for (const SourceDescriptor* source : all_sources()) {
    std::set<std::string_view> names{"enabled", "interval"};
    for (const SourceOption& option : source->options) {
      EXPECT_TRUE(names.insert(option.name).second) << source->name << ' ' << option.name;
      EXPECT_FALSE(option.help.empty()) << source->name << ' ' << option.name;
      if (option.kind == SourceOption::Kind::kPattern) continue;
      EXPECT_LE(option.least, option.default_number) << source->name << ' ' << option.name;
      EXPECT_GE(option.most, option.default_number) << source->name << ' ' << option.name;
    }
  }
}

/// Logs which files are kept open. Thread safety: none.
class KeepingView final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;
  Result<void> keep_open(std::string_view path) override {
    auto result = ForwardingKernelView::keep_open(path);
    if (result) kept.emplace(path);
    return result;
  }
  std::set<std::string> kept;
};

TEST(SourceTable, HasNoSourceThatKeepsMoreFilesThanItsBudget) {
  for (const SourceCase& value : all_source_cases()) {
    const auto capture = open_fixture(value.capture);
    KeepingView view(*capture);
    SourceReader reader(*value.source);
    static_cast<void>(open_source(reader, view));
    EXPECT_LE(view.kept.size(), value.source->max_files) << value.source->name << " on " << value.capture;
  }
}

}  // namespace
}  // namespace memstat
