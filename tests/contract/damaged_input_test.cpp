// SPDX-License-Identifier: BSD-2-Clause
// Every parser with kernel data that is truncated: the result is a typed error with the place, or fewer types. Most useful
// in the build with AddressSanitizer. Wrong bytes are left to fuzz/any_source.cpp.
#include "core/base/text.h"
#include "core/query.h"
#include "tests/support/list_dump.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define MEMSTAT_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMSTAT_POISONS 1
#endif
#endif
#ifdef MEMSTAT_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace memstat {
namespace {

/// Makes a buffer shorter and shorter, without copying 21 MB each time. Under AddressSanitizer, the part that was cut off
/// must not be read; the destructor restores the whole buffer.
class ShrinkingBuffer {
 public:
  explicit ShrinkingBuffer(Buffer& buffer) : buffer_(buffer), full_size_(buffer.size()) {}
  ~ShrinkingBuffer() {
#ifdef MEMSTAT_POISONS
    __asan_unpoison_memory_region(buffer_.data(), buffer_.capacity());
#endif
    buffer_.resize(full_size_);
  }
  ShrinkingBuffer(const ShrinkingBuffer&) = delete;
  ShrinkingBuffer& operator=(const ShrinkingBuffer&) = delete;
  /// Requires decreasing sizes.
  void shrink_to(std::size_t size) {
#ifdef MEMSTAT_POISONS
    // From the new end to the old one, rounded up to the eight bytes that AddressSanitizer marks together.
    const std::size_t end = std::min((buffer_.size() + 8) & ~std::size_t{7}, buffer_.capacity());
    __asan_poison_memory_region(buffer_.data() + size, end - size);
#endif
    buffer_.resize(size);
  }

 private:
  Buffer& buffer_;
  std::size_t full_size_;
};

/// Where to cut a part of N bytes, largest first: everywhere if it is small; else at every byte of its first 200 kB
/// (three records of the largest stream; 50 kB of Linux's lines, 10 kB where it takes long), at 2000 places at random, and
/// in the last 2000 bytes.
std::vector<std::size_t> cuts_of(std::size_t size, OperatingSystem os) {
  const std::size_t everywhere = is_sanitized() ? 10'000 : os == OperatingSystem::kLinux ? 50'000 : 200'000;
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 0; cut < std::min(size, everywhere); ++cut) cuts.push_back(cut);
  if (size > everywhere) {
    std::mt19937_64 random(20261120);
    for (int i = 0; i < 2000; ++i) cuts.push_back(random() % size);
    for (std::size_t back = 1; back < std::min<std::size_t>(2000, size); ++back) cuts.push_back(size - back);
  }
  std::sort(cuts.begin(), cuts.end(), std::greater<>());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

void expect_typed(const Error& error, const SourceDescriptor& source, const std::string& where) {
  EXPECT_TRUE(error.code == ErrorCode::kData || error.code == ErrorCode::kVersion) << where << to_string(error);
  EXPECT_FALSE(error.path.empty()) << where;
  EXPECT_TRUE(source.origin.find(error.path) != std::string_view::npos || is_reopened(source, error.path))
      << where << error.path;
  EXPECT_TRUE(error.offset.has_value()) << where << to_string(error);
  EXPECT_FALSE(error.detail.empty()) << where;
}

class DamagedInput : public testing::TestWithParam<SourceCase> {
 protected:
  void SetUp() override {
    view_ = open_fixture(GetParam().capture);
    reader_.emplace(*GetParam().source);
    RosterFirst(*GetParam().source).refresh_into(list_, *view_, 1);
    const auto result = refresh(*reader_, *view_, list_, 1);
    ASSERT_TRUE(result) << to_string(result.error());
    fill_slots(list_, 7);
    before_ = dump(list_);
    type_count_ = reader_->staging.types().size();
    object_count_ = objects_of(reader_->staging);
    statistic_count_ = reader_->staging.statistics().entries().size();
    for (const StagedType& type : reader_->staging.types()) whole_types_.emplace_back(type.fields, type.figures);
  }

  std::unique_ptr<ReplayKernelView> view_;
  std::optional<SourceReader> reader_;
  MemoryTypeList list_;
  std::string before_;
  /// Objects of all types, free ones included: a shorter file has fewer, if many records make one type.
  static std::uint64_t objects_of(const Staging& staging) {
    std::uint64_t count = 0;
    for (const StagedType& type : staging.types()) count += type.figures[Field::kCount] + type.figures[Field::kFree];
    return count;
  }

  /// Whether these are the same types, with the values of the whole file or fewer of them: the part cut off was then not
  /// needed, or has other values, as in /proc/meminfo. A source of statistics has no types.
  [[nodiscard]] bool has_no_other_values(const Staging& staging) const {
    for (std::size_t i = 0; i < whole_types_.size(); ++i) {
      const auto& figures = whole_types_[i].second;
      const StagedType& type = staging.types()[i];
      if (!(type.fields - whole_types_[i].first).empty()) return false;
      bool is_same = true;
      for_each_of(type.fields, [&](Field field) { is_same = is_same && type.figures[field] == figures[field]; });
      if (!is_same) return false;
    }
    return true;
  }

  std::size_t type_count_ = 0;
  std::uint64_t object_count_ = 0;
  std::size_t statistic_count_ = 0;
  std::vector<std::pair<FieldMask, Figures>> whole_types_;
};

TEST_P(DamagedInput, CutShortAnywhereIsAnErrorOrFewerTypesOrObjects) {
  const SourceDescriptor& source = *GetParam().source;
  std::vector<Buffer*> buffers;
  // The required file first, as if it were the only one.
  for (const bool is_required : {true, false}) {
    for (RawFile& file : reader_->raw.files) {
      const bool is_main = source.plan[file.planned].need == ReadNeed::kRequired;
      if (is_main == is_required) buffers.push_back(&file.bytes);
    }
  }
  for (Buffer& part : reader_->raw.parts) buffers.push_back(&part);
  const bool has_plan = !source.plan.empty();
  for (std::size_t part = 0; part < buffers.size(); ++part) {
    Buffer& buffer = *buffers[part];
    if (buffer.empty()) continue;
    Staging staging;
    ShrinkingBuffer shrinking(buffer);
    std::size_t tries = 0;
    for (const std::size_t cut : cuts_of(buffer.size(), source.os)) {
      shrinking.shrink_to(cut);
      const auto result = source.steps.parse(reader_->raw, *reader_->state, staging);
      const std::string where = "part " + std::to_string(part) + " cut to " + std::to_string(cut) + ": ";
      if (!result) {
        expect_typed(result.error(), source, where);
        // A part other than the first is optional if it is a listing, but not if it is a damaged file.
        EXPECT_TRUE(part == 0 || has_plan || source.origin.find(", ") != std::string_view::npos) << where;
        if (result.error().offset) {
          EXPECT_LE(*result.error().offset, cut) << where;
        }
        // Nothing reaches the list, and the error names the source.
        if (++tries % 64 == 0 || cut < 64) {
          const auto committed = commit_source(*reader_, list_, 2);
          ASSERT_FALSE(committed) << where;
          EXPECT_EQ(committed.error().source, source.name);
        }
      } else if (part == 0) {
        // A text that ends with a line may be a shorter roster; a binary stream states its number of records.
        ASSERT_EQ(source.os, OperatingSystem::kLinux) << where;
        ASSERT_GT(cut, 0U);
        EXPECT_EQ(buffer.data()[cut - 1], '\n') << where;
        EXPECT_LE(staging.types().size(), type_count_) << where;
        if (staging.types().size() == type_count_) {
          // Many records make one type, or the source does not use the part that was cut off.
          EXPECT_TRUE(objects_of(staging) < object_count_ || staging.statistics().entries().size() < statistic_count_ ||
                      has_no_other_values(staging))
              << where;
        }
      } else if (has_plan) {
        EXPECT_LE(staging.types().size(), type_count_) << where;  // each file may have types of its own
      } else {
        EXPECT_EQ(staging.types().size(), type_count_) << where;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(first_difference(before_, dump(list_)), "");
}

INSTANTIATE_TEST_SUITE_P(Sources, DamagedInput, testing::ValuesIn(all_source_cases()), name_of_case);

}  // namespace
}  // namespace memstat
