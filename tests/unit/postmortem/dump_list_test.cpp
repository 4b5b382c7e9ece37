// SPDX-License-Identifier: BSD-2-Clause
// A crash dump through the C API, as memstatctl reads it.
#include "core/include/memstat.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using List = std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)>;

TEST(DumpList, HasTheTypesOfTheKernelAndReportsDamage) {
  const TemporaryDirectory directory;
  FakeLinuxDump dump(small_kernel());
  write_text(directory.file("whole"), dump.elf());
  dump.poke(dump.address("slab dentry 0 1") + 8, 0);
  write_text(directory.file("torn"), dump.elf());

  const List list(memstat_mtl_alloc(), memstat_mtl_free);
  ASSERT_EQ(memstat_mtl_set_capture(list.get(), directory.file("whole").c_str()), 0) << memstat_mtl_get_message(list.get());
  ASSERT_EQ(memstat_linux_all(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
  EXPECT_STREQ(memstat_mtl_get_notes(list.get()), "");
  const memory_type* const dentry = memstat_mtl_find(list.get(), ALLOCATOR_ANY, "dentry");
  ASSERT_NE(dentry, nullptr);
  EXPECT_EQ(memstat_get_count(dentry), 165U);
  EXPECT_EQ(memstat_get_free(dentry), 35U);
  EXPECT_EQ(memstat_get_bytes(dentry), 165U * 200);
  EXPECT_EQ(memstat_get_held_bytes(dentry), 10U * 4096);
  EXPECT_EQ(memstat_get_size(dentry), 192U);
  EXPECT_EQ(memstat_get_rsize(dentry), 200U);
  EXPECT_EQ(memstat_get_pernode_slots(dentry, 0), 200U);

  ASSERT_EQ(memstat_mtl_set_capture(list.get(), directory.file("torn").c_str()), 0) << memstat_mtl_get_message(list.get());
  EXPECT_THAT(memstat_mtl_get_notes(list.get()),
              HasSubstr("slab cache dentry: the partial slabs of node 0: 2 of 3 were read"));
  ASSERT_EQ(memstat_linux_all(list.get(), 0), 0) << memstat_mtl_get_message(list.get());
  EXPECT_EQ(memstat_get_count(memstat_mtl_find(list.get(), ALLOCATOR_ANY, "kmalloc-64")), 256U);
  EXPECT_EQ(memstat_mtl_set_capture(list.get(), "live"), 0);
  EXPECT_STREQ(memstat_mtl_get_notes(list.get()), "");
}

}  // namespace
}  // namespace memstat
