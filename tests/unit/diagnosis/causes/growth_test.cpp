// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/evidence.h"

namespace memstat::causes::growth {
namespace {

constexpr double kMiB = EvidenceOfMachine::kMiB;
constexpr double kGiB = EvidenceOfMachine::kGiB;

struct Grower {
  const char* cause;
  const char* allocator;
  const char* name;
};
constexpr Grower kGrowers[] = {{"network_namespace_growth", "slab", "net_namespace"},
                               {"percpu_growth", "vmalloc", "pcpu_create_chunk"},
                               {"cgroups_left", "slab", "kernfs_node_cache"},
                               {"file_leak", "table", "files"},
                               {"file_leak", "slab", "filp"},
                               {"thread_growth", "table", "threads"},
                               {"thread_growth", "slab", "task_struct"},
                               {"thread_growth", "account", "kernel_stacks"},
                               {"packets_held", "slab", "skbuff_head_cache"},
                               {"table_growth", "table", "sysv_shm"},
                               {"kmalloc_leak", "slab", "kmalloc-512"},
                               {"slab_leak", "slab", "ext4_allocation_context"},
                               {"notify_queue", "slab", "fanotify_fid_event"},
                               {"bpf_memory", "vmalloc", "bpf_prog_alloc_no_stats"},
                               {"vmalloc_growth", "vmalloc", "leak_mapped [leak]"},
                               {"vfs_pinned", "table", "dentries"},
                               {"socket_memory_growth", "account", "sockets"},
                               {"percpu_growth", "percpu", "percpu"},
                               {"cgroup_growth", "memcg", "/app"},
                               {"anonymous_growth", "account", "anonymous"},
                               {"shared_memory_growth", "account", "shared"},
                               {"unaccounted_growth", "account", "unaccounted"},
                               {"page_table_growth", "account", "page_tables"},
                               {"memory_growth", "account", "detached"},
                               {"kqueue_growth", "malloc", "kqueue"},
                               {"malloc_growth", "malloc", "devbuf"},
                               {"zone_growth", "uma", "NAMEI"},
                               {"other_growth", "cma", "reserved"}};

TEST(Growth, EachGrowerHasItsCause) {
  for (const Grower& one : kGrowers) {
    const Cause* const cause = find_cause(one.cause);
    ASSERT_NE(cause, nullptr) << one.cause;
    EvidenceOfMachine machine(cause->system == CauseSystem::kFreeBsd ? EvidenceSystem::kFreeBsd : EvidenceSystem::kLinux);
    machine.growing(one.allocator, one.name, 500 * kMiB, 200 * kMiB, 7000);
    EXPECT_EQ(machine.words(), std::string("notable ") + one.cause) << one.name;
  }
}

TEST(Growth, OfAnotherSystemIsNeitherFoundNorMissed) {
  EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
  machine.growing("table", "files", 500 * kMiB, 200 * kMiB, 7000);
  EXPECT_EQ(machine.words(), "notable file_leak");
  const Diagnosis diagnosis = diagnose(machine.evidence);
  EXPECT_TRUE(is_ruled_out(machine.evidence, "zone_growth"));
  EXPECT_FALSE(is_ruled_out(machine.evidence, "slab_leak"));
  for (const NotChecked& one : diagnosis.not_checked) EXPECT_NE(one.cause, "slab_leak");
}

constexpr Grower kFreeBsdGrowers[] = {
    {"file_leak", "table", "files"},       {"thread_growth", "table", "threads"},
    {"table_growth", "table", "sysv_shm"}, {"anonymous_growth", "account", "active"},
    {"memory_growth", "account", "kmem"},  {"unaccounted_growth", "account", "unaccounted"},
    {"malloc_growth", "malloc", "devbuf"}, {"page_table_growth", "account", "page_tables"},
    {"kqueue_growth", "uma", "KNOTE"},     {"zone_growth", "uma", "NAMEI"},
    {"other_growth", "page", "wired"}};

TEST(Growth, OnFreeBsdTheNextStepIsACommandOfFreeBsd) {
  std::vector<std::string> shown;
  for (const Grower& one : kFreeBsdGrowers) {
    EvidenceOfMachine machine(EvidenceSystem::kFreeBsd);
    machine.growing(one.allocator, one.name, 500 * kMiB, 200 * kMiB, 7000);
    const Findings found = machine.find();
    ASSERT_EQ(found.size(), 1U) << one.cause;
    ASSERT_FALSE(found[0].next.empty()) << one.cause;
    shown.push_back(found[0].cause);
    for (const std::string& command : found[0].next) {
      for (const std::string_view of_linux : {"/proc/", "/sys/", "--sort=", "lsmod", "ss -"}) {
        EXPECT_EQ(command.find(of_linux), std::string::npos) << one.cause << ": " << command;
      }
    }
  }
  for_each_cause([&](const Cause& cause) {
    if (cause.watches != Watches::kGrowth || cause.system == CauseSystem::kLinux) return;
    EXPECT_EQ(std::count(shown.begin(), shown.end(), cause.name), 1) << cause.name;
  });
}

TEST(Growth, SaysWhenMemoryIsGoneWithinWhatWasWatched) {
  EvidenceOfMachine machine;
  GrowthEvidence& growth = machine.growing("account", "anonymous", 500 * kMiB, 200 * kMiB, 7000);
  growth.memory_seconds = 40000;
  EXPECT_EQ(machine.words(), "soon anonymous_growth");
  growth.seconds = 60;
  EXPECT_EQ(machine.words(), "notable anonymous_growth") << "a minute does not predict eleven hours";
}

TEST(Growth, AfterBootIsNotSoon) {
  EvidenceOfMachine machine;
  machine.growing("account", "anonymous", 500 * kMiB, 200 * kMiB, 700).memory_seconds = 4000;
  machine.evidence.uptime_seconds = 800;
  EXPECT_EQ(machine.words(), "notable anonymous_growth");
}

TEST(Growth, AfterBootIsSoonWhereBootDoesNotExplainIt) {
  EvidenceOfMachine machine;
  machine.growing("account", "anonymous", 9 * kGiB, 6 * kGiB, 700).memory_seconds = 400;
  machine.evidence.uptime_seconds = 800;
  EXPECT_EQ(machine.words(), "notable anonymous_growth");
  machine.evidence.available_bytes = 4 * kGiB;
  EXPECT_EQ(machine.words(), "soon anonymous_growth") << "most of memory is gone";
  machine.evidence.growing.clear();
  GrowthEvidence& files = machine.growing("table", "files", 9000, 7000, 700);
  files.is_bytes = false;
  files.limit_seconds = 100;
  EXPECT_EQ(machine.words(), "soon file_leak") << "1000 of 10000 are left";
  machine.evidence.growing[0].limit_seconds = 2000;
  EXPECT_EQ(machine.words(), "notable file_leak") << "20000 are left";
}

TEST(Growth, ManyNewFilesOfOneProcessAreALeakThoughNotSteady) {
  EvidenceOfMachine machine;
  TypeEvidence& files = machine.type(Allocator::kTable, "files");
  files.objects = 12416;
  files.objects_change = {.recent = 12384, .highest = 12416};
  EXPECT_EQ(machine.words(), "") << "nobody asked whose they are";
  machine.evidence.inspections = {answer_to(
      "files", {{.pid = 7, .command = "worker", .user = "", .group = "/job", .name = "", .count = 12003, .bytes = {}}})};
  ASSERT_EQ(machine.words(), "notable file_leak");
  EXPECT_EQ(diagnose(machine.evidence).findings.at(0).who.at(0).name, "worker (pid 7)");
  machine.evidence.types[0].objects_change.highest = 20000;
  EXPECT_EQ(machine.words(), "") << "they are being closed";
  machine.evidence.types[0].objects_change.highest = 12416;
  machine.evidence.uptime_seconds = 300;
  EXPECT_EQ(machine.words(), "") << "programs start after boot";
}

TEST(Growth, OfLittleMemoryIsNotAFinding) {
  EvidenceOfMachine machine;
  machine.growing("slab", "ext4_allocation_context", 2 * kMiB, kMiB, 7000);
  EXPECT_EQ(machine.words(), "");
  EXPECT_TRUE(is_ruled_out(machine.evidence, "slab_leak"));
  machine.evidence.growth_polls = 0;
  EXPECT_FALSE(is_ruled_out(machine.evidence, "file_leak"));
}

TEST(Growth, OfAPartWithoutAHolderIsAFindingFromHalfAHundredthOfMemoryOn) {
  EvidenceOfMachine machine;
  machine.growing("account", "slab_reclaimable", 500 * kMiB, 80 * kMiB, 7000);
  EXPECT_EQ(machine.words(), "");
  machine.growing("account", "slab_reclaimable", 500 * kMiB, 83 * kMiB, 7000);
  EXPECT_EQ(machine.words(), "notable memory_growth");
}

TEST(Growth, TogetherIsOneFinding) {
  EvidenceOfMachine machine;
  GrowthEvidence& files = machine.growing("table", "files", 50000, 20000, 7000);
  files.is_bytes = false;
  files.together = {"slab/filp", "slab/sock_inode_cache"};
  machine.growing("slab", "sock_inode_cache", 500 * kMiB, 200 * kMiB, 7000);
  const Findings found = machine.find();
  ASSERT_EQ(found.size(), 1U) << machine.words();
  EXPECT_EQ(found[0].explains.size(), 1U);
}

TEST(Growth, TypesThatGrowTogetherAreNamedByTheirCause) {
  EvidenceOfMachine machine;
  GrowthEvidence& sockets = machine.growing("slab", "sock_inode_cache", 500 * kMiB, 200 * kMiB, 7000);
  sockets.together = {"slab/filp", "slab/lsm_file_cache"};
  ASSERT_EQ(machine.words(), "notable file_leak");
  EXPECT_TRUE(machine.find()[0].headline.starts_with("Sockets grew by ")) << machine.find()[0].headline;
  sockets.together.emplace_back("slab/UNIX");
  EXPECT_TRUE(machine.find()[0].headline.starts_with("Unix sockets grew by ")) << machine.find()[0].headline;
}

TEST(Growth, OfACacheThatHasMoreThanTheOpenFilesIsOfAnother) {
  EvidenceOfMachine machine;
  machine.growing("slab", "filp", 500 * kMiB, 200 * kMiB, 7000);
  TypeEvidence& files = machine.limited(Allocator::kTable, "files", 2e6, 9e9);
  EXPECT_EQ(machine.words(), "notable file_leak");
  files.objects = 3000;
  EXPECT_EQ(machine.words(), "notable slab_leak") << "POSIX timers are as large";
}

TEST(Growth, OfNamespacesIsMoreThanTheirOwnObjects) {
  EvidenceOfMachine machine;
  machine.growing("slab", "net_namespace", 2 * kMiB, kMiB, 300);
  EXPECT_EQ(machine.words(), "notable network_namespace_growth");
  machine.evidence.growing[0].gain = kMiB / 2;
  EXPECT_EQ(machine.words(), "");
}

TEST(Growth, OfDirectoriesOfControlGroupsExplainsNamesAndPerCpuMemory) {
  EvidenceOfMachine machine;
  machine.growing("slab", "inode_cache", 90 * kMiB, 60 * kMiB, 300);
  machine.growing("percpu", "percpu", 90 * kMiB, 30 * kMiB, 300);
  machine.growing("slab", "kmalloc-96", 90 * kMiB, 60 * kMiB, 300);
  machine.growing("slab", "kernfs_node_cache", 90 * kMiB, 20 * kMiB, 300);
  EXPECT_EQ(machine.words(), "notable cgroups_left, notable kmalloc_leak");
}

TEST(Growth, OfConnectionsThatAreNotClosedIsOfOpenFiles) {
  EvidenceOfMachine machine;
  machine.growing("account", "sockets", 90 * kMiB, 60 * kMiB, 300).limit_seconds = 600;
  machine.growing("slab", "filp", 40 * kMiB, 20 * kMiB, 300);
  machine.moved("memstat_memcg_part_bytes", 55 * kMiB, {"/web", "sock"});
  EXPECT_EQ(machine.words(), "soon socket_memory_growth, notable file_leak") << "no holder is known for both";
  machine.moved("memstat_memcg_kernel_bytes", 30 * kMiB, {"/web"});
  EXPECT_EQ(machine.words(), "soon file_leak");
}

TEST(Growth, ATableAndItsCacheAreOneFindingOfTheMoreUrgent) {
  EvidenceOfMachine machine;
  machine.growing("slab", "filp", 500 * kMiB, 200 * kMiB, 7000);
  GrowthEvidence& table = machine.growing("table", "files", 900000, 800000, 7000);
  table.is_bytes = false;
  table.limit_seconds = 3000;
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "soon file_leak");
  EXPECT_EQ(found[0].about, (std::vector<Finding::About>{{"table", "files"}, {"slab", "filp"}}));
}

TEST(Growth, NamesTheGroupAndExplainsItsGrowth) {
  EvidenceOfMachine machine;
  machine.growing("account", "anonymous", 900 * kMiB, 600 * kMiB, 300);
  machine.growing("memcg", "/a.slice", 900 * kMiB, 610 * kMiB, 300);
  machine.growing("memcg", "/b.slice", 900 * kMiB, 300 * kMiB, 300);
  machine.moved("memstat_memcg_anonymous_bytes", 580 * kMiB, {"/a.slice"});
  machine.moved("memstat_memcg_anonymous_bytes", 570 * kMiB, {"/a.slice/web.service"});
  const Findings found = machine.find();
  ASSERT_EQ(machine.words(), "notable anonymous_growth, notable cgroup_growth");
  EXPECT_EQ(found[0].who.at(0).name, "/a.slice/web.service");
  EXPECT_EQ(found[0].explains.size(), 1U);
  EXPECT_EQ(found[1].who.at(0).name, "/b.slice") << "of another group";
}

TEST(Growth, TheCauseIsAsUrgentAsWhatItsGroupEndsIn) {
  EvidenceOfMachine machine;
  machine.growing("memcg", "/a.slice", 900 * kMiB, 600 * kMiB, 300).memory_seconds = 1000;
  GrowthEvidence& threads = machine.growing("table", "threads", 30000, 20000, 300);
  threads.is_bytes = false;
  machine.moved("memstat_memcg_tasks", 19000, {"/a.slice"});
  ASSERT_EQ(machine.words(), "soon thread_growth");
  EXPECT_EQ(machine.find()[0].explains.size(), 1U);
}

TEST(Growth, NamesNoGroupThatGainedLittle) {
  EvidenceOfMachine machine;
  machine.growing("account", "anonymous", 900 * kMiB, 600 * kMiB, 300);
  machine.moved("memstat_memcg_anonymous_bytes", 100 * kMiB, {"/a.slice"});
  EXPECT_TRUE(machine.find().at(0).who.empty());
}

TEST(Growth, OfHugePagesThatAProgramReservedIsItsUseOfThem) {
  EvidenceOfMachine machine;
  TypeEvidence& pool = machine.type(Allocator::kHugetlb, "2MiB");
  pool.bytes = 56 * kMiB;
  pool.held_bytes = 200 * kMiB;
  pool.object_bytes = 2 * kMiB;
  machine.growing("hugetlb", "2MiB", 56 * kMiB, 56 * kMiB, 7).limit_seconds = 16;
  EXPECT_EQ(machine.words(), "soon other_growth");
  MetricEvidence& reserved = machine.metric("memstat_hugetlb_reserved_pages", 68, {"2MiB"});
  EXPECT_EQ(machine.words(), "");
  reserved.value = 20;
  EXPECT_EQ(machine.words(), "soon other_growth");
}

TEST(Growth, NamesInUseAreFoundThatWereThereBefore) {
  EvidenceOfMachine machine;
  machine.type(Allocator::kTable, "dentries").objects = 1e6;
  machine.type(Allocator::kSlab, "dentry").object_bytes = 192;
  EXPECT_EQ(machine.words(), "");
  machine.evidence.types[0].objects = 2e6;
  ASSERT_EQ(machine.words(), "notable vfs_pinned");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kPossible);
  machine.growing("table", "inodes", 2e6, 1e6, 300).is_bytes = false;
  ASSERT_EQ(machine.words(), "notable vfs_pinned");
  EXPECT_EQ(machine.find()[0].certainty, Certainty::kLikely) << "that they grow says more";
}

}  // namespace
}  // namespace memstat::causes::growth
