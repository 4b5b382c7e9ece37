// SPDX-License-Identifier: BSD-2-Clause
// Lines of the kernel's log, as kernels print them and as users could forge them.
#include "core/model/kernel_log.h"

#include "core/model/kernel_log_book.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

constexpr const char* kKill =
    "Memory cgroup out of memory: Killed process 14017 (py (x) y) total-vm:82364kB, anon-rss:15460kB, file-rss:3712kB, "
    "shmem-rss:4kB, UID:1000 pgtables:100kB oom_score_adj:0";
constexpr const char* kContext =
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b c,"
    "task=py (x) y,pid=14017,uid=1000";

std::string event_named(std::string_view line) {
  const auto event = event_of_line(line);
  return event ? std::string(to_string(*event)) : "";
}

std::string fields(LogEvent event, std::string_view text, std::string_view more = {}) {
  std::string words;
  for (const LogField& field : fields_of({.event = event, .time_us = 1, .text = text, .more = {more}})) {
    words += (words.empty() ? "" : " ") + std::string(field.name) + "=" + field.value;
  }
  return words;
}

/// A record as /dev/kmsg gives it.
std::string record(std::uint64_t sequence, std::string_view text, int priority = 3) {
  return std::to_string(priority) + "," + std::to_string(sequence) + "," + std::to_string(sequence * 1000) + ",-;" +
         std::string(text) + "\n SUBSYSTEM=x\n";
}

struct Written {
  explicit Written(const KernelLogBook& book) {
    book.write(text);
    wrong = read_log_table(text.view(), table);
  }
  Buffer text;
  LogTable table;
  std::optional<std::size_t> wrong;
};

std::uint64_t count_of(const LogTable& table, LogEvent event) { return table.counts[static_cast<std::size_t>(event)]; }

TEST(KernelLog, PassesOverWhatOnlyLooksAlike) {
  for (const char* line :
       {"", "x", "BUG: Bad page state in process x", "kmemleak: Automatic memory scanning thread started",
        "{1}[Hardware Error]:   section_type: PCIe error", "audit: audit_lost=1 audit_rate_limit=0 audit_backlog_limit=64",
        "rcu: INFO: rcu_sched kthread starved", "EDAC MC0: Giving out device to module",
        "Memory failure: 0x1: already hardware poisoned", "neighbour: table"}) {
    EXPECT_EQ(event_named(line), "") << line;
  }
}

TEST(KernelLog, KeepsLinesOfNoKnownWordingThatSayThatMemoryCouldNotBeHad) {
  for (const char* line : {"usb 1-1: out of memory", "xyz: Allocation failed",
                           "a name of a program that no kernel lets be so long as this one is, or longer "
                           "still than that: page allocation failure: order:1",
                           "dm-7: Cannot allocate memory for mirror", "xyz: table overflow",
                           "audit: comm=\"Out of memory: Killed process 1 (x)\""}) {
    EXPECT_EQ(event_named(line), "unrecognized") << line;
  }
  EXPECT_EQ(event_named("UBSAN: signed-integer-overflow in x.c:1:2"), "");
  EXPECT_EQ(event_named("BUG: stack overflow"), "");
}

TEST(KernelLog, DistinguishesAnEventFromTheNamesInIt) {
  EXPECT_EQ(event_named("cgroup: fork rejected by pids controller in /TCP: too many orphaned sockets"), "pids_full");
  EXPECT_EQ(event_named("VFS: file-max lim: page allocation failure: order:0, mode:0x0()"), "page_allocation_failure");
  EXPECT_EQ(fields(LogEvent::kOomKill, "Out of memory: Killed process 7 (a) total-vm:9kB) total-vm:1kB, anon-rss:2kB"),
            "scope=machine pid=7 command=a) total-vm:9kB total_vm_bytes=1024 anonymous_bytes=2048");
}

TEST(KernelLog, HasTheFieldsOfAKill) {
  EXPECT_EQ(fields(LogEvent::kOomKill, kKill, kContext),
            "scope=group pid=14017 command=py (x) y total_vm_bytes=84340736 anonymous_bytes=15831040 file_bytes=3801088 "
            "shared_bytes=4096 page_table_bytes=102400 uid=1000 oom_score_adj=0 constraint=memcg cpuset=/ allowed_nodes=0 "
            "group=/a "
            "victim_group=/a/b c");
  EXPECT_EQ(fields(LogEvent::kOomKill, "Out of memory: Killed process 7 (x) total-vm:0kB",
                   "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task_memcg=/,task=x,pid=7,uid=0"),
            "scope=machine pid=7 command=x total_vm_bytes=0 constraint=none victim_group=/");
}

TEST(KernelLog, KnowsTheLinesOfKernelsAndTheirFields) {
  const std::pair<const char*, const char*> lines[] = {
      {"swapper/0: page allocation failure: order:3, mode:0x820(GFP_ATOMIC), nodemask=(null)",
       "page_allocation_failure command=swapper/0 order=3 gfp=GFP_ATOMIC"},
      {"SLUB: Unable to allocate memory on CPU 0 (of node 0) on node -1, gfp=0x920(GFP_ATOMIC|__GFP_ZERO)",
       "slab_allocation_failure gfp=GFP_ATOMIC|__GFP_ZERO"},
      {"insmod: vmalloc error: size 4096, failed to allocate pages, mode:0xcc2", "vmalloc_failure bytes=4096"},
      {"vmap allocation for size 2498560 failed: use vmalloc=<size> to increase size", "vmalloc_failure bytes=2498560"},
      {"vmalloc_node_range for size 2498560 failed: Address range restricted to 0x1 - 0x2", "vmalloc_failure bytes=2498560"},
      {"percpu: allocation failed, size=16 align=8 atomic=1, atomic alloc failed, no space left", "percpu_failure bytes=16"},
      {"nf_conntrack: nf_conntrack: table full, dropping packet", "conntrack_full"},
      {"nf_conntrack: nf_conntrack: table full in netns 7, dropping packet", "conntrack_full"},
      {"neighbour: arp_cache: neighbor table overflow!", "neighbours_full table=arp_cache"},
      {"VFS: file-max limit 8192 reached", "files_full limit=8192"},
      {"cgroup: fork rejected by pids controller in /a b", "pids_full group=/a b"},
      {"TCP: out of memory -- consider tuning tcp_mem", "tcp_memory_full"},
      {"TCP: too many orphaned sockets", "orphans_full"},
      {"TCP: request_sock_TCP: Possible SYN flooding on port [::]:80. Sending cookies.", "syn_queue_full port=[::]:80"},
      {"Route cache is full: consider increasing sysctl net.ipv6.route.max_size.", "routes_full"},
      {"Memory failure: 0x1234: recovery action for dirty LRU page: Recovered", "memory_error"},
      {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0 (channel:0 slot:0)", "memory_error_corrected"},
      {"EDAC MC0: 1 UE memory read error on CPU_SrcID#0 (channel:0 slot:0)", "memory_error"},
      {"mce: [Hardware Error]: Machine check events logged", "memory_error_corrected"},
      {"audit: audit_backlog=4097 > audit_backlog_limit=4096", "audit_full"},
      {"TCP: time wait bucket table overflow", "time_wait_full"},
      {"{2}[Hardware Error]:   section_type: memory error", "memory_error"},
      {"page_pool_release_retry() stalled pool shutdown: id 4, 12 inflight 60 sec", "page_pool_stalled pages=12"},
      {"net_ratelimit: 12 callbacks suppressed", "suppressed function=net_ratelimit lines=12"},
      {"Write-error on swap-device (251:0:16318728)", "paging_error device=251:0:16318728"},
      {"Read-error on swap-device (8:0:12)", "paging_error device=8:0:12"},
      {"audit: backlog limit exceeded", "audit_full"},
      {"audit: kauditd hold queue overflow", "audit_full"},
      {"BUG i915_vma (Tainted: G     U  W        N ): Objects remaining on __kmem_cache_shutdown()",
       "cache_leaked cache=i915_vma"},
      {"BUG x (Not tainted): Objects remaining in x on __kmem_cache_shutdown()", "cache_leaked cache=x"},
      {"kmem_cache_destroy bio-4: Slab cache still has objects when called from a+0x1/0x2", "cache_leaked cache=bio-4"},
      {"kmemleak: 15 new suspected memory leaks (see /sys/kernel/debug/kmemleak)", "leak_suspected leaks=15"},
      {"rcu: INFO: rcu_sched self-detected stall on CPU", "rcu_stall"},
      {"rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "rcu_stall"},
      {"unregister_netdevice: waiting for lo to become free. Usage count = 2", "device_held device=lo"},
      {"Killed process 7 (a b) total-vm:1kB, anon-rss:2kB, file-rss:0kB, shmem-rss:0kB",
       "oom_kill scope=machine pid=7 command=a b total_vm_bytes=1024 anonymous_bytes=2048 file_bytes=0 shared_bytes=0"},
      {"Killed process 7 (java), UID 1000, total-vm:1kB, anon-rss:2kB",
       "oom_kill scope=machine pid=7 command=java total_vm_bytes=1024 anonymous_bytes=2048"},
      {"Killed process 7 (a (b)) vsz:1kB, anon-rss:2kB, file-rss:0kB",
       "oom_kill scope=machine pid=7 command=a (b) total_vm_bytes=1024 anonymous_bytes=2048 file_bytes=0"},
      {"Killed process 7 (a (b))", "oom_kill scope=machine pid=7 command=a (b)"},
      {"oom_reaper: unable to reap pid:132 (systemd-udevd)", "reaper_failed pid=132 command=systemd-udevd"},
      {"Out of memory and no killable processes...", "nobody_to_kill"},
      {"Memory cgroup out of memory: OOM victim 7 (a (b)) is already exiting. Skip killing the task",
       "victim_exiting scope=group pid=7 command=a (b)"},
      {"Out of memory: OOM victim 7 (db) is already exiting. Skip killing the task",
       "victim_exiting scope=machine pid=7 command=db"},
      {"Out of memory (oom_kill_allocating_task): OOM victim 7 (db) is already exiting. Skip killing the task",
       "victim_exiting scope=machine pid=7 command=db"},
      {"rtl8192ee 0000:05:00.0: swiotlb buffer is full (sz: 4000 bytes), total 32768 (slots), used 32768 (slots)",
       "bounce_buffers_full device=0000:05:00.0 bytes=4000 slots=32768 used_slots=32768"},
      {"DMA: Out of SW-IOMMU space for 9100 bytes at device 0000:02:00.0",
       "bounce_buffers_full device=0000:02:00.0 bytes=9100"},
      {"XFS: fio(31262) possible memory allocation deadlock size 4194320 in kmem_alloc (mode:0x250)",
       "allocation_waits waiter=XFS bytes=4194320"},
      {"XFS: runc:[1:CHILD](3580) possible memory allocation deadlock in kmem_zone_alloc (mode:0x82d0)",
       "allocation_waits waiter=XFS"},
      {"Possible memory allocation deadlock: size=4194304 lflags=0x42002", "allocation_waits waiter=ZFS bytes=4194304"},
      {"kswapd0: page allocation stalls for 10000ms, order:0, mode:0x1(GFP_X)", "allocation_waits waiter=kswapd0"},
      {"cma: cma_alloc: reserved: alloc failed, req-size: 256 pages, ret: -12", "cma_failure"},
      {"HugeTLB: allocating 1024 of page size 2.00 MiB failed.  Only allocated 512 hugepages.",
       "huge_pages_refused pages=1024 page_size=2.00 MiB got=512"},
      {"__vm_enough_memory: pid: 513, comm: shmget02, not enough memory for the allocation",
       "commit_refused pid=513 command=shmget02"},
      {"__vm_enough_memory: pid: 7, comm: runc, bytes: 8192 not enough memory for the allocation",
       "commit_refused pid=7 command=runc bytes=8192"},
      {"insmod: vmalloc: allocation failure: 65536 bytes, mode:0xcc2", "vmalloc_failure bytes=65536"},
      {"vmalloc: allocation failure: 37798136 bytes", "vmalloc_failure bytes=37798136"},
      {"vmalloc: allocation failure, allocated 7794429952 of 7801806848 bytes", "vmalloc_failure bytes=7801806848"},
      {"Injecting memory failure for pfn 0x1234 at process virtual address 0x7f00", "memory_error_injected"}};
  for (const auto& [line, wanted] : lines) {
    const auto event = event_of_line(line);
    ASSERT_TRUE(event) << line;
    const std::string found = fields(*event, line);
    EXPECT_EQ(std::string(to_string(*event)) + (found.empty() ? "" : " ") + found, wanted);
  }
  EXPECT_EQ(
      fields(LogEvent::kSlabAllocationFailure, "SLUB: Unable to allocate memory on CPU 0 (of node 0), gfp=0x1(GFP_X|Y)",
             "  cache: kmalloc-64, object size: 64, buffer size: 64, default order: 0, min order: 0"),
      "gfp=GFP_X|Y cache=kmalloc-64 object_bytes=64");
}

TEST(KernelLog, SurvivesLinesThatAreCutAnywhere) {
  for (const std::string_view line : {std::string_view(kKill), std::string_view(kContext)}) {
    for (std::size_t size = 0; size <= line.size(); ++size) {
      for (std::size_t event = 0; event < kLogEventCount; ++event) {
        static_cast<void>(fields(static_cast<LogEvent>(event), line.substr(0, size), line.substr(size)));
      }
    }
  }
  EXPECT_EQ(
      fields(LogEvent::kOomKill, "Out of memory: Killed process 99999999999999999999 (x) total-vm:18446744073709551615kB"),
      "scope=machine command=x");
}

TEST(LogRecord, IsReadAsTheKernelWritesIt) {
  const auto read = read_log_record("6,339,5140900,-;text; with\n SUBSYSTEM=acpi\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, 339U);
  EXPECT_EQ(read->time_us, 5140900U);
  EXPECT_EQ(read->text, "text; with");
  EXPECT_TRUE(read->is_of_kernel);
  EXPECT_FALSE(read_log_record("14,340,1,-;a program's\n")->is_of_kernel);
  EXPECT_EQ(read_log_record("6,1,2,c,caller=T1;x")->text, "x") << "more flags than we know";
  for (const char* text : {"", ";", "6;x", "6,1;x", "6,1,2;x", "x,1,2,-;x", "6,-1,2,-;x", "6,1,18446744073709551616,-;x"}) {
    EXPECT_FALSE(read_log_record(text)) << text;
  }
}

TEST(KernelLogBook, CountsAndKeepsEventsWithTheirLines) {
  KernelLogBook book;
  book.add(record(5, kContext));
  book.add(record(6, "something else"));
  book.add(record(7, kKill));
  book.add(record(8, "SLUB: Unable to allocate memory on node -1, gfp=0x1(GFP_X)"));
  book.add(record(9, "  cache: a, object size: 8, buffer size: 8"));
  book.add(record(10, "  cache: of none"));
  const Written written(book);
  ASSERT_EQ(written.wrong, std::nullopt) << written.text.view();
  EXPECT_EQ(count_of(written.table, LogEvent::kOomKill), 1U);
  ASSERT_EQ(written.table.size, 2U);
  EXPECT_EQ(written.table.events[0].text, kKill);
  EXPECT_EQ(written.table.events[0].more[0], kContext);
  EXPECT_EQ(written.table.events[0].time_us, 7000U);
  EXPECT_EQ(written.table.events[1].more[0], "  cache: a, object size: 8, buffer size: 8");
  EXPECT_EQ(written.table.lost, 0U);
}

std::string lines_of(const LoggedEvent& event) {
  std::string lines;
  for (const std::string_view more : event.more) lines += (more.empty() ? "" : "|") + std::string(more);
  return lines;
}

TEST(KernelLogBook, KeepsWhoNeededTheMemoryBeforeAKill) {
  KernelLogBook book;
  const std::string requested = "kworker/1:0 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=-1, oom_score_adj=0";
  book.add(record(1, requested));
  book.add(record(2, "memory: usage 8kB, limit 16kB, failcnt 3"));
  book.add(record(3, kContext));
  book.add(record(4, kKill));
  book.add(record(5, "Out of memory: Killed process 2 (x) total-vm:1kB"));
  const Written written(book);
  ASSERT_EQ(written.wrong, std::nullopt);
  EXPECT_EQ(lines_of(written.table.events[0]), "|" + requested + "|memory: usage 8kB, limit 16kB, failcnt 3|" + kContext);
  EXPECT_EQ(lines_of(written.table.events[1]), "") << "the next kill is not of that request";
  std::string fields;
  for (const LogField& one : fields_of(written.table.events[0])) {
    if (one.name == "order" || one.name == "requested_by" || one.name == "group_limit_bytes") fields += one.value + " ";
  }
  EXPECT_EQ(fields, "kworker/1:0 -1 16384 ");
}

TEST(KernelLogBook, HasTheBackslashesOfGroupsAsTheyAre) {
  KernelLogBook book;
  book.add(record(1, "cgroup: fork rejected by pids controller in /a\\x5cx2db\\x5cx2dc.slice\\x20"));
  const Written written(book);
  ASSERT_EQ(written.table.size, 1U);
  EXPECT_EQ(written.table.events[0].text, "cgroup: fork rejected by pids controller in /a\\x2db\\x2dc.slice\\x20");
}

TEST(KernelLogBook, JoinsTheLinesOfKernelsBefore51) {
  KernelLogBook book;
  book.add(record(1, "Task in /a/b killed as a result of limit of /a"));
  book.add(record(2, "Memory cgroup out of memory: Kill process 7 (cp) score 9 or sacrifice child"));
  book.add(record(3, "Killed process 7 (cp) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"));
  book.add(record(4, "Out of memory: Kill process 8 (cp) score 9 or sacrifice child"));
  book.add(record(5, "Killed process 8 (cp) total-vm:9kB, anon-rss:1kB"));
  const Written written(book);
  ASSERT_EQ(written.table.size, 2U);
  std::string fields;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const LogField& one : fields_of(written.table.events[i])) {
      if (one.name == "scope" || one.name == "group" || one.name == "victim_group") fields += one.value + " ";
    }
  }
  EXPECT_EQ(fields, "group /a /a/b machine ");
}

TEST(KernelLogBook, JoinsTheLinesOfKernelsBefore2636) {
  KernelLogBook book;
  book.add(record(1, "Out of memory: kill process 7 (cp) score 46872 or a child"));
  book.add(record(2, "Killed process 70 (cp)"));
  book.add(record(3, "Memory cgroup out of memory: kill process 8 (cp) score 9 or a child"));
  book.add(record(4, "Killed process 80 (cp) vsz:9kB, anon-rss:1kB, file-rss:0kB"));
  const Written written(book);
  EXPECT_EQ(count_of(written.table, LogEvent::kUnrecognized), 0U);
  ASSERT_EQ(written.table.size, 2U);
  EXPECT_EQ(fields_of(written.table.events[0])[0].value, "machine");
  EXPECT_EQ(fields_of(written.table.events[1])[0].value, "group");
}

std::string text_of(const LoggedEvent& event) {
  std::string text;
  for (const LogField& one : fields_of(event)) text += std::string(one.name) + "=" + one.value + " ";
  return text;
}

TEST(KernelLogBook, JoinsTheLinesOfAKillOfTheOneThatAsked) {
  KernelLogBook book;
  book.add(record(1, "Out of memory (oom_kill_allocating_task): Kill process 7 (cp) score 9 or sacrifice child"));
  book.add(record(2, "Killed process 7 (cp) total-vm:9kB, anon-rss:1kB"));
  const Written written(book);
  EXPECT_EQ(count_of(written.table, LogEvent::kUnrecognized), 0U);
  ASSERT_EQ(written.table.size, 1U);
  const std::string text = text_of(written.table.events[0]);
  EXPECT_NE(text.find("chosen=asker "), std::string::npos) << text;
  EXPECT_NE(text.find("score=9 "), std::string::npos) << text;
}

TEST(KernelLogBook, ThatNobodyMayBeKilledIsOfTheMachineOrOfAGroup) {
  KernelLogBook book;
  book.add(record(1, "Out of memory and no killable processes..."));
  book.add(record(2, "a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"));
  book.add(record(3, "memory: usage 8kB, limit 8kB, failcnt 3"));
  book.add(record(4, "Out of memory and no killable processes..."));
  book.add(record(5, "a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0"));
  book.add(record(6, "Out of memory and no killable processes..."));
  const Written written(book);
  ASSERT_EQ(written.table.size, 3U);
  const auto is = [&](std::size_t place, std::string_view words) {
    return text_of(written.table.events[place]).find(words) != std::string::npos;
  };
  EXPECT_FALSE(is(0, "scope=")) << "nothing says it";
  EXPECT_TRUE(is(1, "scope=group group_bytes=8192 group_limit_bytes=8192 requested_by=a "));
  EXPECT_TRUE(is(2, "scope=machine requested_by=a "));
}

TEST(KernelLogBook, AChildThatIsKilledHasTheContextOfItsParent) {
  KernelLogBook book;
  book.add(
      record(1,
             "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/a,task_memcg=/a/b,"
             "task=cp,pid=7,uid=0"));
  book.add(record(2, "Memory cgroup out of memory: Kill process 7 (cp) score 9 or sacrifice child"));
  book.add(record(3, "Killed process 70 (cp) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"));
  const Written written(book);
  ASSERT_EQ(written.table.size, 1U);
  std::string found;
  for (const LogField& one : fields_of(written.table.events[0])) {
    if (one.name == "pid" || one.name == "group" || one.name == "victim_group") found += one.value + " ";
  }
  EXPECT_EQ(found, "70 /a /a/b ");
}

TEST(KernelLogBook, ARefusalOfVmallocOnSeveralLinesIsOne) {
  KernelLogBook book;
  book.add(record(1, "vmap allocation for size 37806080 failed: use vmalloc=<size> to increase size."));
  book.add(record(2, "vmalloc: allocation failure: 37798136 bytes"));
  book.add(record(3, "insmod: page allocation failure: order:0, mode:0xd2"));
  book.add(record(4, "vmap allocation for size 8192 failed: use vmalloc=<size> to increase size"));
  book.add(record(5, "insmod: vmalloc error: size 4096, vm_struct allocation failed, mode:0xcc0(GFP_KERNEL)"));
  book.add(record(6, "cp: page allocation failure: order:0, mode:0xcc0(GFP_KERNEL)"));
  book.add(record(7, "vmalloc: allocation failure, allocated 4096 of 8192 bytes"));
  book.add(record(2008, "cp: page allocation failure: order:0, mode:0xd0"));
  const Written written(book);
  EXPECT_EQ(count_of(written.table, LogEvent::kVmallocFailure), 3U);
  EXPECT_EQ(count_of(written.table, LogEvent::kPageAllocationFailure), 2U) << "of another kernel, and two seconds later";
  EXPECT_EQ(written.table.events[0].more[1], "insmod: page allocation failure: order:0, mode:0xd2");
}

TEST(KernelLogBook, KeepsAKillAmongAFlood) {
  KernelLogBook book;
  book.add(record(1, "Out of memory: Killed process 2 (x) total-vm:1kB"));
  for (std::uint64_t i = 0; i < 200; ++i) book.add(record(10 + i, "VFS: file-max limit 1 reached"));
  EXPECT_EQ(Written(book).table.events[0].event, LogEvent::kOomKill);
}

TEST(KernelLogBook, JoinsNoTwoKills) {
  KernelLogBook book;
  book.add(record(1, kContext));
  book.add(record(2, "Out of memory: Killed process 1401 (x) total-vm:1kB"));
  book.add(record(3, "Out of memory: Killed process 140170 (x) total-vm:1kB"));
  const Written written(book);
  ASSERT_EQ(written.table.size, 2U);
  EXPECT_EQ(written.table.events[0].more[0], "");
  EXPECT_EQ(written.table.events[1].more[0], "");
}

TEST(KernelLogBook, IgnoresWhatProgramsWrite) {
  KernelLogBook book;
  book.add(record(1, kKill, 14));
  book.add(record(2, kContext, 14));
  book.add("no record");
  const Written written(book);
  EXPECT_EQ(written.table.size, 0U);
  EXPECT_EQ(count_of(written.table, LogEvent::kOomKill), 0U);
}

TEST(KernelLogBook, KeepsTheLastAndCountsAll) {
  KernelLogBook book;
  for (std::uint64_t i = 0; i < 200; ++i) book.add(record(10 + i, "VFS: file-max limit " + std::to_string(i) + " reached"));
  const Written written(book);
  ASSERT_EQ(written.wrong, std::nullopt);
  EXPECT_EQ(count_of(written.table, LogEvent::kFilesFull), 200U);
  ASSERT_EQ(written.table.size, kKeptLogEvents);
  EXPECT_EQ(written.table.events[0].text, "VFS: file-max limit 136 reached");
  EXPECT_EQ(written.table.events[kKeptLogEvents - 1].text, "VFS: file-max limit 199 reached");
}

TEST(KernelLogBook, CountsRecordsThatWereOverwritten) {
  KernelLogBook book;
  book.add(record(1000, "x"));
  book.add(record(1001, "x"));
  book.add(record(1010, "x"));
  EXPECT_EQ(Written(book).table.lost, 8U) << "records before the first one do not count as lost";
  book.add(record(18446744073709551615U, "x"));
  book.add(record(3, "x"));
  EXPECT_GT(Written(book).table.lost, 8U);
}

TEST(KernelLogBook, WritesATableOfHostileLines) {
  KernelLogBook book;
  book.add(record(1, "cgroup: fork rejected by pids controller in /\x01\xff\r" + std::string(5000, 'a')));
  const Written written(book);
  ASSERT_EQ(written.wrong, std::nullopt);
  ASSERT_EQ(written.table.size, 1U);
  EXPECT_EQ(written.table.events[0].text.size(), KernelLogBook::kMaxLine);
  EXPECT_EQ(written.table.events[0].text.substr(44, 4), "/???");
}

TEST(LogTable, IsRefusedWhereItIsCutOrWrong) {
  KernelLogBook book;
  book.add(record(5, kContext));
  book.add(record(7, kKill));
  Buffer text;
  book.write(text);
  LogTable table;
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(read_log_table(text.view().substr(0, size), table)) << size;
  }
  EXPECT_EQ(read_log_table("kernel_log 1\nend\n", table), std::nullopt);
  EXPECT_EQ(read_log_table("kernel_log 1\ncount later_event 4\nevent later_event 5\ntext x\nend\n", table), std::nullopt);
  EXPECT_EQ(table.size, 0U) << "an event of another version";
  for (const char* wrong : {"lost x", "lost", "count oom_kill", "count oom_kill x", "count", "event oom_kill", "text early",
                            "more early", "other", "", "kernel_log 1"}) {
    EXPECT_EQ(read_log_table("kernel_log 1\n" + std::string(wrong) + "\nend\n", table), 13U) << wrong;
  }
  EXPECT_EQ(read_log_table("kernel_log 2\nend\n", table), 0U);
  EXPECT_EQ(read_log_table("kernel_log 1\nend\nlost 1\n", table), 17U);
  std::string many = "kernel_log 1\n";
  for (std::size_t i = 0; i <= kKeptLogEvents; ++i) many += "event oom_kill 1\n";
  EXPECT_EQ(read_log_table(many + "end\n", table), 13 + kKeptLogEvents * 17);
}

}  // namespace
}  // namespace memstat
