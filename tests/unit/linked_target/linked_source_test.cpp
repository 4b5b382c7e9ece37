// SPDX-License-Identifier: BSD-2-Clause
// A program that links a target with sources of its own has them in its table, beside those of core/sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/query.h"
#include "tests/support/fixtures.h"

namespace memstat {
namespace {

TEST(LinkedSource, StandsInTheTableInItsPlaceOfTheAlphabet) {
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

}  // namespace
}  // namespace memstat
