// SPDX-License-Identifier: BSD-2-Clause
// /proc/vmallocinfo from handwritten text. Captured and live kernels: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/source_reading.h"
#include "tests/support/test.h"

namespace memstat::linux_vmalloc_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_vmalloc"); }

/// An area's line, after the two addresses.
std::string area(std::string_view rest) { return "0x00000000f7ebf10c-0x00000000c19e8392 " + std::string(rest) + "\n"; }

class LinuxVmalloc : public ParsedSource<source> {
 protected:
  /// "name: bytes/count/address space/free" of all types, with "-" for a figure that is none.
  std::string words(const std::string& text, std::uint64_t page_size = 4096) {
    if (const auto result = parse(text, 1, page_size); !result) return to_string(result.error());
    return type_words(reader_.staging, {Field::kBytes, Field::kCount, Field::kAddressSpace, Field::kFree});
  }
  /// The name of an area's type.
  std::string name_of(const std::string& rest) {
    const auto result = parse(area(rest));
    if (!result || reader_.staging.types().size() != 1) return "refused: " + rest;
    return std::string(reader_.staging.types()[0].name);
  }
};

TEST_F(LinuxVmalloc, AddsUpTheAreasOfACallerWhereverTheyStand) {
  EXPECT_EQ(words(area("  20480 kernel_clone+0x9b/0x3f0 pages=4 vmalloc N0=4") +
                  area("   8192 bpf_prog_alloc_no_stats+0x2e/0x120 pages=1 vmalloc N0=1") +
                  area("  20480 kernel_clone+0x9b/0x3f0 pages=4 vmalloc N0=2 N1=2") +
                  area("  36864 kernel_clone+0x11/0x3f0 pages=8 vmalloc N1=8")),
            "bpf_prog_alloc_no_stats: 4096/1/4096/-; kernel_clone: 65536/3/65536/-");
}

TEST_F(LinuxVmalloc, CountsAsBytesOnlyWhatTheAreasOwn) {
  EXPECT_EQ(words(area("  20480 irq_init_percpu_irqstack+0xcf/0x100 vmap")), "irq_init_percpu_irqstack (vmap): 0/1/16384/-");
  EXPECT_EQ(words(area("  20480 owner+0x1/0x2 pages=4 vmap")), "owner (vmap): 16384/1/16384/-");
  EXPECT_EQ(words(area("1052672 pci_mmcfg_arch_map+0x2b/0x60 phys=0x00000000eec00000 ioremap")),
            "pci_mmcfg_arch_map (ioremap): 0/1/1048576/-");
  EXPECT_EQ(words(area("2097152 pcpu_get_vm_areas+0x0/0x10a0 vmalloc")), "pcpu_get_vm_areas (percpu): 0/1/2097152/-");
  EXPECT_EQ(words(area("  20480 unpurged vm_area") + area("   8192 unpurged vm_area")), "unknown (unpurged): 0/0/28672/2");
  EXPECT_EQ(words(area("  16384 vm_map_ram")), "unknown (vm_map_ram): 0/1/16384/-");
}

TEST_F(LinuxVmalloc, TakesTheGuardPageOffWhereThereIsOne) {
  EXPECT_EQ(words(area("8192 f+0x1/0x2 pages=1 vmalloc")), "f: 4096/1/4096/-");
  EXPECT_EQ(words(area("8192 f+0x1/0x2 pages=2 vmalloc")), "f: 8192/1/8192/-") << "all of it is pages";
  EXPECT_EQ(words(area("0 f+0x1/0x2 vmap")), "f (vmap): 0/1/0/-");
  EXPECT_EQ(words(area("131072 f+0x1/0x2 pages=1 vmalloc"), 65536), "f: 65536/1/65536/-");
}

/// "name: bytes on node 0/on node 1/..." of all types.
std::string nodes_of(const Staging& staging) {
  std::string text;
  for (const StagedType& type : staging.types()) {
    text += (text.empty() ? "" : "; ") + std::string(type.name) + ":";
    for (std::uint32_t node = 0; node < staging.node_count(); ++node) {
      text += (node == 0 ? " " : "/") + std::to_string(staging.node_figure(type, NodeField::kHeldBytes, node));
    }
  }
  return text;
}

TEST_F(LinuxVmalloc, AddsUpThePagesOfACallerByNode) {
  ASSERT_TRUE(parse(area("20480 f+0x1/0x2 pages=4 vmalloc N0=1 N2=3") + area("20480 g+0x1/0x2 [N9] pages=4 vmalloc N1=4") +
                    area("20480 f+0x1/0x2 pages=4 N2=4 vmalloc new") + area("20480 h+0x1/0x2 vmap") +
                    area("8192 unpurged vm_area")));
  EXPECT_EQ(nodes_of(reader_.staging), "f: 4096/0/28672; g [N9]: 0/16384/0; h (vmap): 0/0/0; unknown (unpurged): 0/0/0");
  ASSERT_TRUE(parse(area("20480 f+0x1/0x2 pages=4 vmalloc N0=4"), 1, 65536));
  EXPECT_EQ(nodes_of(reader_.staging), "f: 262144");
}

TEST_F(LinuxVmalloc, TakesNodesThatNoKernelHasForNone) {
  for (const std::string word : {"N1024=4", "N18446744073709551616=4", "N4294967296=4", "N=4", "N1x=4", "NUMA=many"}) {
    ASSERT_TRUE(parse(area("20480 f+0x1/0x2 pages=4 vmalloc " + word))) << word;
    EXPECT_EQ(nodes_of(reader_.staging), "f:") << word;
  }
  ASSERT_TRUE(parse(area("20480 f+0x1/0x2 pages=4 vmalloc N1023=4 N1024=4 N0=0")));
  EXPECT_EQ(reader_.staging.node_count(), kMaxNodes);
  EXPECT_EQ(reader_.staging.node_figure(reader_.staging.types()[0], NodeField::kHeldBytes, 1023), 16384U);
  expect_refused(area("20480 f+0x1/0x2 pages=4 vmalloc N0=4503599627370496"), 0);
  const std::string half = area("20480 f+0x1/0x2 pages=4 vmalloc N0=2251799813685248");
  ASSERT_TRUE(parse(half));
  expect_refused(half + half, half.size());
}

TEST_F(LinuxVmalloc, NamesATypeByFunctionModuleAndKind) {
  EXPECT_EQ(name_of("8192 nft_init+0x1b/0x2c [nf_tables] pages=1 vmalloc N0=1"), "nft_init [nf_tables]");
  EXPECT_EQ(name_of("8192 nft_init+0x1b/0x2c [nf_tables 0123abcd] pages=1 vmalloc"), "nft_init [nf_tables]");
  EXPECT_EQ(name_of("8192 probe+0x1b/0x2c [nvme] phys=0x00000000fe000000 ioremap"), "probe [nvme] (ioremap)");
  EXPECT_EQ(name_of("8192 alloc.isra.0+0x1/0x2 pages=1 vmalloc user vpages N0=1"), "alloc.isra.0");
  EXPECT_EQ(name_of("8192 dma_common_contiguous_remap+0x1/0x2 vmap dma-coherent"),
            "dma_common_contiguous_remap (dma-coherent)");
  EXPECT_EQ(name_of("8192 arena_map_alloc+0x1/0x2 sparse"), "arena_map_alloc (sparse)");
  EXPECT_EQ(name_of("8192 f+0x1/0x2"), "f (other)");
  EXPECT_EQ(name_of("8192 f+0x1/0x2 a-new-kind new=1 newer"), "f (other)");
  EXPECT_EQ(name_of("8192 f+0x1/0x2 new vmalloc newer pages=1"), "f");
  EXPECT_EQ(name_of("8192 f+0x1/0x2 [nobracket vmalloc"), "f") << "no end, so no module";
  EXPECT_EQ(name_of("8192 pcpu_get_vm_areas+0x0/0x1 pages=1 vmalloc"), "pcpu_get_vm_areas");
  EXPECT_EQ(name_of("8192 operator+0x2+0x1/0x2 vmalloc"), "operator+0x2") << "only the last offset is one";
}

TEST_F(LinuxVmalloc, CallsAreasWithoutCallerUnknown) {
  EXPECT_EQ(name_of("8192 pages=1 vmalloc N0=1"), "unknown");
  EXPECT_EQ(name_of("8192 vmalloc"), "unknown");
  EXPECT_EQ(name_of("8192 phys=0x00000000fe000000 ioremap"), "unknown (ioremap)");
  EXPECT_EQ(name_of("8192 user"), "unknown (other)");
  EXPECT_EQ(name_of("8192"), "unknown (other)");
  EXPECT_EQ(name_of("8192 (null) vmalloc"), "unknown");
}

TEST_F(LinuxVmalloc, NeverShowsAnAddress) {
  const std::string secret = "ffffffffc0a1b2c3";
  for (const std::string& rest :
       {"8192 0x" + secret + " pages=1 vmalloc", "8192 0x" + secret + "+0x1/0x2 pages=1 vmalloc",
        "8192 (____ptrval____) vmalloc phys=0x" + secret, "8192 f+0x" + secret + "/0x" + secret + " phys=0x" + secret}) {
    ASSERT_TRUE(parse("0x" + secret + "-0x" + secret + " " + rest + "\n")) << rest;
    for (const StagedType& type : reader_.staging.types()) EXPECT_EQ(type.name.find(secret), std::string::npos) << type.name;
  }
  EXPECT_EQ(name_of("8192 0x" + secret + " pages=1 vmalloc"), "unknown");
}

TEST_F(LinuxVmalloc, TakesAddressesThatTheKernelHides) {
  EXPECT_EQ(words("0x0000000000000000-0x0000000000000000   8192 f+0x1/0x2 pages=1 vmalloc\n"
                  "0x(____ptrval____)-0x(____ptrval____)   8192 f+0x1/0x2 pages=1 vmalloc\n"),
            "f: 8192/2/8192/-");
}

TEST_F(LinuxVmalloc, TakesNumbersUpTo64BitsAndRefusesLargerOnes) {
  EXPECT_EQ(words(area("18446744073709551615 f+0x1/0x2 vmap")), "f (vmap): 0/1/18446744073709547519/-");
  for (const std::string number :
       {"18446744073709551616", "99999999999999999999999", "-1", "+1", "1.5", "0x10", "", "many"}) {
    expect_refused(area("8192 f+0x1/0x2 pages=" + number + " vmalloc"), 0);
    if (!number.empty()) expect_refused(area(number + " f+0x1/0x2 vmalloc"), 0);
  }
}

TEST_F(LinuxVmalloc, RefusesSumsAndProductsBeyond64Bits) {
  expect_refused(area("8192 f+0x1/0x2 pages=18446744073709551615 vmalloc"), 0);
  expect_refused(area("8192 f+0x1/0x2 pages=4503599627370496 vmalloc"), 0);
  EXPECT_EQ(words(area("8192 f+0x1/0x2 pages=4503599627370495 vmalloc")),
            "f: 18446744073709547520/1/18446744073709547520/-");
  const std::string half = area("9223372036854779904 f+0x1/0x2 vmap");
  expect_refused(half + half, half.size());
}

TEST_F(LinuxVmalloc, CutsEndlessNames) {
  const std::string endless(4096, 'n');
  EXPECT_EQ(name_of("8192 " + endless + "+0x1/0x2 [" + endless + "] ioremap"),
            endless.substr(0, 512) + " [" + endless.substr(0, 63) + "] (ioremap)");
  EXPECT_EQ(name_of("8192 " + endless + " vmalloc"), endless.substr(0, 512));
}

/// Areas of N callers, a different one on each line; from `first` on, in a loop.
std::string many_areas(std::size_t count, std::size_t callers, std::size_t first = 0) {
  std::string text;
  for (std::size_t i = first; i < first + count; ++i) {
    text += area("  20480 caller_" + std::to_string(i % callers) + "+0x94/0x3e0 pages=4 vmalloc N0=4");
  }
  return text;
}

TEST_F(LinuxVmalloc, KeepsTheOrderOfItsTypesWhenTheAreasChangeTheirs) {
  ASSERT_TRUE(parse(many_areas(100, 7)));
  std::vector<std::string> names;
  for (const StagedType& type : reader_.staging.types()) names.emplace_back(type.name);
  ASSERT_TRUE(parse(many_areas(50, 7, 3)));
  ASSERT_EQ(reader_.staging.types().size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(reader_.staging.types()[i].name, names[i]);
}

}  // namespace
}  // namespace memstat::linux_vmalloc_test
