// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/record_pack.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

namespace memstat {
namespace {

using Kind = PollRecord::Kind;

std::vector<std::string> names_in(const RecordPack& pack) {
  std::vector<std::string> names;
  pack.for_each([&](const RecordPack::Record& record) {
    names.emplace_back(record.name);
    return true;
  });
  return names;
}

TEST(RecordPack, HasWhatWasAddedUntilItIsRemoved) {
  RecordPack pack;
  pack.add({.kind = Kind::kFile, .system_errno = 0, .name = "/a", .bytes = std::string_view("1\0002", 3)});
  pack.add({.kind = Kind::kListing, .system_errno = 0, .name = "/a", .bytes = "b\n"});
  pack.add({.kind = Kind::kFile, .system_errno = EACCES, .name = "/c", .bytes = {}});
  const auto file = pack.find(Kind::kFile, "/a");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes, std::string_view("1\0002", 3));
  ASSERT_TRUE(pack.find(Kind::kListing, "/a"));
  EXPECT_EQ(pack.find(Kind::kFile, "/c")->system_errno, EACCES);
  EXPECT_FALSE(pack.find(Kind::kFile, "/"));
  const std::size_t before = pack.size();
  pack.remove(*file);
  EXPECT_EQ(before - pack.size(), RecordPack::size_of(2, 3));
  EXPECT_FALSE(pack.find(Kind::kFile, "/a"));
  EXPECT_EQ(names_in(pack), (std::vector<std::string>{"/a", "/c"}));
  pack.remove(*pack.find(Kind::kFile, "/c"));
  pack.remove(*pack.find(Kind::kListing, "/a"));
  EXPECT_EQ(pack.size(), 0U);
}

}  // namespace
}  // namespace memstat
