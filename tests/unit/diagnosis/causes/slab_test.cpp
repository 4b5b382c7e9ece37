// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::slab {
namespace {

constexpr double kGiB = EvidenceOfMachine::kGiB;

TEST(Slab, IdleObjectsAreWasteful) {
  EvidenceOfMachine machine;
  TypeEvidence& cache = machine.type(Allocator::kSlab, "ext4_inode_cache");
  cache.held_bytes = 2 * kGiB;
  cache.bytes = 1.8 * kGiB;
  EXPECT_EQ(machine.words(), "");
  cache.bytes = 0.5 * kGiB;
  EXPECT_EQ(machine.words(), "wasteful slab_fragmented");
}

TEST(Slab, NearlyEmptySlabsAreFoundWhenTheyAreFew) {
  EvidenceOfMachine machine;
  TypeEvidence& cache = machine.type(Allocator::kSlab, "filp");
  cache.held_bytes = 0.3 * kGiB;
  cache.bytes = 0.12 * kGiB;
  EXPECT_EQ(machine.words(), "");
  cache.bytes = 0.02 * kGiB;
  EXPECT_EQ(machine.words(), "notable slab_fragmented");
}

TEST(Slab, ZonesOfFreeBsdLikewise) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  TypeEvidence& zone = machine.type(Allocator::kUma, "abd_chunk");
  zone.held_bytes = 2 * kGiB;
  zone.bytes = 0.5 * kGiB;
  EXPECT_EQ(machine.words(), "wasteful zone_idle");
}

TEST(Slab, MemoryInNoCache) {
  EvidenceOfMachine machine;
  machine.part("slab_reclaimable", kGiB);
  machine.part("slab_unreclaimable", kGiB);
  machine.evidence.slab_held_bytes = 1.95 * kGiB;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.slab_held_bytes = kGiB;
  EXPECT_EQ(machine.words(), "notable kmalloc_large");
}

TEST(Slab, ReclaimableMemoryInNoCacheIsNotOfKmalloc) {
  EvidenceOfMachine machine;
  machine.part("slab_reclaimable", 4 * kGiB);
  machine.part("slab_unreclaimable", 0.1 * kGiB);
  machine.evidence.slab_held_bytes = kGiB;
  EXPECT_EQ(machine.words(), "") << "slabinfo is not complete";
  machine.evidence.metrics.back().value = kGiB;
  ASSERT_EQ(machine.words(), "notable kmalloc_large");
  EXPECT_EQ(machine.find().at(0).bytes, kGiB);
  machine.evidence.page_bytes = 65536;
  EXPECT_EQ(machine.find().at(0).headline, "Slab memory outside of caches: 1 GiB of kmalloc above 128 KiB");
}

TEST(Slab, ACacheThatStaysWhileAllocationsWaitIsKept) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kSlab, "ext4_inode_cache").bytes = 8 * kGiB;
  machine.part("slab_reclaimable", 10 * kGiB);
  EXPECT_EQ(machine.words(), "") << "a cache";
  machine.moved("memstat_allocation_stalls_total", 900, {"normal"});
  ASSERT_EQ(machine.words(), "notable slab_large");
  EXPECT_EQ(machine.find()[0].facts[0].text, "0 objects that reclaim should free, but 900 allocations had to wait");
  machine.evidence.metrics[0].value = 7 * kGiB;
  EXPECT_EQ(machine.words(), "") << "the rest of memory may be why they wait";
}

TEST(Slab, CachesOfCachesAreThoseOfGroups) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kSlab, "kmem_cache").bytes = 2 * kGiB;
  ASSERT_EQ(machine.words(), "notable slab_large");
  EXPECT_NE(machine.find()[0].effect.find("control groups"), std::string::npos);
  EXPECT_EQ(machine.find()[0].next[0], "cat /proc/cgroups");
}

TEST(Slab, ALeakInSeveralKmallocCachesIsOne) {
  EvidenceOfMachine machine;
  for (const char* name : {"kmalloc-1024", "kmalloc-256", "kmalloc-192", "kmalloc-64"}) {
    TypeEvidence& cache = machine.type(Allocator::kSlab, name);
    cache.objects = 300000;
    cache.bytes = 0.3 * kGiB;
  }
  machine.evidence.types[0].bytes = 0.31 * kGiB;
  machine.evidence.types[1].objects = 602000;  // two of each event
  machine.evidence.types[3].objects = 400000;
  ASSERT_EQ(machine.words(), "notable slab_large");
  const Finding finding = machine.find().at(0);
  EXPECT_EQ(finding.about.size(), 3U);
  EXPECT_TRUE(finding.headline.starts_with("Slab cache kmalloc-1024 and 2 others with as many objects")) << finding.headline;
  machine.evidence.types[2].objects = 330000;
  EXPECT_EQ(machine.words(), "") << "two may agree by chance";
}

TEST(Slab, ACallSiteOfAModuleWithMuchMemory) {
  EvidenceOfMachine machine;
  TypeEvidence& site = machine.type(Allocator::kCallSite, "btree_bounce_alloc [bcachefs]");
  site.bytes = 5 * kGiB;
  ASSERT_EQ(machine.words(), "notable kmalloc_large");
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "btree_bounce_alloc [bcachefs]");
  machine.evidence.types[0].name = "folio_alloc";
  EXPECT_EQ(machine.words(), "") << "of the kernel itself, such as pages of files";
}

TEST(Slab, ACallSiteWithAQuarterOfMemoryIsWhyAllocationsFail) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kCallSite, "btree_alloc [fs]").bytes = 3 * kGiB;
  machine.moved("memstat_kernel_log_events_total", 2, {"page_allocation_failure"});
  EXPECT_EQ(machine.words(), "now page_allocation_failed, notable kmalloc_large");
  machine.evidence.types[0].bytes = 5 * kGiB;
  ASSERT_EQ(machine.words(), "now kmalloc_large");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
  machine.evidence.metrics[0].change.still = 250;
  EXPECT_EQ(machine.find().at(0).severity, Severity::kNotable) << "they do not fail any more";
}

TEST(Slab, MemoryInNoCacheThatGrowsIsUsedUpSoon) {
  EvidenceOfMachine machine;
  machine.part("slab_reclaimable", kGiB);
  machine.part("slab_unreclaimable", kGiB);
  machine.evidence.slab_held_bytes = 1.05 * kGiB;
  GrowthEvidence& growth = machine.growing("account", "slab_unreclaimable", kGiB, 0.9 * kGiB, 300);
  growth.memory_seconds = 600;
  EXPECT_EQ(machine.words(), "soon kmalloc_large");
  growth.gain = 0.99 * kGiB;
  EXPECT_EQ(machine.words(), "soon memory_growth") << "other memory may have grown";
  machine.evidence.slab_held_bytes = 1.6 * kGiB;
  machine.evidence.growing[0].gain = 0.3 * kGiB;
  EXPECT_EQ(machine.words(), "soon kmalloc_large") << "less than 3 %, but it grows";
}

/// The cache and the table of names: `negative` of `all` entries are of missing files, `objects` are in memory.
EvidenceOfMachine machine_of_names(double negative, double all, double objects) {
  EvidenceOfMachine machine;
  machine.metric("memstat_negative_dentries", negative);
  TypeEvidence& cache = machine.type(Allocator::kSlab, "dentry");
  cache.objects = objects;
  cache.object_bytes = 192;
  TypeEvidence& table = machine.type(Allocator::kTable, "dentries");
  table.objects = all / 10;
  table.free_objects = all - all / 10;
  return machine;
}

TEST(Slab, NamesOfMissingFiles) {
  EXPECT_EQ(machine_of_names(4e6, 5e6, 5e6).words(), "notable negative_dentries");
  EXPECT_EQ(machine_of_names(1e6, 5e6, 5e6).words(), "") << "most are of files that exist";
  EXPECT_EQ(machine_of_names(4e4, 5e4, 5e4).words(), "") << "little";
}

TEST(Slab, NamesOfMissingFilesAreOfTheGroupThatLooksForThem) {
  EvidenceOfMachine machine = machine_of_names(4e6, 5e6, 5e6);
  machine.metric("memstat_memcg_reclaimable_kernel_bytes", 8e8, {"/build.slice"});
  machine.metric("memstat_memcg_reclaimable_kernel_bytes", 1e8, {"/web.service"});
  EXPECT_EQ(machine.find().at(0).who.at(0).name, "/build.slice");
}

TEST(Slab, ObjectsThatWaitForRcu) {
  EXPECT_EQ(machine_of_names(0, 1e6, 2e6).words(), "notable rcu_backlog");
  EXPECT_EQ(machine_of_names(0, 1e6, 1.1e6).words(), "");
}

TEST(Slab, IndexNodesThatThePageCacheDoesNotExplain) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kSlab, "radix_tree_node").held_bytes = 0.6 * kGiB;
  MetricEvidence& cache = machine.part("page_cache", 10 * kGiB);
  EXPECT_EQ(machine.words(), "");
  cache.value = kGiB;
  EXPECT_EQ(machine.words(), "notable shadow_nodes");
}

TEST(Slab, ACacheThatIsATwentiethOfMemoryAndNeverShrinks) {
  EvidenceOfMachine machine;
  TypeEvidence& cache = machine.type(Allocator::kSlab, "session");
  cache.bytes = cache.held_bytes = 0.7 * kGiB;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.types[0].bytes = machine.evidence.types[0].held_bytes = 0.9 * kGiB;
  EXPECT_EQ(machine.words(), "notable slab_large");
  machine.evidence.types[0].name = "dentry";
  EXPECT_EQ(machine.words(), "") << "a cache";
}

TEST(Slab, FiveMillionNamesOfMissingFilesAreManyOnAnyMachine) {
  EvidenceOfMachine machine;
  machine.evidence.total_bytes = 1024 * kGiB;
  machine.type(Allocator::kSlab, "dentry").object_bytes = 192;
  machine.type(Allocator::kTable, "dentries").objects = 6e6;
  machine.metric("memstat_negative_dentries", 4e6);
  EXPECT_EQ(machine.words(), "");
  machine.evidence.metrics[0].value = 5.5e6;
  EXPECT_EQ(machine.words(), "notable negative_dentries");
}

TEST(Slab, ACacheThatGainedMuchIsLargeBeforeItIsATwentieth) {
  EvidenceOfMachine machine;
  TypeEvidence& cache = machine.type(Allocator::kSlab, "kmalloc-512");
  cache.bytes = 0.5 * kGiB;
  cache.bytes_change.recent = 0.1 * kGiB;
  EXPECT_EQ(machine.words(), "");
  cache.bytes_change.recent = 0.4 * kGiB;
  EXPECT_EQ(machine.words(), "notable slab_large");
}

TEST(Slab, TheSumOfManyCachesIsLargeWhereMemoryIsShort) {
  EvidenceOfMachine machine;
  const double total = machine.evidence.total_bytes;
  machine.part("slab_unreclaimable", 0.6 * total);
  machine.type(Allocator::kSlab, "kernfs_node_cache").bytes = 0.04 * total;
  machine.evidence.available_bytes = 0.2 * total;
  EXPECT_EQ(machine.words(), "") << "there is room";
  machine.evidence.available_bytes = 0.04 * total;
  ASSERT_EQ(machine.words(), "wasteful slab_large");
  const Finding found = machine.find()[0];
  EXPECT_TRUE(found.headline.starts_with("Slab that cannot be reclaimed takes ")) << found.headline;
  EXPECT_EQ(found.explains.size(), 1U) << "that memory is low";
  EXPECT_NE(found.facts.at(1).text.find("kernfs_node_cache"), std::string::npos);
  machine.evidence.types[0].bytes = 0.4 * total;
  EXPECT_NE(machine.words().find("notable slab_large"), std::string::npos) << "one cache has most of it";
}

}  // namespace
}  // namespace memstat::causes::slab
