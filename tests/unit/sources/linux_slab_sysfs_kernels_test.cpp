// SPDX-License-Identifier: BSD-2-Clause
// The files of /sys/kernel/slab of this machine's kernel with very long lists of partial slabs. The figures of captured and
// live kernels: tests/guests/checker.py.
#include <iostream>

#include "core/kernel/forwarding_view.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/partial_slabs.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_slab_sysfs_kernels_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_slab_sysfs"); }

/// Logs what is read through it. Thread safety: none.
class NotedReads final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  Result<void> read_file(std::string_view path, Buffer& out) override {
    ++reads[std::string(path.substr(path.rfind('/') + 1))];
    return inner_.read_file(path, out);
  }

  std::map<std::string, int, std::less<>> reads;  ///< By the file's own name.
};

class LiveSlabSysfs : public LiveSource<source> {
 protected:
  void read_again(KernelView& view) {
    ASSERT_TRUE(read_source(reader_, view));
    const auto result = parse_source(reader_);
    ASSERT_TRUE(result) << to_string(result.error());
  }
  std::map<std::string, std::uint64_t> partial_slabs() {
    std::map<std::string, std::uint64_t> partial;
    for (const StagedType& type : reader_.staging.types()) {
      partial[std::string(type.name)] = type.figures[Field::kPartialSlabs];
    }
    return partial;
  }
};

/// The quickest of many reads, in ns: the cost without interruptions.
std::int64_t quickest_read(KernelView& view, const std::string& path) {
  Buffer text;
  std::int64_t quickest = std::int64_t{1} << 60U;
  for (int i = 0; i < 50; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (!view.read_file(path, text)) return -1;
    const auto took = std::chrono::steady_clock::now() - begin;
    quickest = std::min<std::int64_t>(quickest, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
  }
  return quickest;
}

constexpr const char* kAllFiles[] = {"slabs", "total_objects", "partial", "cpu_slabs", "objects", "objects_partial"};

/// With very long lists of partial slabs, reads must not walk them. The cost is printed and not tested, because others use
/// this machine.
TEST_F(LiveSlabSysfs, ReadsNothingThatWalksTheListsHoweverLongTheyAre) {
  constexpr std::size_t kSlabs = 20'000;        // 80 MB
  reader_.state = source().steps.make_state();  // so that counting gets into the plan
  reader_.state->options = {{.number = 1}, {.number = 10'000'000}};
  read_again(*view_);
  const auto before = partial_slabs();
  const auto likely = std::find_if(std::begin(kMessageCaches), std::end(kMessageCaches),
                                   [&](const char* cache) { return before.contains(cache); });
  ASSERT_NE(likely, std::end(kMessageCaches));
  std::map<std::string, std::int64_t> quick;
  for (const char* file : kAllFiles)
    quick[file] = quickest_read(*view_, "/sys/kernel/slab/" + std::string(*likely) + "/" + file);

  PartialSlabs slabs;
  if (!slabs.make(kSlabs)) GTEST_SKIP() << "this system does not permit  " << kSlabs << " partial slabs of messages";
  NotedReads noted(*view_);
  read_again(noted);
  std::string grown;
  std::uint64_t most = 0;
  for (const auto& [name, partial] : partial_slabs()) {
    const auto old = before.find(name);
    if (old == before.end() || partial < old->second || partial - old->second <= most) continue;
    most = partial - old->second;
    grown = name;
  }
  if (most < kSlabs / 2) GTEST_SKIP() << "only " << most << " slabs of one cache became partial";

  // Counting was requested, but this cache is omitted: its list is too long.
  for (const StagedType& type : reader_.staging.types()) {
    if (type.name != grown) continue;
    EXPECT_FALSE(type.node_fields.has(NodeField::kCount)) << grown;
    EXPECT_GT(type.figures[Field::kPartialSlabs], kSlabs / 2);
    EXPECT_GE(type.figures[Field::kSlabs], type.figures[Field::kPartialSlabs]);
  }
  EXPECT_LT(noted.reads["objects"], noted.reads["slabs"]);
  // By default nothing is counted.
  reader_.state->options.clear();
  noted.reads.clear();
  read_again(noted);
  EXPECT_GT(noted.reads["slabs"], 50);
  for (const auto& [file, count] : noted.reads) {
    const bool is_constant_time = file == "slabs" || file == "total_objects" || file == "partial" || file == "cpu_slabs" ||
                                  file.starts_with("alloc_") || file.starts_with("free_");
    EXPECT_TRUE(is_constant_time) << file << " was read " << count << " times";
  }
  std::cout << grown << " has " << most << " partial slabs more; the quickest read of each file before and after, ns:\n";
  for (const char* file : kAllFiles) {
    std::cout << "  " << file << ' ' << quick[file] << ' ' << quickest_read(*view_, "/sys/kernel/slab/" + grown + "/" + file)
              << '\n';
  }
}

}  // namespace
}  // namespace memstat::linux_slab_sysfs_kernels_test
