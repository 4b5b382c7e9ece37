// SPDX-License-Identifier: BSD-2-Clause
// What must hold of the table of sources as a whole.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/source_cases.h"

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
    EXPECT_FALSE(source->fields.empty() && source->cpu_fields.empty()) << source->name;
    EXPECT_NE(source->allocator, Allocator::kUnknown) << source->name;
    EXPECT_NE(source->os, OperatingSystem::kOther) << source->name;
    EXPECT_TRUE(source->open != nullptr && source->read != nullptr && source->parse != nullptr) << source->name;
  }
  EXPECT_EQ(find_source("no such source"), nullptr);
}

TEST(SourceTable, GivesEveryFieldOfAnAllocatorOneOwner) {
  std::map<Allocator, FieldMask> fields;
  std::map<Allocator, CpuFieldMask> cpu_fields;
  for (const SourceDescriptor* source : all_sources()) {
    EXPECT_TRUE((fields[source->allocator] & source->fields).empty()) << source->name;
    EXPECT_TRUE((cpu_fields[source->allocator] & source->cpu_fields).empty()) << source->name;
    fields[source->allocator] = fields[source->allocator] | source->fields;
    cpu_fields[source->allocator] = cpu_fields[source->allocator] | source->cpu_fields;
  }
}

TEST(SourceTable, GivesEveryAllocatorExactlyOneRoster) {
  std::map<Allocator, int> rosters;
  for (const SourceDescriptor* source : all_sources()) rosters[source->allocator] += source->is_roster ? 1 : 0;
  for (const auto& [allocator, count] : rosters) EXPECT_EQ(count, 1) << to_string(allocator);
}

TEST(SourceTable, GivesEveryAllocatorAWordOfItsOwn) {
  std::set<std::string_view> words;
  for (const SourceDescriptor* source : all_sources()) words.insert(to_string(source->allocator));
  std::set<Allocator> allocators;
  for (const SourceDescriptor* source : all_sources()) allocators.insert(source->allocator);
  EXPECT_EQ(words.size(), allocators.size());
  EXPECT_FALSE(words.contains("unknown"));
}

TEST(SourceTable, HasCapturesThatShowEverySourceOnItsSystem) {
  for (const SourceDescriptor* source : all_sources()) {
    const std::vector<std::string> captures = captures_of_source(std::string(source->name));
    EXPECT_FALSE(captures.empty()) << source->name;
    for (const std::string& capture : captures) EXPECT_EQ(open_fixture(capture)->os(), source->os) << capture;
  }
}

}  // namespace
}  // namespace memstat
