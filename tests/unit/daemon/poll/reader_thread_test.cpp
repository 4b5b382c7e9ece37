// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "tests/support/fake_kernel_view.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;

Result<void> open_plainly(KernelView&, RawBytes&) { return {}; }
template <const std::string_view& kPath>
Result<void> read_its_path(KernelView& view, RawBytes& raw) {
  return view.read_file(kPath, raw.parts[0]);
}
Result<void> parse_plainly(const RawBytes&, Staging&) { return {}; }

/// A source that reads the one path that it is named after.
template <const std::string_view& kPath>
SourceDescriptor source_of() {
  return {.name = kPath,
          .origin = kPath,
          .os = OperatingSystem::kOther,
          .allocator = Allocator::kSlab,
          .is_roster = true,
          .fields = {},
          .cpu_fields = {},
          .notes = {},
          .steps = source_steps<ReaderState, open_plainly, read_its_path<kPath>, parse_plainly>()};
}
constexpr std::string_view kFirstPath = "/first";
constexpr std::string_view kSecondPath = "/second";
const SourceDescriptor kFirst = source_of<kFirstPath>();
const SourceDescriptor kSecondFake = source_of<kSecondPath>();

class ReaderThreadTest : public testing::Test {
 protected:
  void SetUp() override {
    view_->set("/first", "one");
    view_->set("/second", "two");
  }
  void TearDown() override {
    view_->release("/first");
    view_->release("/second");
  }
  std::shared_ptr<FakeKernelView> view_ = std::make_shared<FakeKernelView>(OperatingSystem::kOther, 3);
  std::unique_ptr<ReaderThread> reader_ = std::make_unique<ReaderThread>(view_);
  std::shared_ptr<SourceReader> first_ = std::make_shared<SourceReader>(kFirst);
  std::shared_ptr<SourceReader> second_ = std::make_shared<SourceReader>(kSecondFake);
};

TEST_F(ReaderThreadTest, ReadsOneSourceAfterTheOther) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(reader_->read(first_, hours(1)));
    ASSERT_TRUE(reader_->read(second_, hours(1)));
    EXPECT_EQ(first_->raw.parts[0].view(), "one");
    EXPECT_EQ(second_->raw.parts[0].view(), "two");
  }
  EXPECT_EQ(first_->raw.cpu_count, 3U);
  EXPECT_EQ(first_->raw.page_size, 4096U);
  EXPECT_EQ(reader_->stuck_count(), 0U);
}

TEST_F(ReaderThreadTest, AThreadThatIsLateTakesNoReadOfAnother) {
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(reader_->read(first_, milliseconds(0)));
    ASSERT_TRUE(reader_->read(second_, hours(1)));
  }
  while (reader_->is_busy(*first_)) std::this_thread::yield();
  EXPECT_TRUE(reader_->read(first_, hours(1)));
  EXPECT_EQ(reader_->stuck_count(), 0U);
}

TEST_F(ReaderThreadTest, HandsOnTheSourcesError) {
  view_->fail("/first", EACCES);
  const auto result = reader_->read(first_, hours(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kPermission);
  EXPECT_EQ(result.error().source, "/first");
  EXPECT_EQ(result.error().path, "/first");
  EXPECT_EQ(result.error().system_errno, EACCES);
  view_->set("/first", "again");
  EXPECT_TRUE(reader_->read(first_, hours(1)));
}

TEST_F(ReaderThreadTest, WhatASourceThrowsIsAnErrorAndTheThreadGoesOn) {
  view_->make_throw("/first");
  const auto result = reader_->read(first_, hours(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kIo);
  EXPECT_THAT(result.error().detail, HasSubstr("the fake kernel throws"));
  EXPECT_TRUE(reader_->read(second_, hours(1)));
}

TEST_F(ReaderThreadTest, AStuckSourceTimesOutWhileTheOthersAreRead) {
  view_->block("/first");
  const auto result = reader_->read(first_, milliseconds(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(result.error().source, "/first");
  EXPECT_THAT(result.error().detail, HasSubstr("1 ms"));
  EXPECT_EQ(reader_->stuck_count(), 1U);
  EXPECT_TRUE(reader_->read(second_, hours(1)));
  EXPECT_TRUE(reader_->read(second_, hours(1)));
}

TEST_F(ReaderThreadTest, AStuckSourceIsNotReadAgainBeforeItReturns) {
  view_->block("/first");
  ASSERT_FALSE(reader_->read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  for (int i = 0; i < 5; ++i) {
    const auto result = reader_->read(first_, hours(1));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
    EXPECT_TRUE(reader_->read(second_, hours(1)));
  }
  EXPECT_EQ(view_->reads_of("/first"), 1);
  EXPECT_EQ(reader_->stuck_count(), 1U) << "no thread is lost to each poll";
}

TEST_F(ReaderThreadTest, AStuckSourceRecoversOnceItReturns) {
  view_->block("/first");
  ASSERT_FALSE(reader_->read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  view_->release("/first");
  ASSERT_TRUE(eventually([&] { return reader_->stuck_count() == 0; }));
  view_->set("/first", "fresh");
  ASSERT_TRUE(reader_->read(first_, hours(1)));
  EXPECT_EQ(first_->raw.parts[0].view(), "fresh");
  EXPECT_EQ(view_->reads_of("/first"), 2);
}

TEST_F(ReaderThreadTest, TwoMayBeStuckAtOnce) {
  view_->block("/first");
  view_->block("/second");
  ASSERT_FALSE(reader_->read(first_, milliseconds(1)));
  ASSERT_FALSE(reader_->read(second_, milliseconds(1)));
  EXPECT_EQ(reader_->stuck_count(), 2U);
  view_->release("/second");
  ASSERT_TRUE(eventually([&] { return reader_->stuck_count() == 1; }));
  EXPECT_TRUE(reader_->read(second_, hours(1)));
  EXPECT_FALSE(reader_->read(first_, hours(1)));
}

TEST_F(ReaderThreadTest, CancelEndsAWaitAtOnceAndEveryLaterOne) {
  view_->block("/first");
  Result<void> result;
  std::thread waiting([&] { result = reader_->read(first_, hours(1)); });
  view_->wait_until_hanging("/first");
  reader_->cancel();
  waiting.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kTimeout);
  const auto later = reader_->read(second_, hours(1));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, ErrorCode::kTimeout);
  EXPECT_EQ(view_->reads_of("/second"), 0);
}

TEST_F(ReaderThreadTest, DestructionDoesNotWaitForAStuckRead) {
  view_->block("/first");
  ASSERT_FALSE(reader_->read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  const std::weak_ptr<SourceReader> source = first_;
  first_.reset();
  reader_.reset();
  EXPECT_TRUE(view_->is_hanging("/first")) << "destroyed while the read was still under way";
  EXPECT_FALSE(source.expired()) << "the read still has its buffers";
  view_->release("/first");
  EXPECT_TRUE(eventually([&] { return source.expired(); }));
}

TEST_F(ReaderThreadTest, DestructionEndsAnIdleThread) {
  ASSERT_TRUE(reader_->read(first_, hours(1)));
  reader_.reset();
  EXPECT_EQ(view_.use_count(), 1) << "no thread holds the view any more";
}

}  // namespace
}  // namespace memstat
