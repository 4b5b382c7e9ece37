// SPDX-License-Identifier: BSD-2-Clause
// The objects of slab caches in dumps.
#include "core/postmortem/linux/slab.h"

#include "core/postmortem/dump_objects.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kAllObjects = 1000;

/// A small kernel with one more cache, whose objects have owners.
FakeKernelOptions kernel_with_owners(SlabKernel slabs) {
  FakeKernelOptions options = small_kernel(slabs);
  options.caches.push_back(tracked_cache());
  return options;
}

Result<DumpObjects> open_dump_bytes(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), bytes);
  return open_dump_objects(directory.file("dump"));
}

/// The objects of each cache, by its name; a note of the dump fails.
std::map<std::string, SlabObjects> all_objects(const FakeLinuxDump& dump, std::uint64_t most = kAllObjects) {
  std::map<std::string, SlabObjects> found;
  const auto opened = open_dump_bytes(dump.elf());
  EXPECT_TRUE(opened);
  if (!opened) return found;
  for (std::size_t i = 0; i < opened->types.size(); ++i) {
    auto objects = opened->objects_of(i, most);
    EXPECT_TRUE(objects) << to_string(objects.error());
    if (objects) found.emplace(opened->types[i].name, *std::move(objects));
  }
  return found;
}

TEST(LinuxObjects, AreThoseThatAreOnNoListOfFreeOnes) {
  for (const SlabKernel slabs : {SlabKernel::kPages, SlabKernel::kSlabs, SlabKernel::kSheaves}) {
    for (const int machine : {0, 1, 2}) {
      FakeKernelOptions options = small_kernel(slabs);
      options.has_five_levels = machine == 1;
      if (machine == 2) options.machine = Machine::kArm64;
      const auto found = all_objects(FakeLinuxDump(options));
      const bool has_sheaves = slabs == SlabKernel::kSheaves;
      ASSERT_EQ(found.size(), 3U);
      EXPECT_EQ(found.at("dentry").count, has_sheaves ? 26U : 165U);
      EXPECT_EQ(found.at("kmalloc-64").count, has_sheaves ? 256U : 177U);
      EXPECT_EQ(found.at("empty").count, 0U);
      for (const auto& [name, objects] : found) {
        EXPECT_THAT(objects.notes, IsEmpty()) << name;
        EXPECT_EQ(objects.objects.size(), objects.count) << name;
        EXPECT_FALSE(objects.has_origins);
        for (const SlabObject& object : objects.objects) {
          ASSERT_EQ(object.words.size(), 4U);
          EXPECT_EQ(object.words[1], object.address) << "as the kernel itself sees it";
          EXPECT_FALSE(object.origin);
        }
      }
    }
  }
}

TEST(LinuxObjects, HaveOwnersWhereTheKernelKeepsThem) {
  for (const SlabKernel slabs : {SlabKernel::kPages, SlabKernel::kSlabs, SlabKernel::kSheaves}) {
    const auto found = all_objects(FakeLinuxDump(kernel_with_owners(slabs)));
    const SlabObjects& tracked = found.at("tracked");
    EXPECT_TRUE(tracked.has_origins);
    EXPECT_EQ(tracked.count, 11U);
    EXPECT_THAT(tracked.notes, IsEmpty());
    for (const SlabObject& object : tracked.objects) {
      ASSERT_TRUE(object.origin);
      EXPECT_EQ(object.origin->caller, "alloc_things+0x8/0x800");
      EXPECT_THAT(object.origin->stack, ElementsAre("alloc_things+0x8/0x800", "alloc_things+0x10/0x800"));
      EXPECT_EQ(object.origin->pid, 100 + object.words[0]);
      EXPECT_EQ(object.origin->cpu, object.words[0] % 2);
      EXPECT_EQ(object.origin->age_ns, object.words[0] * 60'000'000'000);
    }
    EXPECT_FALSE(found.at("dentry").has_origins);
  }
}

TEST(LinuxObjects, WithoutTheStackHaveTheCaller) {
  FakeLinuxDump dump(kernel_with_owners(SlabKernel::kSlabs));
  dump.poke(dump.address("stack record") + 8, 0x777);
  dump.poke(dump.address("multiplier of jiffies"), 7);
  const auto found = all_objects(dump);
  for (const SlabObject& object : found.at("tracked").objects) {
    ASSERT_TRUE(object.origin);
    EXPECT_EQ(object.origin->caller, "alloc_things+0x8/0x800");
    EXPECT_THAT(object.origin->stack, IsEmpty()) << "the record is another's";
    EXPECT_FALSE(object.origin->age_ns) << "no jiffy is that short";
  }
}

TEST(LinuxObjects, DamageIsANoteAndTheRest) {
  const FakeLinuxDump whole(small_kernel());
  const std::uint64_t slab = whole.address("slab dentry 0 1");  // 19 of 20 in use
  const std::uint64_t free = 32;                                // of freelist in a slab
  const std::uint64_t counters = 40;
  struct Damage {
    std::uint64_t address;
    std::uint64_t value;
    const char* says;
  };
  const std::map<std::string, Damage> damages = {
      {"poisoned",
       {slab + free, 0xdead000000000100, "0 of 1 free objects are on its list: a list of free objects leads to"}},
      {"no object", {slab + free, whole.address("cache dentry"), "0 of 1 free objects are on its list"}},
      {"no pointer", {slab + free, 0x41, "leads to 0x41"}},
      {"lost", {slab + free, 0, "0 of 1 free objects are on its list"}},
      {"too many", {slab + counters, 21U << 16U | 21U, "has 21 objects, which is impossible"}},
      {"another cache's", {slab + 24, whole.address("cache empty"), "has 20 objects, which is impossible"}},
      {"no slab", {slab, 0, "146 allocated objects were found, 165 are in use by the counters"}},
      {"pages", {whole.address("mem_section"), 0, "0 allocated objects were found, 165 are in use"}},
      {"root", {whole.address("mem_section"), 0x5000, "the table of all pages: virtual address 0x5000"}},
  };
  for (const auto& [name, damage] : damages) {
    FakeLinuxDump dump(small_kernel());
    dump.poke(damage.address, damage.value);
    const auto found = all_objects(dump);
    ASSERT_EQ(found.size(), 3U) << name;
    std::string notes;
    for (const auto& [cache, objects] : found) {
      for (const std::string& note : objects.notes) notes += note + "\n";
    }
    EXPECT_THAT(notes, HasSubstr(damage.says)) << name;
    const bool is_whole = name != "pages" && name != "root";
    EXPECT_EQ(found.at("kmalloc-64").count, is_whole ? 177U : 0U) << name;
  }
}

TEST(LinuxObjects, OfListsThatDoNotFitTheirSlabsHaveANote) {
  FakeLinuxDump dump(small_kernel());
  const std::uint64_t slab = dump.address("CPU slab kmalloc-64 0 2");  // none of 64 is in use
  dump.poke(slab + 40, std::uint64_t{64} << 16U | 2U);
  const auto found = all_objects(dump);
  EXPECT_THAT(found.at("kmalloc-64").notes[0], HasSubstr("64 of 62 free objects are on its list"));

  FakeLinuxDump sheaves(small_kernel(SlabKernel::kSheaves));
  const std::uint64_t barn = sheaves.address("barn dentry") + 16;
  sheaves.poke(barn, barn - 16);
  EXPECT_THAT(all_objects(sheaves).at("dentry").notes, ::testing::Not(IsEmpty()));
}

TEST(LinuxObjects, LeavesOutWhatLooksLikeASlabOfOneObject) {
  FakeLinuxDump dump(small_kernel());
  const std::uint64_t slab = dump.address("full slab dentry 0");  // as KFENCE leaves one
  dump.poke(slab + 40, std::uint64_t{1} << 16U | 1U);
  const auto found = all_objects(dump);
  EXPECT_EQ(found.at("dentry").count, 145U);
  EXPECT_THAT(found.at("dentry").notes, ElementsAre("145 allocated objects were found, 165 are in use by the counters of "
                                                    "the cache"));
}

TEST(LinuxObjects, OfAKernelThatDoesNotSayWhereItsPagesAreIsAnError) {
  for (const char* missing : {"SYMBOL(mem_section)", "LENGTH(mem_section)", "SECTION_SIZE_BITS"}) {
    FakeKernelOptions options = small_kernel();
    options.without = missing;
    const auto opened = open_dump_bytes(FakeLinuxDump(options).elf());
    ASSERT_TRUE(opened) << missing;
    const auto objects = opened->objects_of(0, 1);
    ASSERT_TRUE(fails(objects, ErrorCode::kVersion)) << missing;
    EXPECT_THAT(to_string(objects.error()), HasSubstr("VMCOREINFO lacks"));
  }
}

}  // namespace
}  // namespace memstat::postmortem
