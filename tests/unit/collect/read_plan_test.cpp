// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/read_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace memstat {
namespace {

std::string words(Buffer& plan, std::size_t begin) {
  std::string words;
  for (FilePlanWalk walk(plan, begin); walk.next();) {
    words += std::to_string(walk.kind()) + (walk.is_gone() ? "-" : "+") + std::string(walk.text()) + ";";
  }
  return words;
}

TEST(FilePlan, IsWalkedInItsOrderBehindWhatIsTheSourcesOwn) {
  Buffer plan("own");
  append_to_plan(plan, 0, "dentry");
  append_to_plan(plan, 7, "/sys/kernel/slab/dentry/slabs");
  append_to_plan(plan, 255, "");
  EXPECT_EQ(words(plan, 3), "0+dentry;7+/sys/kernel/slab/dentry/slabs;255+;");
}

TEST(FilePlan, KeepsWhichFilesAreGone) {
  Buffer plan;
  for (const char* path : {"a", "b", "c"}) append_to_plan(plan, 1, path);
  for (FilePlanWalk walk(plan, 0); walk.next();) walk.set_gone(walk.text() == "b");
  EXPECT_EQ(words(plan, 0), "1+a;1-b;1+c;");
  for (FilePlanWalk walk(plan, 0); walk.next();) walk.set_gone(false);
  EXPECT_EQ(words(plan, 0), "1+a;1+b;1+c;");
}

TEST(FilePlan, EndsWhereARecordIsCutShort) {
  Buffer plan;
  append_to_plan(plan, 1, "first");
  const std::size_t first = plan.size();
  append_to_plan(plan, 2, "second");
  for (std::size_t size = plan.size() - 1; size >= first; --size) {
    plan.resize(size);
    EXPECT_EQ(words(plan, 0), "1+first;") << size;
  }
  EXPECT_EQ(words(plan, 1000), "") << "a plan that is not there";
}

}  // namespace
}  // namespace memstat
