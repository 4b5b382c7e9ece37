// SPDX-License-Identifier: BSD-2-Clause
// /proc/PID/statm, from handwritten text.
#include "core/parse/statm.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

std::string statm_words(std::string_view text, std::uint64_t page_size = 4096) {
  const auto memory = parse_statm(text, page_size);
  if (!memory) return "refused";
  return std::to_string(memory->size) + " " + std::to_string(memory->resident) + " " + std::to_string(memory->shared) + " " +
         std::to_string(memory->text) + " " + std::to_string(memory->data);
}

TEST(Statm, IsPagesInTheKernelsOrder) {
  EXPECT_EQ(statm_words("1000 200 150 30 0 40 0\n"), "4096000 819200 614400 122880 163840");
  EXPECT_EQ(statm_words("1000 200 150 30 0 40 0\n", 65536), "65536000 13107200 9830400 1966080 2621440");
  EXPECT_EQ(statm_words("0 0 0 0 0 0 0\n"), "0 0 0 0 0");
  EXPECT_TRUE(is_without_memory(*parse_statm("0 0 0 0 0 0 0\n", 4096)));
  EXPECT_FALSE(is_without_memory(*parse_statm("1 0 0 0 0 0 0\n", 4096)));
}

TEST(Statm, MayHaveColumnsMoreAndLackTheLast) {
  EXPECT_EQ(statm_words("1 2 3 4 0 5 0 99 what\n"), statm_words("1 2 3 4 0 5"));
  EXPECT_EQ(statm_words("1 2 3 4 0 5"), "4096 8192 12288 16384 20480");
}

TEST(Statm, ThatIsNoneIsRefused) {
  for (const std::string_view text :
       {"", "\n", "1 2 3 4 0\n", "1 2 3 4 0 x\n", "-1 2 3 4 0 5 0\n", "1 2 3 4 0\n5 0\n",
        "18446744073709551616 0 0 0 0 0 0\n", "4503599627370496 0 0 0 0 0 0\n", "1 2 3 4 0 4503599627370496 0\n"}) {
    EXPECT_EQ(statm_words(text), "refused") << text;
  }
  EXPECT_EQ(statm_words("4503599627370495 0 0 0 0 0 0\n"), "18446744073709547520 0 0 0 0");
}

}  // namespace
}  // namespace memstat
