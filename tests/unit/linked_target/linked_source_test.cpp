// SPDX-License-Identifier: BSD-2-Clause
// A program that links a target with its own sources has them in its table, in addition to those of core/sources.
#include "core/capture/archive.h"
#include "core/capture/recording_view.h"
#include "core/capture/replay_view.h"
#include "core/query.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(LinkedSource, IsInTheTableInAlphabeticalOrder) {
  const SourceDescriptor* const linked = find_source("linked_source");
  ASSERT_NE(linked, nullptr);
  EXPECT_TRUE(std::ranges::is_sorted(all_sources(), {}, [](const SourceDescriptor* source) { return source->name; }));
  EXPECT_EQ(std::ranges::count(all_sources(), linked), 1);
  EXPECT_NE(find_source("linux_memory"), nullptr) << "the sources of core are still there";
  EXPECT_NE(find_source("freebsd_uma"), nullptr);
}

TEST(LinkedSource, IsReadAndParsedAsAnyOther) {
  for (const std::string& capture : captures_of_source("linked_source")) {
    const auto view = open_fixture(capture);
    SourceReader reader(*find_source("linked_source"));
    MemoryTypeList list;
    ASSERT_TRUE(open_source(reader, *view)) << capture;
    ASSERT_TRUE(refresh(reader, *view, list, 1)) << capture;
    ASSERT_EQ(reader.staging.types().size(), 1U);
    EXPECT_GT(reader.staging.types()[0].figures[Field::kBytes], 20U) << capture;
  }
}

/// Bytes of the linked source's type "reads" after a refresh; 0: it has none.
std::uint64_t reads_shown(SourceReader& reader, KernelView& view, MemoryTypeList& list, std::uint64_t generation) {
  const auto refreshed = refresh(reader, view, list, generation);
  EXPECT_TRUE(refreshed) << to_string(refreshed.error());
  for (const StagedType& type : reader.staging.types()) {
    if (type.name == "reads") return type.figures[Field::kBytes];
  }
  return 0;
}

TEST(LinkedSource, ItsTableIsRecordedAndReplayedWithoutItsSource) {
  FakeKernelView machine(OperatingSystem::kLinux);
  machine.set("/proc/meminfo", "MemTotal: 1 kB\n");
  const TemporaryDirectory directory;
  RecordingOptions options;
  options.directory = directory.file("rec");
  auto recording = std::move(*RecordingKernelView::create(machine, std::move(options), system_clock()));
  {
    SourceReader reader(*find_source("linked_source"));
    MemoryTypeList list;
    ASSERT_TRUE(open_source(reader, *recording));
    for (std::uint64_t poll = 1; poll <= 3; ++poll) {
      recording->begin_poll("poll");
      EXPECT_EQ(reads_shown(reader, *recording, list, poll), poll);
      ASSERT_TRUE(recording->end_poll());
    }
  }
  const auto files = std::move(*open_directory_files(directory.file("rec")));
  EXPECT_EQ(*files->kind("000002/source/linked_source"), FileKind::kFile);

  const auto replay = std::move(*open_capture(directory.file("rec")));
  ASSERT_EQ(replay->poll_count(), 3U);
  SourceReader reader(*find_source("linked_source"));
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, *replay));
  std::uint64_t generation = 0;
  for (const std::uint64_t poll : {2U, 0U, 1U}) {  // a second read would increase the count
    ASSERT_TRUE(replay->select_poll(poll));
    EXPECT_EQ(reads_shown(reader, *replay, list, ++generation), poll + 1);
  }
}

TEST(LinkedSource, ACaptureWithoutItsTableShowsItsFileAlone) {
  const auto view = open_fixture(captures_of_source("linked_source").at(0));
  SourceReader reader(*find_source("linked_source"));
  MemoryTypeList list;
  ASSERT_TRUE(open_source(reader, *view));
  EXPECT_EQ(reads_shown(reader, *view, list, 1), 0U);
}

}  // namespace
}  // namespace memstat
