// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's dumps as programs open them, with the kernel's file in the same directory.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "core/capture/replay_view.h"
#include "core/kernel/open_view.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"

namespace memstat {
namespace {

using postmortem::Machine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string sysctl_of(KernelView& view, std::string_view name) {
  Buffer bytes;
  const auto read = view.read_sysctl(name, bytes, 0);
  return read ? std::string(bytes.view()) : to_string(read.error());
}

std::uint64_t number_of(KernelView& view, std::string_view name) {
  std::string bytes = sysctl_of(view, name);
  if (bytes.size() > 8) return ~std::uint64_t{0};
  std::uint64_t value = 0;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&value));
  return value;
}

/// Opens a dump whose kernel is in the same directory.
class FreeBsdDump : public testing::Test {
 protected:
  Result<OpenedView> open(const FakeFreeBsdDump& fake, const std::string& name = "vmcore.2") {
    return open_bytes(fake.dump(), fake.kernel(), name);
  }
  Result<OpenedView> open_bytes(const std::string& dump, const std::string& kernel, const std::string& name = "vmcore.2") {
    write_text(directory_.file("kernel"), kernel);
    write_text(directory_.file(name), dump);
    return open_view(directory_.file(name));
  }
  static void expect_streams(const FakeFreeBsdDump& fake, const Result<OpenedView>& opened) {
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_THAT(opened->notes, IsEmpty());
    EXPECT_TRUE(sysctl_of(*opened->view, "kern.malloc_stats") == fake.malloc_stream());
    EXPECT_TRUE(sysctl_of(*opened->view, "vm.zone_stats") == fake.zone_stream());
  }

  TemporaryDirectory directory_;
};

TEST_F(FreeBsdDump, OfEveryReleaseAndMachineAnswersByteForByteAsItsKernelWould) {
  for (const unsigned release : {13U, 14U, 15U, 99U}) {
    for (const auto& [machine, version] :
         {std::pair(Machine::kX86, 1U), std::pair(Machine::kX86, 2U), std::pair(Machine::kX86, 3U),
          std::pair(Machine::kX86, 0U), std::pair(Machine::kArm64, 0U), std::pair(Machine::kArm64, 1U),
          std::pair(Machine::kArm64, 3U)}) {
      SCOPED_TRACE(std::to_string(release) + " " + std::string(to_string(machine)) + " " + std::to_string(version));
      FakeFreeBsdOptions options = small_freebsd();
      options.release = release;
      options.machine = machine;
      options.minidump_version = version;
      const FakeFreeBsdDump fake(options);
      expect_streams(fake, open(fake));
    }
  }
}

TEST_F(FreeBsdDump, OfOtherPagesLevelsOfTablesAndPlacesOfTheKernelIsTheSame) {
  struct Kind {
    Machine machine;
    std::uint64_t load_offset = 0;
    bool has_fifth_level = false;
    std::uint64_t page_bytes = 4096;
  };
  for (const Kind& kind : {Kind{Machine::kArm64, 0, false, 16384}, Kind{Machine::kX86, std::uint64_t{2} << 20U},
                           Kind{Machine::kX86, 0x7e00000}, Kind{Machine::kArm64, 0x8'4560'0000},
                           Kind{Machine::kX86, 0, true}, Kind{Machine::kX86, std::uint64_t{2} << 20U, true}}) {
    FakeFreeBsdOptions options = small_freebsd();
    options.machine = kind.machine;
    options.page_bytes = kind.page_bytes;
    options.load_offset = kind.load_offset;
    options.has_fifth_level = kind.has_fifth_level;
    if (kind.page_bytes == 4096) options.minidump_version = 0;
    const FakeFreeBsdDump fake(options);
    const auto opened = open(fake);
    expect_streams(fake, opened);
    EXPECT_EQ(opened->view->page_size(), kind.page_bytes);
  }
}

TEST_F(FreeBsdDump, IsACaptureOfThatMachine) {
  const auto opened = open(FakeFreeBsdDump(small_freebsd()));
  ASSERT_TRUE(opened) << to_string(opened.error());
  KernelView& view = *opened->view;
  EXPECT_EQ(view.os(), OperatingSystem::kFreeBsd);
  EXPECT_EQ(view.os_release(), "15.0-RELEASE");
  EXPECT_EQ(view.cpu_count(), 4U);
  ASSERT_NE(opened->capture, nullptr);
  EXPECT_EQ(opened->capture->manifest().cpus_present, "0-1,3");
  EXPECT_EQ(opened->capture->manifest().machine, "amd64");
  EXPECT_EQ(opened->capture->manifest().nodes, 2U);
  EXPECT_EQ(opened->capture->poll_info(0).realtime_ns, 1763650800LL * 1'000'000'000);
  EXPECT_EQ(number_of(view, "kern.malloc_count"), 3U);
  EXPECT_EQ(number_of(view, "vm.zone_count"), 5U);
  EXPECT_EQ(number_of(view, "kern.smp.maxid"), 3U);
  EXPECT_EQ(number_of(view, "vm.malloc.zone_count"), 8U);
  std::string sizes;
  for (const std::uint32_t size : {16U, 32U, 64U, 128U, 256U, 384U, 512U, 0U}) sizes += raw_bytes(size);
  EXPECT_EQ(sysctl_of(view, "vm.malloc.zone_sizes"), sizes);
}

TEST_F(FreeBsdDump, HasThePagesOfItsDomains) {
  const auto opened = open(FakeFreeBsdDump(small_freebsd()));
  ASSERT_TRUE(opened) << to_string(opened.error());
  const std::map<std::string, std::uint64_t> expected = {
      {"vm.stats.vm.v_page_count", 100000},    {"vm.stats.vm.v_wire_count", 3500},
      {"vm.stats.vm.v_free_min", 600},         {"vm.stats.vm.v_free_target", 700},
      {"vm.stats.vm.v_user_wire_count", 77},   {"vm.stats.vm.v_free_count", 30000},
      {"vm.stats.vm.v_inactive_count", 2001},  {"vm.stats.vm.v_active_count", 4001},
      {"vm.stats.vm.v_laundry_count", 6001},   {"vm.domain.0.stats.free_count", 10000},
      {"vm.domain.1.stats.free_count", 20000}, {"vm.domain.1.stats.free_min", 301},
      {"vm.domain.1.stats.active", 2001},      {"vm.domain.1.stats.unswappable", 4001},
      {"vm.domain.0.stats.inactpdpgs", 5},     {"vm.uma_kmem_total", 123456789}};
  for (const auto& [name, value] : expected) EXPECT_EQ(number_of(*opened->view, name), value) << name;
}

TEST_F(FreeBsdDump, WantsItsOwnKernel) {
  const FakeFreeBsdDump fake(small_freebsd());
  write_text(directory_.file("vmcore.0"), fake.dump());
  const auto without = open_view(directory_.file("vmcore.0"));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, ErrorCode::kNotPresent);
  EXPECT_THAT(to_string(without.error()), HasSubstr("MEMSTAT_KERNEL"));

  FakeFreeBsdOptions other = small_freebsd();
  other.release = 14;
  write_text(directory_.file("kernel"), FakeFreeBsdDump(other).kernel());
  const auto wrong = open_view(directory_.file("vmcore.0"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kVersion);
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("is of another kernel than"));
  EXPECT_THAT(to_string(wrong.error()), HasSubstr("14.0-RELEASE"));

  write_text(directory_.file("kernel.0"), fake.kernel());
  EXPECT_TRUE(open_view(directory_.file("vmcore.0"))) << "the kernel with its number comes first";

  write_text(directory_.file("named"), FakeFreeBsdDump(other).kernel());
  ASSERT_EQ(::setenv("MEMSTAT_KERNEL", directory_.file("named").c_str(), 1), 0);
  EXPECT_FALSE(open_view(directory_.file("vmcore.0"))) << "only the named kernel file counts";
  write_text(directory_.file("named"), fake.kernel());
  EXPECT_TRUE(open_view(directory_.file("vmcore.0")));
  ASSERT_EQ(::unsetenv("MEMSTAT_KERNEL"), 0);
}

TEST_F(FreeBsdDump, ListsThatAreTornOrGoInACircleEndWithANote) {
  FakeFreeBsdDump circle(small_freebsd());
  circle.poke(circle.address("next devbuf"), circle.address("type temp"));
  circle.poke(circle.address("next zone mbuf_packet"), circle.address("zone mbuf"));
  circle.poke(circle.address("next keg 2"), circle.address("keg 0"));
  const auto round = open(circle);
  ASSERT_TRUE(round) << to_string(round.error());
  EXPECT_THAT(round->notes, ElementsAre("malloc types: the list of types: 3 were read, then: the list is circular",
                                        "zones: the zones of a keg: 2 were read, then: the list is circular",
                                        "zones: the list of kegs: 3 were read, then: the list is circular"));
  EXPECT_TRUE(sysctl_of(*round->view, "kern.malloc_stats") == circle.malloc_stream());
  EXPECT_TRUE(sysctl_of(*round->view, "vm.zone_stats") == circle.zone_stream());

  FakeFreeBsdDump torn(small_freebsd());
  torn.poke(torn.address("next temp"), 0xdeadc0dedeadc0de);
  torn.poke(torn.address("name temp"), 8);
  torn.poke(torn.address("allocs mbuf"), 0x8888'0000'0000'0000);
  const auto some = open(torn);
  ASSERT_TRUE(some) << to_string(some.error());
  EXPECT_EQ(number_of(*some->view, "kern.malloc_count"), 1U);
  EXPECT_EQ(number_of(*some->view, "vm.zone_count"), 5U);
  ASSERT_EQ(some->notes.size(), 3U);
  EXPECT_THAT(some->notes[0], HasSubstr("malloc type ?: its name: "));
  EXPECT_THAT(some->notes[1], HasSubstr("the list of types: 1 were read, then: "));
  EXPECT_THAT(some->notes[2], HasSubstr("zone mbuf: a counter: "));
}

TEST_F(FreeBsdDump, RejectsImpossibleCountsOfCpusAndDomains) {
  FakeFreeBsdDump fake(small_freebsd());
  fake.poke(fake.address("mp_maxid"), 0xffff'ffff);
  fake.poke(fake.address("vm_ndomains"), 0x7fff'ffff);
  const auto opened = open(fake);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(opened->view->cpu_count(), 1U);
  ASSERT_FALSE(opened->notes.empty());
  EXPECT_THAT(opened->notes[0], HasSubstr("mp_maxid is 4294967295, which is impossible"));
  EXPECT_THAT(opened->notes[0], HasSubstr("vm_ndomains is 2147483647, which is impossible"));
}

TEST_F(FreeBsdDump, CountersBeforeTheyAreSetUpAreZero) {
  FakeFreeBsdDump fake(small_freebsd());
  fake.poke(fake.address("allocs malloc-64"), 168);
  const auto opened = open(fake);
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_THAT(opened->notes, IsEmpty());
}

TEST_F(FreeBsdDump, KernelsWithoutSymbolsOrTypesAreRefused) {
  const FakeFreeBsdDump fake(small_freebsd());
  std::string stripped = fake.kernel();
  const std::uint64_t table = [&] {
    std::uint64_t at = 0;
    std::copy_n(stripped.data() + 40, sizeof at, reinterpret_cast<char*>(&at));
    return at;
  }();
  stripped[table + 2 * 64 + 4] = 1;  // the symbol table becomes plain data
  const auto without_symbols = open_bytes(fake.dump(), stripped);
  ASSERT_FALSE(without_symbols);
  EXPECT_EQ(without_symbols.error().code, ErrorCode::kKvmNoSymbol);
  EXPECT_THAT(to_string(without_symbols.error()), HasSubstr("stripped"));

  std::string untyped = fake.kernel();
  untyped.replace(untyped.find(".SUNW_ctf"), 9, ".nothing_");
  const auto without_types = open_bytes(fake.dump(), untyped);
  ASSERT_FALSE(without_types);
  EXPECT_EQ(without_types.error().code, ErrorCode::kKvmNoSymbol);
  EXPECT_THAT(to_string(without_types.error()), HasSubstr("CTF"));
}

TEST_F(FreeBsdDump, PackedAsAWholeIsRefusedWithWhatToDo) {
  FakeFreeBsdOptions options = small_freebsd();
  options.has_packed_types = true;
  const FakeFreeBsdDump fake(options);
  expect_streams(fake, open(fake));
  for (const auto& [name, bytes] :
       {std::pair("vmcore.0.gz", "\x1f\x8b" + fake.dump()), std::pair("vmcore.0.zst", "\x28\xb5\x2f\xfd" + fake.dump())}) {
    write_text(directory_.file(name), bytes);
    const auto packed = open_view(directory_.file(name));
    ASSERT_FALSE(packed);
    EXPECT_EQ(packed.error().code, ErrorCode::kVersion);
    EXPECT_THAT(to_string(packed.error()), HasSubstr("unzstd or gunzip"));
  }
}

TEST_F(FreeBsdDump, CutShortAnywhereIsAnErrorOrACapture) {
  const FakeFreeBsdDump fake(small_freebsd());
  const std::string whole = fake.dump();
  const std::string kernel = fake.kernel();
  std::size_t opened_count = 0;
  for (std::size_t size = 20; size < whole.size(); size += 8191) {
    const auto opened = open_bytes(whole.substr(0, size), kernel);
    if (opened) {
      ++opened_count;
      ASSERT_FALSE(opened->notes.empty());
    } else {
      EXPECT_FALSE(to_string(opened.error()).empty());
    }
  }
  EXPECT_GT(opened_count, 0U);
  for (std::size_t size = 0; size < kernel.size(); size += 97) {
    EXPECT_FALSE(open_bytes(whole, kernel.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace memstat
