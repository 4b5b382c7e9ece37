// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/staging.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/text.h"

namespace memstat {
namespace {

using namespace std::string_view_literals;

TEST(Staging, KeepsTheOrderOfTheRecords) {
  Staging staging;
  staging.reset({}, 0);
  for (const auto* name : {"c", "a", "b", "a"}) staging.add(name);
  ASSERT_EQ(staging.types().size(), 4U);
  EXPECT_EQ(staging.types()[0].name, "c");
  EXPECT_EQ(staging.types()[3].name, "a");
}

TEST(Staging, FiguresAreZeroUntilWrittenAlsoWhenItIsUsedAgain) {
  const CpuFieldMask fields(CpuField::kFree, CpuField::kNumAllocs);
  Staging staging;
  staging.reset(fields, 3);
  staging.add("a").figures[Field::kBytes] = 7;
  staging.set_cpu_figure(0, CpuField::kFree, 2, 9);
  staging.size_classes().push_back(16);
  staging.reset(fields, 3);
  EXPECT_TRUE(staging.types().empty());
  EXPECT_TRUE(staging.size_classes().empty());
  const StagedType& again = staging.add("a");
  EXPECT_EQ(again.figures[Field::kBytes], 0U);
  EXPECT_TRUE(again.fields.empty());
  for (std::uint32_t cpu = 0; cpu < 3; ++cpu) {
    EXPECT_EQ(staging.cpu_figure(0, CpuField::kFree, cpu), 0U);
    EXPECT_EQ(staging.cpu_figure(0, CpuField::kNumAllocs, cpu), 0U);
  }
}

TEST(Staging, ColumnsOfTypesAndFieldsDoNotOverlap) {
  Staging staging;
  staging.reset(CpuFieldMask(CpuField::kFree, CpuField::kNumAllocs), 2);
  staging.add("a");
  staging.add("b");
  std::uint64_t next = 1;
  for (const std::size_t type : {0U, 1U}) {
    for (const CpuField field : {CpuField::kNumAllocs, CpuField::kFree}) {
      for (std::uint32_t cpu = 0; cpu < 2; ++cpu) staging.set_cpu_figure(type, field, cpu, next++);
    }
  }
  const Staging& read = staging;
  EXPECT_EQ(read.cpu_figure(0, CpuField::kNumAllocs, 0), 1U);
  EXPECT_EQ(read.cpu_figure(0, CpuField::kFree, 1), 4U);
  EXPECT_EQ(read.cpu_figure(1, CpuField::kNumAllocs, 0), 5U);
  EXPECT_EQ(read.cpu_figure(1, CpuField::kFree, 1), 8U);
}

TEST(Staging, NamesAreMadeValidUtf8AndStayValidWhileMoreAreAdded) {
  Staging staging;
  staging.reset({}, 0);
  staging.add("bad\xFFname"sv);
  for (int i = 0; i < 1000; ++i) staging.add("\xC3(" + std::to_string(i));
  EXPECT_EQ(staging.types()[0].name, "bad\xEF\xBF\xBDname");
  for (const StagedType& type : staging.types()) EXPECT_TRUE(is_valid_label_text(type.name));
  EXPECT_EQ(staging.types()[1000].name, "\xEF\xBF\xBD(999");
}

}  // namespace
}  // namespace memstat
