// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/indexed_counts.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// "total: place=value place=value", followed by "!" if something is not a number.
std::string words(std::string_view text, char letter = 'N') {
  PlacedNumbers numbers(text, letter);
  std::string found = std::to_string(numbers.total()) + ":";
  std::uint64_t place = 0;
  std::uint64_t value = 0;
  while (numbers.next(place, value)) found += " " + std::to_string(place) + "=" + std::to_string(value);
  EXPECT_FALSE(numbers.next(place, value)) << "the end stays the end";
  return found + (numbers.is_good() ? "" : "!");
}

TEST(PlacedNumbers, AreATotalAndWhatThePlacesHaveOfIt) {
  EXPECT_EQ(words("29 N0=14 N1=15\n"), "29: 0=14 1=15");
  EXPECT_EQ(words("12593 C0=11792 C63=801\n", 'C'), "12593: 0=11792 63=801");
  EXPECT_EQ(words("0\n"), "0:") << "no place has any";
  EXPECT_EQ(words("  7 \t N2=7 "), "7: 2=7");
  EXPECT_EQ(words("18446744073709551615 N18446744073709551615=18446744073709551615"),
            "18446744073709551615: 18446744073709551615=18446744073709551615");
}

TEST(PlacedNumbers, PassOverWordsOfOtherKinds) {
  EXPECT_EQ(words("115(11) C0=73(7) C1=42(4)\n", 'N'), "0:!") << "a total that is none";
  EXPECT_EQ(words("3 new=1 N0=1 cpus=0-3 C0=9 N1=2 newer\n"), "3: 0=1 1=2");
}

TEST(PlacedNumbers, ThatAreNoneEndTheWalk) {
  for (const char* text : {"", "\n", "x", "-1", "N0=1", "18446744073709551616", "1.5 N0=1", "0x10", "\xFF"}) {
    EXPECT_EQ(words(text), "0:!") << text;
  }
  for (const char* word : {"N", "N0", "N=", "N0=", "N=1", "N0=-1", "N-1=0", "N0=1x", "Nx=1", "N0==1",
                           "N0=18446744073709551616", "N99999999999999999999=1"}) {
    EXPECT_EQ(words("5 N7=2 " + std::string(word) + " N8=3"), "5: 7=2!") << word;
  }
}

}  // namespace
}  // namespace memstat
