// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/slab.h"

#include "core/postmortem/container/dump_file.h"
#include "core/postmortem/linux/files.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::postmortem {
namespace {

/// The caches of a dump whose file is already gone.
Result<SlabWalk> walk(const FakeLinuxDump& dump) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), dump.elf());
  auto memory = open_elf_core(*BlockFile::open(directory.file("dump")));
  if (!memory) return std::move(memory.error());
  auto image = KernelImage::open(*std::move(memory));
  if (!image) return std::move(image.error());
  return walk_slab_caches(**image, read_linux_machine(**image));
}

/// "dentry 200 165 / 5" : objects, those not free in partial lists, slabs, free on each CPU.
std::string summary(const SlabCache& cache) {
  std::uint64_t objects = 0, free = 0, slabs = 0, barn = 0;
  for (const SlabCache::Node& node : cache.nodes) {
    objects += node.objects;
    free += node.partial_free;
    slabs += node.slabs;
    barn += node.barn_free;
  }
  std::string text = cache.name + ": " + std::to_string(objects) + " objects, " + std::to_string(free) + " free, " +
                     std::to_string(slabs) + " slabs, barn " + std::to_string(barn) + ", CPUs";
  for (const SlabCache::Cpu& cpu : cache.cpus) text += " " + std::to_string(cpu.slabs) + ":" + std::to_string(cpu.free);
  return text;
}

constexpr const char* kDentry = "dentry: 200 objects, 35 free, 10 slabs, barn 0, CPUs 0:0 0:0";
constexpr const char* kKmalloc = "kmalloc-64: 256 objects, 0 free, 4 slabs, barn 0, CPUs 3:77 1:2";

TEST(LinuxSlab, OfEveryKindOfKernelIsTheSame) {
  for (const SlabKernel slabs : {SlabKernel::kPages, SlabKernel::kSlabs}) {
    for (const SymbolAddresses addresses :
         {SymbolAddresses::kPerCpuAbsolute, SymbolAddresses::kRelative, SymbolAddresses::kPlace}) {
      for (const int machine : {0, 1, 2}) {
        FakeKernelOptions options = small_kernel(slabs);
        options.addresses = addresses;
        options.has_five_levels = machine == 1;
        if (machine == 2) options.machine = Machine::kArm64;
        const auto found = walk(FakeLinuxDump(options));
        ASSERT_TRUE(found) << to_string(found.error());
        EXPECT_EQ(found->damage, "");
        ASSERT_EQ(found->caches.size(), 3U);
        EXPECT_EQ(summary(found->caches[0]), kDentry);
        EXPECT_EQ(summary(found->caches[1]), kKmalloc);
        EXPECT_EQ(found->caches[1].object_size, 64U);
        EXPECT_EQ(found->caches[2].order, 3U);
        EXPECT_EQ(found->caches[2].objects_per_slab, 28U);
        for (const SlabCache& cache : found->caches) EXPECT_EQ(cache.damage, "") << cache.name;
      }
    }
  }
}

TEST(LinuxSlab, OfAKernelWithSheavesCountsWhatTheyHold) {
  const auto found = walk(FakeLinuxDump(small_kernel(SlabKernel::kSheaves)));
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(summary(found->caches[0]), "dentry: 200 objects, 35 free, 10 slabs, barn 96, CPUs 0:42 0:1");
  EXPECT_EQ(found->caches[0].damage, "");
}

TEST(LinuxSlab, KnowsNodesAndCpusWithHoles) {
  FakeKernelOptions options = small_kernel();
  options.nodes = 3;
  options.cpus = {1, 4};
  options.caches[0].nodes = {
      {}, {.slabs = 2, .objects = 40, .partial = {{20, 10}}}, {.slabs = 1, .objects = 20, .partial = {}}};
  const auto found = walk(FakeLinuxDump(options));
  ASSERT_TRUE(found) << to_string(found.error());
  const SlabCache& dentry = found->caches[0];
  ASSERT_EQ(dentry.nodes.size(), 3U);
  EXPECT_EQ(dentry.nodes[1].partial_free, 10U);
  EXPECT_EQ(dentry.nodes[2].objects, 20U);
  EXPECT_EQ(found->caches[1].nodes.size(), 1U) << "it has one node's pointer only";
  ASSERT_EQ(dentry.cpus.size(), 2U);
  EXPECT_EQ(dentry.cpus[1].number, 4U);
}

TEST(LinuxSlab, DamageIsReportedForItsCache) {
  const FakeLinuxDump whole(small_kernel());
  const std::uint64_t second = whole.address("slab dentry 0 1");
  const std::uint64_t list = 8;  // of slab_list in a slab
  struct Damage {
    std::uint64_t address;
    std::uint64_t value;
    const char* says;
  };
  const std::map<std::string, Damage> damages = {
      {"poisoned", {second + list, 0xdead000000000100, "2 of 3 were read: virtual address 0xdead0000000000"}},
      {"circle", {second + list, whole.address("slab dentry 0 0") + list, "does not point back"}},
      {"short circle", {second + list, second + list, "does not point back"}},
      {"unmapped", {second + list, 0xffffc00000000008, "is not mapped"}},
      {"no pointer", {second + list, 0x4000, "is not a kernel pointer"}},
      {"another cache's", {second + 24, whole.address("cache empty"), "another cache's"}},
      {"more in use than there are", {second + 40, 0x0014ffff, "more objects in use"}},
      {"fewer", {whole.address("node dentry 0") + 8, 30, "do not agree"}},
      {"more free", {whole.address("node dentry 0") + 40, 3, "more free objects than objects"}},
      {"node", {whole.address("cache dentry") + 224, 0x41414141, "node 0: virtual address 0x41414141"}},
      {"order", {whole.address("cache dentry") + 56, 0x00ff0014, "2^255 pages"}},
      {"name", {whole.address("cache dentry") + 96, 0x1000, "its name cannot be read"}},
      {"CPU", {whole.address("cache dentry") + 0, 0x7fff000000000000, "of CPU 0"}},
  };
  for (const auto& [name, damage] : damages) {
    FakeLinuxDump dump(small_kernel());
    dump.poke(damage.address, damage.value);
    const auto found = walk(dump);
    ASSERT_TRUE(found) << name << to_string(found.error());
    ASSERT_EQ(found->caches.size(), 3U) << name;
    EXPECT_THAT(found->caches[0].damage, HasSubstr(damage.says)) << name;
    EXPECT_EQ(summary(found->caches[1]), kKmalloc) << name;
    EXPECT_EQ(found->caches[1].damage, "") << name;
    EXPECT_THAT(slabinfo_text(found->caches), HasSubstr("kmalloc-64           256    256")) << name;
  }
}

TEST(LinuxSlab, OfATornListOfCachesAreThoseBeforeTheTear) {
  const std::uint64_t next = 112;  // of list in a cache
  for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0xdead000000000100}}) {
    FakeLinuxDump dump(small_kernel());
    dump.poke(dump.address("cache kmalloc-64") + next, value);
    const auto found = walk(dump);
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_EQ(found->caches.size(), 2U);
    EXPECT_THAT(found->damage, HasSubstr("the cache after kmalloc-64"));
  }
  FakeLinuxDump circle(small_kernel());
  circle.poke(circle.address("cache empty") + next, circle.address("cache kmalloc-64") + next);
  const auto found = walk(circle);
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->caches.size(), 3U);
  EXPECT_THAT(found->damage, HasSubstr("torn"));
}

TEST(LinuxSlab, WithoutTypesOrSymbolsNamesTheMissing) {
  for (const char* missing : {"kallsyms_names", "kallsyms_offsets", "swapper_pg_dir", "phys_base", "_stext"}) {
    FakeKernelOptions options = small_kernel();
    options.without = missing;
    const auto found = walk(FakeLinuxDump(options));
    ASSERT_TRUE(fails(found, ErrorCode::kKvmNoSymbol)) << missing;
    EXPECT_THAT(to_string(found.error()), HasSubstr(missing));
  }
}

}  // namespace
}  // namespace memstat::postmortem
