// SPDX-License-Identifier: BSD-2-Clause
// A source's state: of its own type, one for each reader, passed to every step.
#include "core/query.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/test.h"

namespace memstat::source_steps_test {
namespace {

constexpr std::string_view kPath = "/counted";

struct CountingState final : ReaderState {
  std::uint64_t opens = 0;
  std::uint64_t reads = 0;
};

Result<void> open(KernelView& view, RawBytes&, CountingState& state) {
  ++state.opens;
  return view.keep_open(kPath);
}
Result<void> read(KernelView& view, RawBytes& raw, CountingState& state) {
  ++state.reads;
  return view.read_file(kPath, raw.parts[0]);
}
/// One type: its bytes are the reads, its objects the opens.
Result<void> parse(const RawBytes& raw, const CountingState& state, Staging& staging) {
  staging.reset({}, 0);
  StagedType& type = staging.add(raw.parts[0].view());
  type.fields = FieldMask(Field::kBytes, Field::kCount);
  type.figures[Field::kBytes] = state.reads;
  type.figures[Field::kCount] = state.opens;
  return {};
}

Result<void> open_plainly(KernelView&, RawBytes&) { return {}; }
Result<void> parse_plainly(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  staging.add(raw.parts[0].view()).fields = FieldMask(Field::kBytes);
  return {};
}

SourceDescriptor source(const SourceSteps& steps) {
  return {.name = "counted",
          .origin = kPath,
          .os = OperatingSystem::kLinux,
          .allocator = Allocator::kVmalloc,
          .is_roster = true,
          .fields = FieldMask(Field::kBytes, Field::kCount),
          .cpu_fields = {},
          .notes = {},
          .steps = steps};
}

class SourceStepsTest : public testing::Test {
 protected:
  void SetUp() override { view_.set(std::string(kPath), "name"); }
  FakeKernelView view_{OperatingSystem::kLinux};
  MemoryTypeList list_;
};

TEST_F(SourceStepsTest, HaveAStateOfTheirOwnTypeForEachReader) {
  const SourceDescriptor counted = source(source_steps<CountingState, open, read, parse>());
  SourceReader first(counted);
  SourceReader second(counted);
  ASSERT_TRUE(open_source(first, view_));
  for (std::uint64_t generation = 1; generation <= 3; ++generation) ASSERT_TRUE(refresh(first, view_, list_, generation));
  ASSERT_TRUE(refresh(second, view_, list_, 4));
  EXPECT_EQ(list_.first()->figure(Field::kBytes), 1U) << "of the second reader, which has read once";
  EXPECT_EQ(list_.first()->figure(Field::kCount), 0U);
  SourceReader moved = std::move(first);
  ASSERT_TRUE(refresh(moved, view_, list_, 5));
  EXPECT_EQ(list_.first()->figure(Field::kBytes), 4U);
  EXPECT_EQ(list_.first()->figure(Field::kCount), 1U);
}

TEST_F(SourceStepsTest, MayDoWithoutIt) {
  const SourceDescriptor plain = source(source_steps<CountingState, open_plainly, read, parse_plainly>());
  SourceReader reader(plain);
  ASSERT_TRUE(open_source(reader, view_));
  ASSERT_TRUE(refresh(reader, view_, list_, 1));
  EXPECT_EQ(list_.first()->name(), "name");
  EXPECT_EQ(dynamic_cast<const CountingState&>(*reader.state).reads, 1U);
  EXPECT_EQ(reader.state->parse_count, 1U);
}

}  // namespace
}  // namespace memstat::source_steps_test
