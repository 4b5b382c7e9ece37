// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/open_view.h"

#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string& capture_path() {
  static const std::string path = fixture_path("captures/freebsd-15.0-amd64-4cpu.tar.zst");
  return path;
}

TEST(OpenView, LiveIsThisMachinesKernel) {
  const auto opened = open_view("live");
  const auto live = make_live_kernel_view();
  ASSERT_EQ(opened.has_value(), live.has_value());
  if (!opened) GTEST_SKIP() << to_string(opened.error());
  EXPECT_EQ(opened->view->os(), (*live)->os());
  EXPECT_EQ(opened->capture, nullptr);
}

TEST(OpenView, OfACaptureIsAtThePollNamedOrTheLast) {
  for (const auto& [reference, poll] : {std::pair{capture_path(), 2U}, std::pair{capture_path() + "@1", 1U}}) {
    const auto opened = open_view(reference);
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ(opened->view.get(), opened->capture);
    EXPECT_EQ(opened->view->os(), OperatingSystem::kFreeBsd);
    EXPECT_EQ(opened->capture->selected_poll(), poll);
  }
  EXPECT_TRUE(fails(open_view(capture_path() + "@3"), ErrorCode::kNotPresent));
}

TEST(OpenView, ForAReplayIsAtTheFirstPollAndAnAtBelongsToTheName) {
  const auto opened = open_view(capture_path(), {.takes_poll = false});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(opened->capture->selected_poll(), 0U);
  const auto with_at = open_view(capture_path() + "@1", {.takes_poll = false});
  ASSERT_FALSE(with_at);
  EXPECT_NE(to_string(with_at.error()).find("@1"), std::string::npos);
}

TEST(OpenView, ThatLoadsNowNeedsTheDirectoryNoMore) {
  const TemporaryDirectory directory;
  write_text(directory.file("c/manifest.yaml"), "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0-3\"\n");
  write_text(directory.file("c/000000/poll.yaml"), "label: one\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 100\n");
  write_text(directory.file("c/000000/fs/a"), "bytes");
  const auto reads = open_view(directory.file("c"));
  const auto loaded = open_view(directory.file("c"), {.takes_poll = true, .load_now = true});
  ASSERT_TRUE(reads) << to_string(reads.error());
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  std::filesystem::remove_all(directory.file("c"));
  Buffer bytes;
  EXPECT_FALSE(reads->view->read_file("/a", bytes)) << "otherwise this test proves nothing";
  ASSERT_TRUE(loaded->view->read_file("/a", bytes));
  EXPECT_EQ(bytes.view(), "bytes");
}

TEST(OpenView, ThatLoadsNowReadsNothingOfADirectoryThatIsNoCaptureNorWhatIsNotPartOfOne) {
  const TemporaryDirectory directory;
  write_text(directory.file("c/000000/poll.yaml"), "label: one\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 100\n");
  write_text(directory.file("c/large"), std::string(100'000, 'x'));
  const ViewOptions options{.takes_poll = false, .load_now = true, .max_bytes = 50'000};
  const auto refused = open_view(directory.file("c"), options);
  ASSERT_TRUE(fails(refused, ErrorCode::kNotPresent)) << "it read the large file first";
  EXPECT_NE(to_string(refused.error()).find("no manifest.yaml"), std::string::npos) << to_string(refused.error());
  write_text(directory.file("c/manifest.yaml"), "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0-3\"\n");
  const auto loaded = open_view(directory.file("c"), options);
  EXPECT_TRUE(loaded) << to_string(loaded.error());
  write_text(directory.file("c/manifest.yaml"), std::string((1U << 20U) + 1, '#'));
  EXPECT_TRUE(fails(open_view(directory.file("c"), {.takes_poll = false}), ErrorCode::kData))
      << "a manifest above its limit";
}

}  // namespace
}  // namespace memstat
