// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/rendered_snapshot.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

void set_page(RenderedSnapshot& snapshot, std::string_view text) {
  snapshot.forget_pages();
  snapshot.lazy_page(ExpositionFormat::kText).of([text](Buffer& out) { out.assign(text); });
}
/// "" if it has none.
std::string_view page_in(const RenderedSnapshot& snapshot) {
  return snapshot.lazy_page(ExpositionFormat::kText).of([](Buffer&) {});
}
std::size_t storage_of(const RenderedSnapshot& snapshot) { return snapshot.lazy_page(ExpositionFormat::kText).capacity(); }
void publish(SnapshotPool& pool, std::string_view text) {
  RenderedSnapshot* snapshot = pool.free_snapshot();
  ASSERT_NE(snapshot, nullptr);
  set_page(*snapshot, text);
  pool.publish(snapshot);
}

TEST(SnapshotPool, NeverHandsOutThePublishedOne) {
  SnapshotPool pool;
  publish(pool, "1");
  const RenderedSnapshot* const published = pool.current().get();  // held by no reader
  EXPECT_NE(pool.free_snapshot(), published);
  EXPECT_EQ(pool.free_snapshot(), pool.free_snapshot()) << "it stays free until it is published";
}

TEST(SnapshotPool, EachSnapshotIsFreedOnceBeforeItIsBuiltAgain) {
  SnapshotPool pool;
  for (std::size_t i = 0; i < SnapshotPool::kSize; ++i) publish(pool, std::string(100'000, 'x'));
  const auto held = pool.current();
  pool.shrink();
  EXPECT_EQ(page_in(*held).size(), 100'000U);
  for (std::size_t i = 0; i < 2 * SnapshotPool::kSize; ++i) {
    publish(pool, "small");
    EXPECT_LT(storage_of(*pool.current()), 10'000U);
  }
  RenderedSnapshot* const next = pool.free_snapshot();
  EXPECT_NE(storage_of(*next), 0U) << "only once";
}

TEST(SnapshotPool, WhenReadersHoldAllThePreviousOneStays) {
  SnapshotPool pool;
  std::vector<std::shared_ptr<const RenderedSnapshot>> held;
  for (const char* text : {"1", "2", "3", "4"}) {
    publish(pool, text);
    held.push_back(pool.current());
  }
  ASSERT_EQ(SnapshotPool::kSize, held.size());
  EXPECT_EQ(pool.free_snapshot(), nullptr);
  EXPECT_EQ(page_in(*pool.current()), "4");
  EXPECT_EQ(page_in(*held[0]), "1");
  held.erase(held.begin() + 1);
  publish(pool, "5");
  EXPECT_EQ(page_in(*pool.current()), "5");
  EXPECT_EQ(page_in(*held[0]), "1");
}

TEST(SnapshotPool, FreesTheMemoryOfSlowReadersAfterAWhile) {
  SnapshotPool pool;
  std::vector<std::shared_ptr<const RenderedSnapshot>> held;
  std::vector<const RenderedSnapshot*> all;
  for (const char* text : {"1", "2", "3", "4"}) {
    publish(pool, text);
    held.push_back(pool.current());
    all.push_back(held.back().get());
  }
  const auto with_room = [&] {
    return std::count_if(all.begin(), all.end(), [](const RenderedSnapshot* one) { return !page_in(*one).empty(); });
  };
  held.erase(held.begin() + 1, held.end());
  for (int i = 0; i < 3; ++i) publish(pool, "soon");
  EXPECT_EQ(with_room(), 4) << "they may come again";
  for (int i = 0; i < 20; ++i) publish(pool, "later");
  EXPECT_EQ(with_room(), 3) << "the one that is held, the published one and the next";
  EXPECT_EQ(page_in(*held[0]), "1");
  held.clear();
  for (int i = 0; i < 20; ++i) publish(pool, "later");
  EXPECT_EQ(with_room(), 2);
  EXPECT_EQ(page_in(*pool.current()), "later");
}

TEST(SnapshotPool, ReadersInOtherThreadsSeeWholeSnapshots) {
  SnapshotPool pool;
  publish(pool, "aaaaaaaa");
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0;
  std::atomic<int> reads = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const auto snapshot = pool.current();
        const std::string_view text = page_in(*snapshot);
        if (text.find_first_not_of(text[0]) != std::string_view::npos) ++torn;
        ++reads;
      }
    });
  }
  for (int i = 0; i < 2000 || reads < 1000; ++i) {
    if (RenderedSnapshot* snapshot = pool.free_snapshot(); snapshot != nullptr) {
      set_page(*snapshot, std::string(8, static_cast<char>('a' + i % 26)));
      pool.publish(snapshot);
    }
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace memstat
