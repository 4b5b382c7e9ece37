// SPDX-License-Identifier: BSD-2-Clause
// Every parser with kernel data that is truncated or has wrong bytes: the result is a typed error with the place, or fewer
// types. Most useful in the build with AddressSanitizer.
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
    whole_ = text_of(reader_->staging);
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

  /// The whole result of a parse.
  static std::string text_of(const Staging& staging) {
    std::string text;
    for (std::size_t i = 0; i < staging.types().size(); ++i) {
      const StagedType& type = staging.types()[i];
      text += '\n' + std::string(type.name);
      for_each_of(type.fields, [&](Field field) { text += ' ' + std::to_string(type.figures[field]); });
      for_each_of(staging.cpu_fields(), [&](CpuField field) {
        for (std::uint32_t cpu = 0; cpu < staging.cpu_count(); ++cpu) {
          text += ' ' + std::to_string(staging.cpu_figure(i, field, cpu));
        }
      });
    }
    const StagedStatistics& statistics = staging.statistics();
    for (const StagedStatistics::Entry& entry : statistics.entries()) {
      text += '\n' + std::string(entry.metric->facts.name) + ' ' + std::to_string(entry.bits);
      for (std::size_t i = 0; i < entry.metric->label_names().size(); ++i) {
        text += ' ' + std::string(statistics.label(entry, i));
      }
    }
    return text;
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
  std::string whole_;
  std::vector<std::pair<FieldMask, Figures>> whole_types_;
};

TEST_P(DamagedInput, CutShortAnywhereIsAnErrorOrFewerTypesOrObjects) {
  const SourceDescriptor& source = *GetParam().source;
  for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
    Buffer& buffer = reader_->raw.parts[part];
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
        EXPECT_TRUE(part == 0 || source.origin.find(", ") != std::string_view::npos) << where;
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
                      text_of(staging) == whole_ || has_no_other_values(staging))
              << where;
        }
      } else {
        EXPECT_EQ(staging.types().size(), type_count_) << where;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(first_difference(before_, dump(list_)), "");
}

class DamagedStream : public DamagedInput {};

TEST_P(DamagedStream, CutAtTheEdgesOfEveryRecordIsAnError) {
  const SourceDescriptor& source = *GetParam().source;
  Buffer& buffer = reader_->raw.parts[0];
  // Records are where the names are, whatever their size is.
  const std::size_t record_size = (buffer.size() - 16) / type_count_;
  ASSERT_EQ((buffer.size() - 16) % type_count_, 0U);
  ShrinkingBuffer shrinking(buffer);
  Staging staging;
  for (std::size_t record = type_count_; record-- > 0;) {
    for (const std::size_t off : {33U, 32U, 31U, 1U, 0U}) {
      shrinking.shrink_to(16 + record * record_size + off);
      const auto result = source.steps.parse(reader_->raw, *reader_->state, staging);
      ASSERT_FALSE(result) << "record " << record << " + " << off;
      expect_typed(result.error(), source, "");
    }
    if (record == 0) break;
    shrinking.shrink_to(16 + record * record_size - 1);
    ASSERT_FALSE(source.steps.parse(reader_->raw, *reader_->state, staging));
  }
}

TEST_P(DamagedInput, WithWrongBytesNeverHarms) {
  const SourceDescriptor& source = *GetParam().source;
  std::mt19937_64 random(15);
  const std::size_t large = 1U << 20U;
  std::size_t errors = 0;
  for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
    Buffer& buffer = reader_->raw.parts[part];
    if (buffer.empty()) continue;
    // A stream of 21 MB is parsed whole for damage in any part.
    const int rounds = reader_->raw.parts[0].size() > large ? (is_sanitized() ? 20 : 100) : (is_sanitized() ? 1500 : 5000);
    MemoryTypeList list;
    std::uint64_t generation = 0;
    for (int round = 0; round < rounds; ++round) {
      // Up to eight bytes, half of the time near the beginning, where the headers are.
      std::vector<std::pair<std::size_t, char>> undo;
      for (std::uint64_t flips = 1 + random() % 8; flips > 0; --flips) {
        const std::size_t at = random() % (random() % 2 == 0 ? std::min<std::size_t>(buffer.size(), 256) : buffer.size());
        undo.emplace_back(at, buffer.data()[at]);
        buffer.data()[at] = random() % 4 == 0 ? static_cast<char>(0xFF) : static_cast<char>(random());
      }
      const auto result = commit_source(*reader_, list, ++generation);
      if (!result) {
        ++errors;
        expect_typed(result.error(), source, "");
        EXPECT_EQ(result.error().source, source.name);
      } else {
        ASSERT_LE(reader_->staging.cpu_count(), 65536U);
        for (const StagedType& type : reader_->staging.types()) ASSERT_TRUE(is_valid_label_text(type.name));
      }
      while (!undo.empty()) {
        buffer.data()[undo.back().first] = undo.back().second;
        undo.pop_back();
      }
      if (HasFailure()) return;
      list.evict_vanished_before(generation, [](MemoryType&) {});
    }
    // The right bytes give the same result as before, even in a list that has seen the wrong ones.
    ASSERT_TRUE(commit_source(*reader_, list, ++generation));
    EXPECT_EQ(reader_->staging.types().size(), type_count_);
  }
  EXPECT_GT(errors, 0U) << "no damage was ever noticed";
}

std::vector<SourceCase> stream_cases() {
  std::vector<SourceCase> cases = all_source_cases();
  std::erase_if(cases, [](const SourceCase& value) { return !is_stream(*value.source); });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Sources, DamagedStream, testing::ValuesIn(stream_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Sources, DamagedInput, testing::ValuesIn(all_source_cases()), name_of_case);

}  // namespace
}  // namespace memstat
