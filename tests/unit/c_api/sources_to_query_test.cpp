// SPDX-License-Identifier: BSD-2-Clause
// Which sources a query of the C API reads, and in which order.
#include "core/query.h"
#include "tests/support/fake_sources.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class SourcesToQuery : public testing::Test {
 protected:
  SourcesToQuery() {
    other_.name = "z_other";
    other_.allocator = Allocator::kSlab;
  }
  [[nodiscard]] std::vector<std::string_view> names(Allocator allocator,
                                                    OperatingSystem os = OperatingSystem::kLinux) const {
    const std::array<const SourceDescriptor*, 3> all = {&sources_.contributor, &other_, &sources_.roster};
    std::vector<std::string_view> names;
    for (const SourceDescriptor* source : sources_to_query(all, os, allocator)) names.push_back(source->name);
    return names;
  }

  FakeSources sources_;
  SourceDescriptor other_ = fake_contributor();
};

TEST_F(SourcesToQuery, OfAllTypesAreRostersFirst) {
  EXPECT_THAT(names(Allocator::kUnknown), ElementsAre("z_roster", "a_contributor", "z_other"));
}

TEST_F(SourcesToQuery, OfOneAllocatorOrSystemAreItsOwn) {
  EXPECT_THAT(names(Allocator::kVmalloc), ElementsAre("z_roster", "a_contributor"));
  EXPECT_THAT(names(Allocator::kUnknown, OperatingSystem::kFreeBsd), IsEmpty());
}

TEST_F(SourcesToQuery, OffByDefaultAreLeftOut) {
  sources_.contributor.is_on_by_default = false;
  EXPECT_THAT(names(Allocator::kUnknown), ElementsAre("z_roster", "z_other"));
  EXPECT_THAT(names(Allocator::kVmalloc), ElementsAre("z_roster"));
}

TEST_F(SourcesToQuery, OffByDefaultAreReadWhenTheyAreTheRosterOfTheAllocatorAskedFor) {
  sources_.roster.is_on_by_default = false;
  EXPECT_THAT(names(Allocator::kUnknown), ElementsAre("a_contributor", "z_other"));
  EXPECT_THAT(names(Allocator::kVmalloc), ElementsAre("z_roster", "a_contributor"));
}

}  // namespace
}  // namespace memstat
