// SPDX-License-Identifier: BSD-2-Clause
// What every source must do with the list: slots survive, equal polls give equal lists, and other allocators do not change.
#include "core/query.h"
#include "tests/support/list_dump.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class Refresh : public testing::TestWithParam<SourceCase> {
 protected:
  void SetUp() override {
    view_ = open_fixture(GetParam().capture);
    reader_.emplace(*GetParam().source);
    roster_.emplace(*GetParam().source);
  }
  void refresh_once() {
    roster_->refresh_into(list_, *view_, ++generation_);
    const auto result = refresh(*reader_, *view_, list_, generation_);
    ASSERT_TRUE(result) << to_string(result.error());
  }

  std::unique_ptr<ReplayKernelView> view_;
  std::optional<SourceReader> reader_;
  std::optional<RosterFirst> roster_;
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_P(Refresh, KeepsAddressesAndSlotsThroughManyRefreshes) {
  refresh_once();
  fill_slots(list_, 3);
  std::string first = dump(list_);
  // Copying 21 MB hundreds of times would show nothing more, so such a stream is read every twentieth time.
  const bool is_large = reader_->raw.parts[0].size() > (1U << 20U);
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(view_->select_poll(static_cast<std::size_t>(round) % view_->poll_count()));
    if (!is_large || round % 20 == 0) {
      ASSERT_TRUE(read_source(*reader_, *view_));
    }
    ASSERT_TRUE(commit_source(*reader_, list_, ++generation_));
  }
  ASSERT_TRUE(view_->select_poll(0));
  generation_ = 0;  // so that only what the refreshes moved or cleared differs
  refresh_once();
  EXPECT_EQ(first_difference(first, dump(list_)), "");
}

TEST_P(Refresh, OfTheSamePollChangesNothing) {
  for (std::size_t poll = 0; poll < view_->poll_count(); ++poll) {
    ASSERT_TRUE(view_->select_poll(poll));
    refresh_once();
    const std::string first = dump(list_, {.identity = false});
    refresh_once();
    refresh_once();
    EXPECT_EQ(first_difference(first, dump(list_, {.identity = false})), "");
    // A list that did not see the earlier polls is equal, if no types came or went.
    MemoryTypeList fresh;
    RosterFirst(*GetParam().source).refresh_into(fresh, *view_, 1);
    SourceReader reader(*GetParam().source);
    ASSERT_TRUE(refresh(reader, *view_, fresh, 1));
    if (fresh.size() == list_.size()) {
      EXPECT_EQ(first_difference(first, dump(fresh, {.identity = false})), "");
    }
  }
}

TEST_P(Refresh, NamesEachTypeOnceAndOnlyWithFiguresOfItsSource) {
  refresh_once();
  const SourceDescriptor& source = *GetParam().source;
  std::size_t count = 0;
  for (const MemoryType* type = list_.first(); type != nullptr; type = type->next(), ++count) {
    EXPECT_EQ(type->allocator(), source.allocator);
    EXPECT_TRUE(type->is_present());
    EXPECT_FALSE(type->name().empty());
    EXPECT_TRUE((type->fields() - source.fields - roster_of(source).fields).empty()) << type->name();
    const CpuFieldMask cpu_fields = reader_->staging.cpu_fields();  // not every kernel has a contributor's
    EXPECT_EQ(type->cpu_fields(), source.is_roster ? source.cpu_fields : cpu_fields | roster_of(source).cpu_fields)
        << type->name();
    EXPECT_TRUE((cpu_fields - source.cpu_fields).empty()) << type->name();
    EXPECT_LT(type->ordinal(), type->duplicates()) << type->name();
    const MemoryType* found = list_.find(source.allocator, type->name());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name(), type->name());
  }
  EXPECT_EQ(count, list_.size());
  EXPECT_EQ(count, reader_->staging.types().size());
}

/// A source, from its first capture to its last.
class RefreshFromCaptureToCapture : public Refresh {};

TEST_P(RefreshFromCaptureToCapture, LeavesTheTypesOfOtherAllocatorsAlone) {
  // One list with everything from all sources of all systems.
  std::uint64_t generation = 0;
  std::vector<std::unique_ptr<SourceReader>> readers;
  std::map<std::string, std::unique_ptr<ReplayKernelView>> views;  // unpacked once each
  for (const SourceDescriptor* other : all_sources()) {
    const std::string capture = captures_of_source(std::string(other->name)).front();
    if (!views.contains(capture)) views.emplace(capture, open_fixture(capture));
    readers.push_back(std::make_unique<SourceReader>(*other));
    ASSERT_TRUE(refresh(*readers.back(), *views.at(capture), list_, ++generation));
  }
  // Two systems have rosters of one allocator: the later one replaced the other's types.
  list_.evict_vanished_before(generation + 1, [](MemoryType&) {});
  fill_slots(list_, 5);
  const Allocator own = GetParam().source->allocator;
  const auto dump_others = [&] {
    std::string text;
    for (std::size_t i = 0; i < kAllocatorCount; ++i) {
      const auto allocator = static_cast<Allocator>(i);
      if (allocator != own) text += dump(list_, {.allocator = allocator});
    }
    return text;
  };
  const std::string before = dump_others();
  generation_ = generation;
  refresh_once();
  EXPECT_EQ(first_difference(before, dump_others()), "");
  // The same if the roster shrinks to that of another capture, and if it is refused.
  for (const std::string& capture : captures_of_source(std::string(GetParam().source->name))) {
    view_ = open_fixture(capture);
    refresh_once();
  }
  reader_->raw.parts[0].clear();
  for (RawFile& file : reader_->raw.files) file.bytes.clear();
  EXPECT_FALSE(commit_source(*reader_, list_, ++generation_));
  list_.evict_vanished_before(generation_, [&](MemoryType& type) { EXPECT_EQ(type.allocator(), own); });
  EXPECT_EQ(first_difference(before, dump_others()), "");
}

std::vector<SourceCase> first_source_cases() {
  std::vector<SourceCase> cases;
  for (const SourceCase& each : all_source_cases()) {
    if (cases.empty() || cases.back().source != each.source) cases.push_back(each);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Sources, RefreshFromCaptureToCapture, testing::ValuesIn(first_source_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Sources, Refresh, testing::ValuesIn(all_source_cases()), name_of_case);

}  // namespace
}  // namespace memstat
