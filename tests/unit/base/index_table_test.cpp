// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/index_table.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

/// Distinct texts in the order of their first appearance, found by the table.
class Words {
 public:
  explicit Words(std::size_t hashes) : hashes_(hashes) {}

  std::uint32_t number_of(const std::string& word) {
    table_.reserve(words_.size() + 1, [this](std::size_t index) { return hash(words_[index]); });
    std::uint32_t& entry = table_.find(hash(word), [&](std::size_t index) { return words_[index] == word; });
    if (entry == 0) {
      words_.push_back(word);
      entry = static_cast<std::uint32_t>(words_.size());
    }
    return entry - 1;
  }
  void clear() {
    words_.clear();
    table_.clear();
  }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  [[nodiscard]] std::size_t hash(const std::string& word) const { return std::hash<std::string>{}(word) % hashes_; }

  std::size_t hashes_;
  std::vector<std::string> words_;
  IndexTable table_;
};

TEST(IndexTable, FindsWhatItHasWhileItGrowsAndHashesCollide) {
  for (const std::size_t hashes : {std::size_t{1}, std::size_t{7}, ~std::size_t{0}}) {
    Words words(hashes);
    for (int round = 0; round < 2; ++round) {
      for (std::uint32_t i = 0; i < 300; ++i) ASSERT_EQ(words.number_of(std::to_string(i)), i) << hashes;
    }
    EXPECT_EQ(words.size(), 300U);
    words.clear();
    EXPECT_EQ(words.number_of("299"), 0U);
  }
}

}  // namespace
}  // namespace memstat
