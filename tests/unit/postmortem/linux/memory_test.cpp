// SPDX-License-Identifier: BSD-2-Clause
// The files of the page allocator and of vmalloc, generated from a dump, and the figures that sources parse from them.
#include "core/include/memstat.h"
#include "core/kernel/open_view.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using List = std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)>;

struct Answer {
  std::vector<std::string> notes;
  std::string vmstat, zoneinfo, buddyinfo, meminfo, vmallocinfo;
};

Answer answer_of(const FakeLinuxDump& dump) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), dump.elf());
  const auto opened = open_view(directory.file("dump"));
  if (!opened) return Answer{{to_string(opened.error())}, {}, {}, {}, {}, {}};
  const auto read = [&](const char* path) {
    Buffer bytes;
    return opened->view->read_file(path, bytes) ? std::string(bytes.view()) : std::string();
  };
  return {.notes = opened->notes,
          .vmstat = read("/proc/vmstat"),
          .zoneinfo = read("/proc/zoneinfo"),
          .buddyinfo = read("/proc/buddyinfo"),
          .meminfo = read("/proc/meminfo"),
          .vmallocinfo = read("/proc/vmallocinfo")};
}

TEST(LinuxMemory, FilesAreAsTheKernelPrintsThem) {
  const Answer answer = answer_of(FakeLinuxDump(small_kernel()));
  EXPECT_TRUE(answer.notes.empty());
  EXPECT_THAT(answer.vmstat, HasSubstr("nr_free_pages 41000\nnr_bounce 0\nnr_zspages 7\nnr_free_cma 0\nnuma_hit 5000\n"));
  EXPECT_THAT(answer.vmstat, HasSubstr("nr_memmap_pages 11\npgpgin 2001\npgalloc_dma 4001\n"));
  EXPECT_THAT(answer.vmstat, Not(HasSubstr("nr_dirty_threshold")));
  EXPECT_THAT(answer.zoneinfo, HasSubstr("Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 100\n"));
  EXPECT_THAT(answer.zoneinfo,
              HasSubstr("Node 0, zone   Normal\n  pages free     40000\n        boost    5\n        min      25\n"
                        "        low      26\n        high     27\n        promo    28\n        spanned  110001\n"
                        "        present  110000\n        managed  100000\n        protection: (0, 400, 0)\n"));
  EXPECT_THAT(answer.zoneinfo, HasSubstr("numa_hit     106\n")) << "with what CPUs have not yet added";
  EXPECT_THAT(answer.zoneinfo, HasSubstr("    cpu: 1\n              count:    21\n  start_pfn:           4097\n"));
  EXPECT_THAT(
      answer.buddyinfo,
      HasSubstr("Node 0, zone      DMA      0      1      2      3      4      5      6      7      8      9     10 \n"));
  EXPECT_THAT(answer.meminfo, Not(HasSubstr("Cma"))) << "a kernel without CONFIG_CMA";
  for (const char* line : {"MemTotal:         412000 kB\n", "MemFree:          164000 kB\n", "Buffers:            1200 kB\n",
                           "Cached:             4760 kB\n", "SwapCached:           40 kB\n", "Active:             6000 kB\n",
                           "KReclaimable:       2800 kB\n", "KernelStack:         640 kB\n", "VmallocUsed:          20 kB\n",
                           "Percpu:              480 kB\n", "HugePages_Total:   2\n", "Hugetlb:            4096 kB\n"}) {
    EXPECT_THAT(answer.meminfo, HasSubstr(line));
  }
  EXPECT_EQ(answer.vmallocinfo,
            "0xffffc90000000000-0xffffc90000005000   20480 alloc_things+0x40/0x800 pages=4 vmalloc N0=4\n"
            "0xffffc90000010000-0xffffc90000012000    8192 alloc_things+0x40/0x800 phys=0x00000000fed00000 ioremap\n"
            "0xffffc90000020000-0xffffc90000022000    8192 mod_alloc+0x23/0x80 [fakemod] pages=1 vmalloc N0=1\n"
            "0xffffc90000030000-0xffffc90000033000   12288 vm_map_ram\n"
            "0xffffc90000040000-0xffffc90000044000   16384 unpurged vm_area\n");
}

TEST(LinuxMemory, OfEveryKindOfKernelIsTheSame) {
  const Answer wanted = answer_of(FakeLinuxDump(small_kernel()));
  for (const SlabKernel slabs : {SlabKernel::kPages, SlabKernel::kSheaves}) {
    for (const auto machine : {postmortem::Machine::kX86, postmortem::Machine::kArm64}) {
      FakeKernelOptions options = small_kernel(slabs);
      options.machine = machine;
      options.addresses = postmortem::SymbolAddresses::kRelative;
      const Answer answer = answer_of(FakeLinuxDump(options));
      EXPECT_TRUE(answer.notes.empty());
      EXPECT_EQ(answer.vmstat, wanted.vmstat);
      EXPECT_EQ(answer.zoneinfo, wanted.zoneinfo);
      EXPECT_EQ(answer.meminfo, wanted.meminfo);
      EXPECT_EQ(answer.vmallocinfo, wanted.vmallocinfo);
    }
  }
}

TEST(LinuxMemory, DamageIsANoteAndTheRestIsThere) {
  const FakeLinuxDump whole(small_kernel());
  struct Damage {
    std::uint64_t address;
    std::uint64_t value;
    const char* says;
  };
  for (const auto& [address, value, says] : {
           Damage{whole.address("area 1") + 40, 0xdead000000000100,
                  "vmalloc areas: a list of areas: virtual address 0xdead"},
           Damage{whole.address("area 1") + 40, whole.address("area 1") + 40, "one does not point back"},
           Damage{whole.address("area 1") + 56, 0x5a5a5a5a5a5a5a5a, "vmalloc areas: an area: virtual address 0x5a5a"},
           Damage{whole.address("area 1") + 8, 1, "vmalloc areas: an area ends before it begins"},
           Damage{whole.address("inode 1") + 48, 0x4141414141414141, "meminfo: Buffers: virtual address 0x41414141"},
           Damage{whole.address("inode 1") + 280, 0, "the list of block devices is torn"},
           Damage{whole.address("node 0") + 112, 0x1000, "zones: a zone's name"},
           Damage{whole.address("node 0") + 64, 0xdead000000000000, "zones: the page sets of a zone"},
           Damage{whole.address("node_data"), 0xdead000000000000, "zones: counters of a node: virtual address 0xdead"},
           Damage{whole.address("vmstat_text") + 24, 0, "counters: vmstat_text"},
           Damage{whole.address("hugetlb_max_hstate"), 0xffffffff, "huge pages: their pools cannot be read"},
       }) {
    FakeLinuxDump dump(small_kernel());
    dump.poke(address, value);
    const Answer answer = answer_of(dump);
    ASSERT_FALSE(answer.notes.empty()) << says;
    EXPECT_THAT(answer.notes[0], HasSubstr(says));
    EXPECT_THAT(answer.vmallocinfo, HasSubstr("alloc_things+0x40/0x800 pages=4")) << says;
  }
}

TEST(LinuxMemory, OfAKernelWithoutSuchSymbolsIsReportedMissing) {
  FakeKernelOptions options = small_kernel();
  options.has_memory = false;
  const Answer answer = answer_of(FakeLinuxDump(options));
  EXPECT_EQ(answer.zoneinfo + answer.vmstat + answer.meminfo + answer.vmallocinfo, "");
  EXPECT_THAT(answer.notes, ::testing::Contains(HasSubstr("counters: vmstat_text: the kernel has no such symbol")));
}

}  // namespace
}  // namespace memstat
