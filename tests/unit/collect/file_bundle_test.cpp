// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/file_bundle.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

std::map<std::string, std::string> records_of(std::string_view bundle, bool& is_cut) {
  std::map<std::string, std::string> records;
  FileBundleReader reader(bundle);
  std::string_view name;
  std::string_view content;
  while (reader.next(name, content)) records.emplace(name, content);
  is_cut = reader.is_cut();
  return records;
}

TEST(FileBundle, GivesBackWhatWasPutIn) {
  Buffer bundle;
  Buffer scratch;
  FileBundleWriter writer(bundle, scratch);
  ASSERT_TRUE(writer.add("a", "one"));
  ASSERT_TRUE(writer.add("", ""));
  ASSERT_TRUE(writer.add("b", std::string(100000, 'x')));
  bool is_cut = true;
  const auto records = records_of(bundle.view(), is_cut);
  EXPECT_FALSE(is_cut);
  EXPECT_EQ(records, (std::map<std::string, std::string>{{"", ""}, {"a", "one"}, {"b", std::string(100000, 'x')}}));
}

TEST(FileBundle, CutAnywhereEndsTheWalkAndReportsIt) {
  Buffer bundle;
  Buffer scratch;
  FileBundleWriter writer(bundle, scratch);
  ASSERT_TRUE(writer.add("first", "1"));
  const std::size_t first = bundle.size();
  ASSERT_TRUE(writer.add("second", "2"));
  for (std::size_t size = 0; size <= bundle.size(); ++size) {
    const std::string cut(bundle.view().substr(0, size));
    bool is_cut = false;
    const auto records = records_of(cut, is_cut);
    EXPECT_EQ(is_cut, size != 0 && size != first && size != bundle.size()) << size;
    EXPECT_EQ(records.size(), size < first ? 0U : size < bundle.size() ? 1U : 2U) << size;
  }
}

}  // namespace
}  // namespace memstat
