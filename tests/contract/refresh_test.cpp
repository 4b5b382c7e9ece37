// SPDX-License-Identifier: BSD-2-Clause
// What every source must do with the list: slots survive, equal polls give equal lists, and other allocators do not change.
#include "core/kernel/forwarding_view.h"
#include "core/kernel/read_all.h"
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
  std::vector<const MemoryType*> entries;
  for (const MemoryType* type = list_.first(); type != nullptr; type = type->next()) entries.push_back(type);
  // Copying 21 MB a thousand times would show nothing more, so such a stream is read every twentieth time.
  const bool is_large = reader_->raw.parts[0].size() > (1U << 20U);
  const int rounds = is_sanitized() ? 100 : 1000;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(view_->select_poll(static_cast<std::size_t>(round) % view_->poll_count()));
    if (!is_large || round % 20 == 0) {
      ASSERT_TRUE(read_source(*reader_, *view_));
    }
    ASSERT_TRUE(commit_source(*reader_, list_, ++generation_));
  }
  // The same entries, each with exactly the values that fill_slots gave it.
  MemoryTypeList other;
  SourceReader fresh(*GetParam().source);
  ASSERT_TRUE(view_->select_poll(0));
  RosterFirst(*GetParam().source).refresh_into(other, *view_, 1);
  ASSERT_TRUE(refresh(fresh, *view_, other, 1));
  fill_slots(other, 3);
  const MemoryType* expected = other.first();
  std::size_t index = 0;
  for (const MemoryType* type = list_.first(); type != nullptr && expected != nullptr; type = type->next()) {
    ASSERT_LT(index, entries.size());
    ASSERT_EQ(type, entries[index++]);
    ASSERT_EQ(type->name(), expected->name());
    for (std::size_t slot = 0; slot < kCallerSlotCount; ++slot) {
      ASSERT_EQ(type->caller_uint64(slot), expected->caller_uint64(slot)) << type->name();
      ASSERT_EQ(type->caller_pointer(slot), expected->caller_pointer(slot)) << type->name();
      for (std::uint32_t cpu = 0; cpu < expected->cpu_count(); ++cpu) {
        ASSERT_EQ(type->cpu_caller_uint64(cpu, slot), expected->cpu_caller_uint64(cpu, slot)) << type->name();
        ASSERT_EQ(type->cpu_caller_pointer(cpu, slot), expected->cpu_caller_pointer(cpu, slot)) << type->name();
      }
    }
    expected = expected->next();
  }
  EXPECT_EQ(index, entries.size());
  EXPECT_EQ(expected, nullptr);
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

/// Passes files on 16 bytes at a time, through the live view's read loop.
class SlowFiles final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  Result<void> read_file(std::string_view path, Buffer& out) override {
    Buffer whole;
    if (auto result = inner_.read_file(path, whole); !result) return result;
    std::size_t at = 0;
    bytes += whole.size();
    return read_all(path, out, {.first_capacity = 16, .max_chunk = 16}, [&](char* to, std::size_t room) {
      const std::size_t count = std::min({room, whole.size() - at, std::size_t{16}});
      if (count != 0) std::memcpy(to, whole.data() + at, count);
      at += count;
      ++reads;
      return static_cast<long>(count);
    });
  }

  std::size_t reads = 0;
  std::size_t bytes = 0;  ///< of all files
};

TEST_P(Refresh, ReadsTheSame16BytesAtATime) {
  refresh_once();
  SlowFiles slow(*view_);
  SourceReader reader(*GetParam().source);
  MemoryTypeList list;
  RosterFirst(*GetParam().source).refresh_into(list, *view_, 1);
  ASSERT_TRUE(open_source(reader, slow));
  ASSERT_TRUE(refresh(reader, slow, list, 1));
  EXPECT_EQ(first_difference(dump(list_, {.identity = false}), dump(list, {.identity = false})), "");
  if (GetParam().source->os == OperatingSystem::kLinux && reads_files(*GetParam().source)) {
    EXPECT_GT(slow.reads, slow.bytes / 16);
    EXPECT_GT(slow.reads, has_table(*GetParam().source) ? 0U : 10U);
  }
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
