// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/reader_thread.h"

#include <sys/resource.h>

#include "tests/support/fake_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

Result<void> open_plainly(KernelView&, RawBytes&) { return {}; }
template <const std::string_view& kPath>
Result<void> read_its_path(KernelView& view, RawBytes& raw) {
  return view.read_file(kPath, raw.parts[0]);
}
Result<void> parse_plainly(const RawBytes&, Staging&) { return {}; }

/// A source that reads the path that is its name.
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
  /// Reads this one only.
  Result<void> read(const std::shared_ptr<SourceReader>& source, std::chrono::nanoseconds timeout) {
    SourceRead one{.source = source};
    reader_->read({&one, 1}, timeout);
    return std::move(one.result);
  }
  std::shared_ptr<FakeKernelView> view_ = std::make_shared<FakeKernelView>(OperatingSystem::kOther, 3);
  std::unique_ptr<ReaderThread> reader_ = std::make_unique<ReaderThread>(view_);
  std::shared_ptr<SourceReader> first_ = std::make_shared<SourceReader>(kFirst);
  std::shared_ptr<SourceReader> second_ = std::make_shared<SourceReader>(kSecondFake);
};

TEST_F(ReaderThreadTest, ReadsOneSourceAfterTheOther) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(read(first_, hours(1)));
    ASSERT_TRUE(read(second_, hours(1)));
    EXPECT_EQ(first_->raw.parts[0].view(), "one");
    EXPECT_EQ(second_->raw.parts[0].view(), "two");
  }
  EXPECT_EQ(first_->raw.cpu_count, 3U);
  EXPECT_EQ(first_->raw.page_size, 4096U);
  EXPECT_EQ(reader_->stuck_count(), 0U);
}

TEST_F(ReaderThreadTest, AThreadThatIsLateTakesNoReadOfAnother) {
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(read(first_, milliseconds(0)));
    ASSERT_TRUE(read(second_, hours(1)));
  }
  while (reader_->is_busy(*first_)) std::this_thread::yield();
  EXPECT_TRUE(read(first_, hours(1)));
  EXPECT_EQ(reader_->stuck_count(), 0U);
}

TEST_F(ReaderThreadTest, HandsOnTheSourcesError) {
  view_->fail("/first", EACCES);
  const auto result = read(first_, hours(1));
  ASSERT_TRUE(fails(result, {.code = ErrorCode::kPermission, .path = "/first", .system_errno = EACCES}));
  EXPECT_EQ(result.error().source, "/first");
  view_->set("/first", "again");
  EXPECT_TRUE(read(first_, hours(1)));
}

TEST_F(ReaderThreadTest, AnExceptionIsAnErrorAndTheThreadContinues) {
  view_->make_throw("/first");
  const auto result = read(first_, hours(1));
  ASSERT_TRUE(fails(result, ErrorCode::kIo));
  EXPECT_THAT(result.error().detail, HasSubstr("the fake kernel throws"));
  EXPECT_TRUE(read(second_, hours(1)));
}

TEST_F(ReaderThreadTest, AStuckSourceTimesOutWhileTheOthersAreRead) {
  view_->block("/first");
  const auto result = read(first_, milliseconds(1));
  ASSERT_TRUE(fails(result, ErrorCode::kTimeout));
  EXPECT_EQ(result.error().source, "/first");
  EXPECT_THAT(result.error().detail, HasSubstr("1 ms"));
  EXPECT_EQ(reader_->stuck_count(), 1U);
  EXPECT_TRUE(read(second_, hours(1)));
  EXPECT_TRUE(read(second_, hours(1)));
}

TEST_F(ReaderThreadTest, AStuckSourceIsNotReadAgainBeforeItReturns) {
  view_->block("/first");
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(fails(read(first_, hours(1)), ErrorCode::kTimeout));
    EXPECT_TRUE(read(second_, hours(1)));
  }
  EXPECT_EQ(view_->reads_of("/first"), 1);
  EXPECT_EQ(reader_->stuck_count(), 1U) << "no thread is lost to each poll";
}

TEST_F(ReaderThreadTest, AStuckSourceRecoversOnceItReturns) {
  view_->block("/first");
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  view_->release("/first");
  ASSERT_TRUE(eventually([&] { return reader_->stuck_count() == 0; }));
  view_->set("/first", "fresh");
  ASSERT_TRUE(read(first_, hours(1)));
  EXPECT_EQ(first_->raw.parts[0].view(), "fresh");
  EXPECT_EQ(view_->reads_of("/first"), 2);
}

TEST_F(ReaderThreadTest, TwoMayBeStuckAtOnce) {
  view_->block("/first");
  view_->block("/second");
  ASSERT_FALSE(read(first_, milliseconds(1)));
  ASSERT_FALSE(read(second_, milliseconds(1)));
  EXPECT_EQ(reader_->stuck_count(), 2U);
  view_->release("/second");
  ASSERT_TRUE(eventually([&] { return reader_->stuck_count() == 1; }));
  EXPECT_TRUE(read(second_, hours(1)));
  EXPECT_FALSE(read(first_, hours(1)));
}

TEST_F(ReaderThreadTest, CancelEndsAWaitAtOnceAndEveryLaterOne) {
  view_->block("/first");
  Result<void> result;
  std::thread waiting([&] { result = read(first_, hours(1)); });
  view_->wait_until_hanging("/first");
  reader_->cancel();
  waiting.join();
  ASSERT_TRUE(fails(result, ErrorCode::kTimeout));
  EXPECT_TRUE(fails(read(second_, hours(1)), ErrorCode::kTimeout));
  EXPECT_EQ(view_->reads_of("/second"), 0);
}

TEST_F(ReaderThreadTest, DestructionDoesNotWaitForAStuckRead) {
  view_->block("/first");
  ASSERT_FALSE(read(first_, milliseconds(1)));
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
  ASSERT_TRUE(read(first_, hours(1)));
  reader_.reset();
  EXPECT_EQ(view_.use_count(), 1) << "no thread holds the view any more";
}

// ---- several at once -----------------------------------------------------------------------------------------------------

TEST_F(ReaderThreadTest, ReadsAllThatItIsHanded) {
  view_->fail("/second", EIO);
  const auto again = std::make_shared<SourceReader>(kFirst);
  for (int i = 0; i < 3; ++i) {
    std::array<SourceRead, 3> reads = {SourceRead{.source = first_}, {.source = second_}, {.source = again}};
    reader_->read(reads, hours(1));
    EXPECT_TRUE(reads[0].result && reads[2].result);
    EXPECT_GT(reads[0].took.count(), 0);
    ASSERT_FALSE(reads[1].result);
    EXPECT_EQ(reads[1].result.error().system_errno, EIO);
    EXPECT_EQ(again->raw.parts[0].view(), "one");
  }
  EXPECT_EQ(view_->reads_of("/first"), 6);
  reader_->read({}, hours(1));
}

TEST_F(ReaderThreadTest, AFreshThreadReadsWhatWasHandedOverWithAStuckSource) {
  view_->block("/first");
  for (milliseconds timeout{10};; timeout *= 4) {  // a busy machine may take long for the other two
    std::array<SourceRead, 3> reads = {SourceRead{.source = std::make_shared<SourceReader>(kSecondFake)},
                                       {.source = std::make_shared<SourceReader>(kFirst)},
                                       {.source = std::make_shared<SourceReader>(kSecondFake)}};
    reader_->read(reads, timeout);
    ASSERT_FALSE(reads[1].result);
    EXPECT_EQ(reads[1].result.error().code, ErrorCode::kTimeout);
    EXPECT_GE(reads[1].took, timeout);
    EXPECT_TRUE(reader_->is_busy(*reads[1].source));
    if (reads[0].result && reads[2].result) break;
    ASSERT_LT(timeout, hours(1));
  }
  EXPECT_GE(reader_->stuck_count(), 1U);
}

TEST_F(ReaderThreadTest, ASourceThatIsStillStuckIsPassedOver) {
  view_->block("/first");
  ASSERT_FALSE(read(first_, milliseconds(1)));
  view_->wait_until_hanging("/first");
  std::array<SourceRead, 2> reads = {SourceRead{.source = first_}, {.source = second_}};
  reader_->read(reads, hours(1));
  ASSERT_FALSE(reads[0].result);
  EXPECT_THAT(reads[0].result.error().detail, HasSubstr("has not returned yet"));
  EXPECT_TRUE(reads[1].result);
}

TEST_F(ReaderThreadTest, CancelEndsTheWaitForAllThatWereHandedOver) {
  view_->block("/first");
  std::array<SourceRead, 2> reads = {SourceRead{.source = first_}, {.source = second_}};
  std::thread waiting([&] { reader_->read(reads, hours(1)); });
  view_->wait_until_hanging("/first");
  reader_->cancel();
  waiting.join();
  for (const SourceRead& each : reads) {
    ASSERT_FALSE(each.result);
    EXPECT_THAT(each.result.error().detail, HasSubstr("stopping"));
  }
  EXPECT_EQ(view_->reads_of("/second"), 0);
}

TEST_F(ReaderThreadTest, TheCallerIsNotWokenForEachSource) {
  constexpr long kSources = 200;
  std::vector<SourceRead> reads;
  for (long i = 0; i < kSources; ++i) reads.push_back({.source = std::make_shared<SourceReader>(kFirst)});
  reader_->read(reads, hours(1));
  const auto switches = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const long before = switches();
  reader_->read(reads, hours(1));
  EXPECT_LT(switches() - before, kSources / 10);
}

}  // namespace
}  // namespace memstat
