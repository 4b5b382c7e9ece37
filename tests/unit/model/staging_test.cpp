// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/staging.h"

#include "core/base/text.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using namespace std::string_view_literals;

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

TEST(Staging, ANameThatRepairMadeTooLongIsCutBetweenCharacters) {
  const std::string mark = "\xEF\xBF\xBD";  // the replacement of a byte that is not UTF-8
  for (std::size_t bad = 1; bad <= 31; ++bad) {
    for (std::size_t longest = 0; longest <= 33; ++longest) {
      Staging staging;
      staging.reset({}, 0);
      const std::string_view name = staging.add(std::string(31 - bad, 'x') + std::string(bad, '\xFF'), longest).name;
      ASSERT_TRUE(is_valid_label_text(name)) << bad << ' ' << longest;
      ASSERT_LE(name.size(), longest);
      ASSERT_GE(name.size() + 2, std::min(longest, 31 - bad + 3 * bad)) << "no more is cut than has to be";
      std::string whole(31 - bad, 'x');
      for (std::size_t i = 0; i < bad; ++i) whole += mark;
      ASSERT_TRUE(whole.starts_with(name));
    }
  }
}

/// name=bytes(free on CPU 0, on CPU 1) of every type.
std::string words_of(const Staging& staging) {
  std::string words;
  for (std::size_t i = 0; i < staging.types().size(); ++i) {
    const StagedType& type = staging.types()[i];
    words += std::string(type.name) + "=" + std::to_string(type.figures[Field::kBytes]);
    for (const CpuField field : {CpuField::kNumAllocs, CpuField::kFree}) {
      if (!staging.cpu_fields().has(field)) continue;
      words += "(" + std::to_string(staging.cpu_figure(i, field, 0)) + "," +
               std::to_string(staging.cpu_figure(i, field, 1)) + ")";
    }
    words += " ";
  }
  return words;
}

std::string folded(std::string_view letters, CpuFieldMask cpu_fields) {
  Staging staging;
  staging.reset(cpu_fields, 2);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    staging.add(letters.substr(i, 1)).figures[Field::kBytes] = i + 1;
    if (cpu_fields.empty()) continue;
    staging.set_cpu_figure(i, CpuField::kNumAllocs, 0, 10 * (i + 1));
    staging.set_cpu_figure(i, CpuField::kFree, 1, 10 * (i + 1) + 1);
  }
  staging.fold_duplicates();
  return words_of(staging);
}

TEST(Staging, MoreTypesOrFiguresThanAKernelHasAreRefused) {
  Staging staging;
  staging.reset({}, 0);
  for (std::size_t i = 0; i < kMaxTypes; ++i) staging.add("x");
  EXPECT_THROW(staging.add("x"), TooManyTypes);
  EXPECT_THROW(staging.merge("y"), TooManyTypes);
  EXPECT_EQ(staging.types().size(), kMaxTypes);
  constexpr std::uint32_t kCpus = 1U << 22U;
  staging.reset(CpuFieldMask{CpuField::kNumAllocs}, kCpus);
  for (std::size_t i = 0; i < kMaxOwnFigures / kCpus; ++i) staging.add("x");
  EXPECT_THROW(staging.add("x"), TooManyTypes) << "a capture can claim any number of CPUs";
}

TEST(Staging, FoldingKeepsThePlaceOfTheFirstAndTheFiguresOfTheLast) {
  const CpuFieldMask none;
  EXPECT_EQ(folded("", none), "");
  EXPECT_EQ(folded("abc", none), "a=1 b=2 c=3 ");
  EXPECT_EQ(folded("aa", none), "a=2 ");
  EXPECT_EQ(folded("aaaa", none), "a=4 ");
  EXPECT_EQ(folded("aba", none), "a=3 b=2 ");
  EXPECT_EQ(folded("aab", none), "a=2 b=3 ");
  EXPECT_EQ(folded("abbcabdc", none), "a=5 b=6 c=8 d=7 ");
}

TEST(Staging, FoldingMovesTheColumnsOfTheCpusToo) {
  const CpuFieldMask both(CpuField::kNumAllocs, CpuField::kFree);
  EXPECT_EQ(folded("abacb", both), "a=3(30,0)(0,31) b=5(50,0)(0,51) c=4(40,0)(0,41) ");
}

TEST(Staging, MergingFindsTheTypeOfANameAtAnyAddress) {
  Staging staging;
  for (int round = 0; round < 3; ++round) {
    staging.reset({}, 0);
    for (int i = 0; i < 5000; ++i) {
      std::string name = "caller " + std::to_string(i * 7919 % 1000);
      ++staging.merge(name).figures[Field::kBytes];
      name.assign(name.size(), 'x');  // merge() copied it
    }
    staging.sort_by_name();
    ASSERT_EQ(staging.types().size(), 1000U);
    std::set<std::string_view> names;
    std::string_view last;
    for (const StagedType& type : staging.types()) {
      EXPECT_EQ(type.figures[Field::kBytes], 5U) << type.name;
      EXPECT_LT(last, type.name);
      last = type.name;
      names.insert(type.name);
    }
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(names.contains("caller " + std::to_string(i))) << i;
  }
}

TEST(Staging, MergingRepairsNamesAndKeepsLongOnes) {
  Staging staging;
  staging.reset({}, 0);
  ++staging.merge("\xFF!").figures[Field::kBytes];
  ++staging.merge("\xFE!").figures[Field::kBytes];
  ++staging.merge("").figures[Field::kBytes];
  const std::string huge(100'000, 'h');
  const std::string large(9'000, 'l');
  for (const std::string& name : {huge, large, large + "2", large + "3", huge}) ++staging.merge(name).figures[Field::kBytes];
  ASSERT_EQ(staging.types().size(), 6U);
  EXPECT_EQ(staging.types()[0].name, "\xEF\xBF\xBD!");
  EXPECT_EQ(staging.types()[0].figures[Field::kBytes], 2U);
  EXPECT_EQ(staging.types()[1].name, "");
  EXPECT_EQ(staging.types()[2].name, huge);
  EXPECT_EQ(staging.types()[2].figures[Field::kBytes], 2U);
  EXPECT_EQ(staging.types()[3].name, large);
  EXPECT_EQ(staging.types()[4].name, large + "2");
  EXPECT_EQ(staging.types()[5].name, large + "3");
}

TEST(Staging, SortingTakesTheFiguresOfTheCpusAlong) {
  Staging staging;
  staging.reset(CpuFieldMask(CpuField::kFree), 2);
  for (const char* name : {"c", "a", "b"}) staging.merge(name);
  for (std::size_t i = 0; i < 3; ++i) staging.set_cpu_figure(i, CpuField::kFree, 1, 7 + i);
  staging.sort_by_name();
  EXPECT_EQ(words_of(staging), "a=0(0,8) b=0(0,9) c=0(0,7) ");
}

TEST(Staging, KeepsAParsersNotesAndDetailsUntilTheReset) {
  Staging staging;
  staging.reset({}, 0);
  staging.merge("a").detail = "a.c:1";
  staging.notes().push_back(7);
  {
    std::string text = "b.c:1\xFF";
    staging.set_detail(0, text);
    text.assign(text.size(), 'x');
  }
  EXPECT_EQ(staging.types()[0].detail, "b.c:1\xEF\xBF\xBD");
  EXPECT_EQ(staging.notes(), std::vector<std::uint64_t>{7});
  staging.reset({}, 0);
  EXPECT_TRUE(staging.notes().empty());
  EXPECT_EQ(staging.merge("a").detail, "");
}

}  // namespace
}  // namespace memstat
