// SPDX-License-Identifier: BSD-2-Clause
// Control groups by their numbers, in directories with the kernel's layout.
#include "core/events/memuse/control_groups.h"

#include <sys/stat.h>

#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat::events {
namespace {

class ControlGroups : public testing::Test {
 protected:
  void make(const std::string& path) { std::filesystem::create_directories(mounts() + path); }
  void write(const std::string& path, const std::string& text) { std::ofstream(mounts() + path) << text; }
  std::string mounts() { return directory_.path(); }
  std::uint64_t inode(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(::stat((mounts() + path).c_str(), &facts), 0);
    return facts.st_ino;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(ControlGroups, OfVersion1AreBelowTheMemoryController) {
  make("/memory/docker/4f9a");
  make("/cpu/docker/4f9a");
  write("/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(control_group_root(mounts()), mounts() + "/memory");
  const std::uint64_t key = inode("/memory/docker/4f9a");
  for (const std::string& name :
       {std::string("/docker/4f9a"), std::string("docker/4f9a"), mounts() + "/memory/docker/4f9a"}) {
    EXPECT_EQ(*control_group_key(name, mounts()), key) << name;
  }
  const auto found = control_group_paths({1, key, inode("/memory")}, mounts());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, "/");
  EXPECT_EQ(found[1].path, "/docker/4f9a");
  EXPECT_EQ(found[1].key, key);
}

TEST_F(ControlGroups, OfVersion2AreWhereTheControllerIs) {
  make("/system.slice");
  make("/unified/system.slice");
  write("/cgroup.controllers", "cpuset cpu io pids\n");
  write("/unified/cgroup.controllers", "cpu io memory pids\n");
  EXPECT_EQ(control_group_root(mounts()), mounts() + "/unified");
  write("/cgroup.controllers", "cpuset cpu io memory pids\n");
  EXPECT_EQ(control_group_root(mounts()), mounts());
  EXPECT_EQ(*control_group_key("/system.slice", mounts()), inode("/system.slice"));
  EXPECT_EQ(*control_group_key(mounts(), mounts()), inode("/"));
}

TEST_F(ControlGroups, ThatAreNotThereAreAnErrorWithTheirPath) {
  const auto none = control_group_key("/a", mounts());
  ASSERT_FALSE(none);
  EXPECT_THAT(to_string(none.error()), HasSubstr("no hierarchy"));
  EXPECT_THAT(control_group_paths({1}, mounts()), IsEmpty());
  make("/memory");
  write("/memory/memory.usage_in_bytes", "1\n");
  const auto missing = control_group_key("/docker/4f9b", mounts());
  ASSERT_FALSE(missing);
  EXPECT_THAT(to_string(missing.error()), HasSubstr("/memory/docker/4f9b"));
  EXPECT_FALSE(control_group_key("/memory.usage_in_bytes", mounts())) << "a file is not a group";
}

}  // namespace
}  // namespace memstat::events
