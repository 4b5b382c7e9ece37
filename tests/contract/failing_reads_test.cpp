// SPDX-License-Identifier: BSD-2-Clause
// The Nth call into the kernel fails, for N = 1, 2, ... until no call fails. Each time the result is a typed error that
// names the source and what it read, or a list that is just as complete without that read. An error never changes the list.
#include "core/query.h"
#include "tests/support/faulty_kernel_view.h"
#include "tests/support/list_dump.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

struct Fault {
  int system_errno;
  bool is_sticky;  ///< This call and all later ones, or this one only.
};
constexpr Fault kFaults[] = {{EIO, false}, {ENOENT, false}, {EACCES, true}, {EACCES, false}, {EIO, true}, {ENOENT, true}};

/// All failures; under a sanitizer, which makes reads ten times as slow, one for each errno.
std::span<const Fault> faults() { return is_sanitized() ? std::span(kFaults).first(3) : std::span(kFaults); }

/// The next call to fail: each of the first 100 (10 where it takes long), then fewer and fewer, where a source reads
/// hundreds of files in the same way.
std::size_t after(std::size_t nth) {
  const std::size_t each = is_sanitized() ? 10 : 100;
  return nth + 1 + (nth > each ? nth / (is_sanitized() ? 3 : 10) : 0);
}

/// The same, including each of the last ten of `total` calls: the first ones may only find out which files exist.
std::size_t after(std::size_t nth, std::size_t total) {
  const std::size_t last = total - std::min<std::size_t>(total, 10);
  if (nth < last) return std::min(after(nth), last);
  return nth < total ? nth + 1 : after(nth);
}

/// Whether each type or value has its own files or sysctls: a kernel without them lacks it, which is not an error.
bool has_optional_types(const SourceDescriptor& source) {
  return source.name == "freebsd_table" || source.name == "freebsd_vm" || source.name == "freebsd_memory" ||
         source.name == "linux_cma" || source.name == "linux_thp";
}

class FailingReads : public testing::TestWithParam<SourceCase> {
 protected:
  void SetUp() override {
    view_ = open_fixture(GetParam().capture);
    faulty_.emplace(*view_);
    RosterFirst(*GetParam().source).refresh_into(list_, *view_, 1);
    SourceReader reader(*GetParam().source);
    const auto result = refresh(reader, *view_, list_, 1);
    ASSERT_TRUE(result) << to_string(result.error());
    type_count_ = list_.size();
    fill_slots(list_, 9);
  }
  void inject(std::size_t nth, const Fault& fault) {
    faulty_->clear_faults();
    faulty_->reset_calls();
    if (fault.is_sticky) {
      faulty_->fail_from(nth, fault.system_errno);
    } else {
      faulty_->fail_call(nth, fault.system_errno);
    }
  }
  void expect_typed(const Error& error, const Fault& fault) const {
    EXPECT_EQ(error.code, code_of_errno(fault.system_errno)) << to_string(error);
    EXPECT_EQ(error.system_errno, fault.system_errno);
    EXPECT_EQ(error.source, GetParam().source->name);
    EXPECT_FALSE(error.path.empty());
    EXPECT_TRUE(GetParam().source->origin.find(error.path) != std::string_view::npos ||
                is_reopened(*GetParam().source, error.path))
        << error.path;
    const std::string text = to_string(error);
    EXPECT_TRUE(text.starts_with(std::string(GetParam().source->name) + ": " + error.path)) << text;
  }

  std::unique_ptr<ReplayKernelView> view_;
  std::optional<FaultyKernelView> faulty_;
  MemoryTypeList list_;
  std::size_t type_count_ = 0;
  std::uint64_t generation_ = 1;
};

TEST_P(FailingReads, OfASourceThatIsOpenedAndReadForTheFirstTime) {
  SourceReader whole(*GetParam().source);
  ASSERT_TRUE(open_source(whole, *faulty_));
  ASSERT_TRUE(refresh(whole, *faulty_, list_, ++generation_));
  const std::size_t total = faulty_->call_count();
  for (const Fault& fault : faults()) {
    if (fault.system_errno == ENOENT && has_optional_types(*GetParam().source)) continue;
    std::size_t failed = 0;
    for (std::size_t nth = 1;; nth = after(nth, total)) {
      SCOPED_TRACE("errno " + std::to_string(fault.system_errno) + " from call " + std::to_string(nth));
      ASSERT_LT(nth, 100000U);
      inject(nth, fault);
      SourceReader reader(*GetParam().source);
      const std::string all = dump(list_);
      const auto opened = open_source(reader, *faulty_);
      if (!opened) {
        ++failed;
        expect_typed(opened.error(), fault);
      }
      const auto refreshed = refresh(reader, *faulty_, list_, ++generation_);
      if (refreshed && has_types_that_go_alone(*GetParam().source)) {
        EXPECT_LE(reader.staging.types().size(), type_count_);
      } else if (refreshed) {
        EXPECT_EQ(list_.size(), type_count_);
        EXPECT_EQ(reader.staging.types().size(), type_count_);
      } else {
        ++failed;
        expect_typed(refreshed.error(), fault);
        EXPECT_EQ(first_difference(all, dump(list_)), "");
      }
      // Without the failure, the same reader works again.
      if (!refreshed) {
        faulty_->clear_faults();
        const auto again = refresh(reader, *faulty_, list_, ++generation_);
        ASSERT_TRUE(again) << to_string(again.error());
      }
      if (HasFailure()) return;
      if (faulty_->call_count() < nth) break;
    }
    if (fault.system_errno == EIO || !has_types_that_go_alone(*GetParam().source)) {
      EXPECT_GT(failed, 0U) << "no failed call was ever reported";
    }
  }
  EXPECT_EQ(list_.size(), type_count_);
}

TEST_P(FailingReads, OfASourceThatWasReadBefore) {
  SourceReader reader(*GetParam().source);
  ASSERT_TRUE(open_source(reader, *view_));
  ASSERT_TRUE(refresh(reader, *view_, list_, ++generation_));
  const std::string good = dump(list_, {.identity = false});
  for (const Fault& fault : faults()) {
    for (std::size_t nth = 1;; nth = after(nth)) {
      SCOPED_TRACE("errno " + std::to_string(fault.system_errno) + " from call " + std::to_string(nth));
      ASSERT_LT(nth, 100000U);
      inject(nth, fault);
      const std::string all = dump(list_);
      const auto refreshed = refresh(reader, *faulty_, list_, ++generation_);
      if (faulty_->call_count() < nth) {
        ASSERT_TRUE(refreshed);
        break;
      }
      if (refreshed) continue;
      expect_typed(refreshed.error(), fault);
      EXPECT_EQ(first_difference(all, dump(list_)), "");
      faulty_->clear_faults();
      ASSERT_TRUE(refresh(reader, *faulty_, list_, ++generation_));
      EXPECT_EQ(first_difference(good, dump(list_, {.identity = false})), "");
      if (HasFailure()) return;
    }
  }
}

TEST_P(FailingReads, OnAKernelThatDoesNotHaveTheInterfaceAreNotPresentNotFailed) {
  faulty_->fail_from(1, ENOENT);
  SourceReader reader(*GetParam().source);
  EXPECT_TRUE(fails(refresh(reader, *faulty_, list_, ++generation_), ErrorCode::kNotPresent));
}

INSTANTIATE_TEST_SUITE_P(Sources, FailingReads, testing::ValuesIn(all_source_cases()), name_of_case);

}  // namespace
}  // namespace memstat
