// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/gzip.h"

#include "tests/support/test.h"

#include <zlib.h>

namespace memstat {
namespace {

/// The content of one gzip member. Fails if it is malformed, its checksum is wrong, or anything follows it.
testing::AssertionResult inflates_to(std::string_view bytes, std::string_view wanted) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return testing::AssertionFailure() << "zlib does not start";
  std::string text(wanted.size() + 1, '\0');  // one more, to detect too many bytes
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int status = inflate(&stream, Z_FINISH);
  const std::size_t left = stream.avail_in;
  text.resize(stream.total_out);
  inflateEnd(&stream);
  if (status != Z_STREAM_END) return testing::AssertionFailure() << "inflate says " << status << " after " << text.size();
  if (left != 0) return testing::AssertionFailure() << left << " bytes after the first member: curl fails on them";
  if (text != wanted) return testing::AssertionFailure() << text.size() << " bytes, which differ from the input";
  return testing::AssertionSuccess();
}

/// Like a page: names repeat, figures differ, and also by `seed`.
std::string page_text(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) {
    text += "memstat_type_bytes{allocator=\"slab\",type=\"cache_" + std::to_string(i % 977) + "\"} ";
    text += std::to_string(random() >> (random() % 60)) + '\n';
  }
  text.resize(size);
  return text;
}

std::string random_bytes(std::size_t size) {
  std::mt19937_64 random(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class GzipCompressorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_gzip()) GTEST_SKIP() << "built without gzip: libisal was not found, or MEMSTAT_GZIP is off";
  }
  GzipCompressor gzip_;
  Buffer out_;
};

TEST_F(GzipCompressorTest, MakesOneMemberOfAnySizeThatZlibReads) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4095}, std::size_t{65535},
                                 std::size_t{65536}, std::size_t{65537}, std::size_t{20'000'000}, std::size_t{100}}) {
    SCOPED_TRACE(size);
    const std::string text = page_text(size);
    ASSERT_TRUE(gzip_.compress(text, out_));
    EXPECT_TRUE(inflates_to(out_.view(), text));
    if (size >= 65535) {
      EXPECT_LT(out_.size(), size / 2);
    }
  }
}

TEST_F(GzipCompressorTest, GrowsItsRoomForWhatDoesNotShrink) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{65536}, std::size_t{3'000'001}}) {
    SCOPED_TRACE(size);
    const std::string bytes = random_bytes(size);
    ASSERT_TRUE(gzip_.compress(bytes, out_));
    EXPECT_TRUE(inflates_to(out_.view(), bytes));
    EXPECT_LT(out_.size(), size + size / 100 + 100);
  }
}

TEST_F(GzipCompressorTest, ServesManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::vector<testing::AssertionResult> results(4, testing::AssertionFailure() << "not run");
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([this, &result = results[i], i] {
      const std::string text = page_text(100'000 + i * 10'000, i);
      Buffer out;
      for (int round = 0; round < 20; ++round) {
        result =
            gzip_.compress(text, out) ? inflates_to(out.view(), text) : testing::AssertionFailure() << "compress says no";
        if (!result) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const testing::AssertionResult& result : results) EXPECT_TRUE(result);
}

TEST(GzipCompressor, RefusesAndLeavesNothingWhenBuiltWithout) {
  GzipCompressor gzip;
  Buffer out("before");
  EXPECT_EQ(gzip.compress("text", out), can_gzip());
  EXPECT_EQ(out.empty(), !can_gzip());
}

}  // namespace
}  // namespace memstat
