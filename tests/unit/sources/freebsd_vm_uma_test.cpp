// SPDX-License-Identifier: BSD-2-Clause
// The tree vm.uma from handwritten zones. Captures: tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/source_reading.h"
#include "tests/support/stream_builder.h"
#include "tests/support/sysctl_kernel.h"
#include "tests/support/test.h"

namespace memstat::freebsd_vm_uma_test {
namespace {

constexpr std::uint64_t kPage = 4096;

const SourceDescriptor& source() { return *find_source("freebsd_vm_uma"); }

class FreebsdVmUma : public testing::Test {
 protected:
  /// Puts a zone into the stream, before the others, and into the tree.
  void add(const std::string& name, const std::string& node, std::uint32_t flags = 0, bool has_keg = true) {
    UmaZone zone;
    zone.name = name;
    zone.size = 100;
    zone.rsize = has_keg ? 128 : 0;
    zone.flags = flags;
    zone.zone_free = 5;
    if (has_keg && flags == 0) {
      zone.pages = 12;
      zone.keg_free = 3;
    }
    zones_.insert(zones_.begin(), zone);
    const std::string at = "vm.uma." + node + ".";
    kernel_.set_u32(at + "size", 100);
    kernel_.set(at + "flags", std::string("0x1<X>\0", 7));
    kernel_.set(at + "keg.name", (has_keg ? name : "cache zone") + std::string(1, '\0'));
    kernel_.set_u64(at + "limit.max_items", 0);
    kernel_.set_u32(at + "limit.sleepers", 0);
    kernel_.set_u64(at + "limit.sleeps", 0);
    kernel_.set_u64(at + "domain.0.nitems", 5);
    kernel_.set_u64(at + "domain.0.imax", 50);
    if (has_keg) {
      kernel_.set_u32(at + "keg.rsize", 128);
      kernel_.set(at + "keg.ppera", SysctlKernel::bytes_of(std::uint16_t{2}));
      kernel_.set_u32(at + "keg.efficiency", 97);
      kernel_.set_u32(at + "keg.domain.0.pages", 12);
      kernel_.set_u32(at + "keg.domain.0.free_items", 3);
      kernel_.set_u32(at + "keg.domain.0.free_slabs", 1);
    }
    write_stream();
  }
  void write_stream() {
    UmaStream stream(2);
    for (const UmaZone& zone : zones_) stream.add(zone);
    kernel_.set("vm.zone_stats", stream.bytes());
    kernel_.set_u32("vm.zone_count", static_cast<std::uint32_t>(zones_.size()));
    kernel_.set_u32("kern.smp.maxid", 1);
  }
  Result<void> refresh_it() { return refresh(reader_, kernel_, list_, ++generation_); }
  /// "sleepers wide_limit slabs efficiency | held free, held free" of the first type of that name, "-" for what it lacks.
  std::string type(std::string_view name) {
    for (const StagedType& found : reader_.staging.types()) {
      if (found.name == name) return text_of(found);
    }
    return "none";
  }
  std::string text_of(const StagedType& type) {
    std::string text =
        figure_words(type, {Field::kSleepers, Field::kCountLimit64, Field::kSlabs, Field::kSlabUtilization}, ' ') + " ";
    for (std::uint32_t node = 0; node < reader_.staging.node_count(); ++node) {
      text += node == 0 ? "|" : ",";
      const bool has_pages = type.node_fields.has(NodeField::kHeldBytes);
      text += " " +
              (has_pages ? std::to_string(reader_.staging.node_figure(type, NodeField::kHeldBytes, node) / kPage) : "-") +
              " " + std::to_string(reader_.staging.node_figure(type, NodeField::kFree, node));
    }
    return text;
  }

  SysctlKernel kernel_;
  std::vector<UmaZone> zones_;
  SourceReader reader_{source()};
  MemoryTypeList list_;
  std::uint64_t generation_ = 0;
};

TEST_F(FreebsdVmUma, HasSlabsAndItemsByDomain) {
  add("malloc-16", "malloc_16");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("malloc-16"), "- - 6 97 | 12 8");
  kernel_.set_u32("vm.uma.malloc_16.keg.domain.2.pages", 7);
  kernel_.set_u32("vm.uma.malloc_16.keg.domain.2.free_items", 1);
  kernel_.set_u64("vm.uma.malloc_16.domain.2.nitems", 40);
  SourceReader fresh(source());
  ASSERT_TRUE(refresh(fresh, kernel_, list_, ++generation_));
  reader_ = std::move(fresh);
  EXPECT_EQ(type("malloc-16"), "- - 9 97 | 12 8, 0 0, 7 41");
}

TEST_F(FreebsdVmUma, TakesFiguresOfOneDomainFromTheStream) {
  add("malloc-16", "malloc_16");
  ASSERT_TRUE(refresh_it());
  zones_[0].zone_free = 50;
  zones_[0].keg_free = 2;
  zones_[0].pages = 14;
  write_stream();
  kernel_.reads.clear();
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("malloc-16"), "- - 7 97 | 14 52");
  for (const auto& [name, count] : kernel_.reads) EXPECT_FALSE(name.starts_with("vm.uma.")) << name;
  kernel_.is_recorded = true;
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("malloc-16"), "- - 7 97 | 14 52") << "the same figures, whether it is recorded or not";
  for (const char* leaf : {"domain.0.nitems", "keg.domain.0.free_items", "keg.domain.0.pages", "keg.ppera", "keg.efficiency",
                           "limit.max_items"}) {
    EXPECT_EQ(kernel_.reads["vm.uma.malloc_16." + std::string(leaf)], 1) << leaf;
  }
}

TEST_F(FreebsdVmUma, ReadsThePagesOfAZoneWithALimitOfWhichTheStreamHasNone) {
  add("pbuf", "pbuf");
  zones_[0].limit = 10;
  zones_[0].pages = 0;
  write_stream();
  kernel_.set_u64("vm.uma.pbuf.limit.max_items", 10);
  ASSERT_TRUE(refresh_it());
  kernel_.set_u32("vm.uma.pbuf.keg.domain.0.pages", 20);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("pbuf"), "0 10 10 97 | 20 8");
}

TEST_F(FreebsdVmUma, ReadsThesePagesOfThisMachineAtEachFourthPoll) {
  add("pbuf", "pbuf");
  zones_[0].limit = 10;
  write_stream();
  kernel_.set_u64("vm.uma.pbuf.limit.max_items", 10);
  kernel_.is_live = true;
  std::vector<std::string> texts;
  for (std::uint32_t poll = 0; poll < 6; ++poll) {
    kernel_.set_u32("vm.uma.pbuf.keg.domain.0.pages", 20 + 2 * poll);
    ASSERT_TRUE(refresh_it());
    texts.push_back(type("pbuf"));
  }
  const std::string first = "0 10 10 97 | 20 8";
  const std::string fifth = "0 10 14 97 | 28 8";
  EXPECT_EQ(texts, (std::vector{first, first, first, first, fifth, fifth}));
  kernel_.is_recorded = true;
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("pbuf"), "0 10 15 97 | 30 8") << "a recording has each poll as it was";
}

TEST_F(FreebsdVmUma, HasSleepersAndAllBitsOfALimit) {
  add("mbuf_cluster", "mbuf_cluster");
  zones_[0].limit = 2200;
  write_stream();
  kernel_.set_u64("vm.uma.mbuf_cluster.limit.max_items", (std::uint64_t{1} << 32U) + 2200);
  kernel_.set_u32("vm.uma.mbuf_cluster.limit.sleepers", 8);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("mbuf_cluster"), "8 4294969496 6 97 | 12 8");
  kernel_.set_u64("vm.uma.mbuf_cluster.limit.max_items", 0);
  zones_[0].limit = 0;
  write_stream();
  kernel_.reads.clear();
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("mbuf_cluster"), "- - 6 97 | 12 8");
  EXPECT_FALSE(kernel_.reads.contains("vm.uma.mbuf_cluster.limit.sleepers")) << "no thread waits without a limit";
}

TEST_F(FreebsdVmUma, LooksForSleepersOfThisMachineOnlyWhereAThreadWentToSleep) {
  const std::string sleepers = "vm.uma.mbuf_cluster.limit.sleepers";
  add("mbuf_cluster", "mbuf_cluster");
  zones_[0].limit = 2200;
  kernel_.is_live = true;
  kernel_.set_u64("vm.uma.mbuf_cluster.limit.max_items", 2200);
  struct Poll {
    std::uint64_t sleeps;
    std::uint32_t now;
    int reads;
    const char* seen;
  };
  const Poll polls[] = {{5, 0, 1, "0"}, {5, 0, 1, "0"}, {6, 1, 2, "1"}, {6, 2, 3, "2"},
                        {6, 0, 4, "0"}, {6, 0, 4, "0"}, {9, 0, 5, "0"}, {9, 0, 5, "0"}};
  for (const Poll& poll : polls) {
    zones_[0].sleeps = poll.sleeps;
    write_stream();
    kernel_.set_u32(sleepers, poll.now);
    ASSERT_TRUE(refresh_it());
    EXPECT_EQ(type("mbuf_cluster"), std::string(poll.seen) + " 2200 6 97 | 12 8");
    EXPECT_EQ(kernel_.reads[sleepers], poll.reads);
  }
  kernel_.sysctls.erase(sleepers);
  zones_[0].sleeps = 10;
  write_stream();
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("mbuf_cluster"), "- 2200 6 97 | 12 8") << "gone";
}

TEST_F(FreebsdVmUma, FindsOutNodesOnceAndAgainWhenZonesComeAndGo) {
  add("a", "a");
  add("b", "b");
  for (int poll = 0; poll < 5; ++poll) ASSERT_TRUE(refresh_it());
  EXPECT_EQ(kernel_.listings, 1);
  kernel_.reads.clear();
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(kernel_.reads.size(), 3U) << "the stream, and the two with its size";
  add("c", "c");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(reader_.staging.types().size(), 3U);
  EXPECT_EQ(kernel_.listings, 2);
  // One goes and another comes: as many as before.
  kernel_.remove_tree("vm.uma.b.");
  zones_.erase(zones_.begin() + 1);
  add("d", "d");
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(kernel_.listings, 3);
  EXPECT_EQ(reader_.staging.types().size(), 3U);
  EXPECT_EQ(type("b"), "none");
  EXPECT_EQ(type("d"), "- - 6 97 | 12 8");
}

// Each poll of a recording has what was read in it, and a replay may begin with any.
TEST_F(FreebsdVmUma, ReplaysTheFirstAndALaterPollOfARecording) {
  add("x", "x");
  add("mbuf_packet", "mbuf_packet", 1);
  add("x", "x_1");
  add("vm pgcache", "vm_pgcache", 0, false);
  kernel_.set_u64("vm.uma.x.limit.max_items", 7);
  const auto all = kernel_.sysctls;
  const auto figures = [&] {
    std::vector<std::string> texts;
    for (const StagedType& type : reader_.staging.types()) texts.push_back(std::string(type.name) + " " + text_of(type));
    return texts;
  };
  ASSERT_TRUE(refresh_it());
  const std::vector<std::string> before = figures();
  EXPECT_EQ(before.size(), 4U);
  kernel_.is_recorded = true;
  for (const char* poll : {"first", "later"}) {
    SCOPED_TRACE(poll);
    reader_ = SourceReader(source());
    kernel_.sysctls = all;
    kernel_.reads.clear();
    ASSERT_TRUE(refresh_it());
    if (std::string_view(poll) == "later") {
      kernel_.reads.clear();
      ASSERT_TRUE(refresh_it());
    }
    const auto read = kernel_.reads;
    std::erase_if(kernel_.sysctls,
                  [&](const auto& sysctl) { return sysctl.first.starts_with("vm.uma.") && !read.contains(sysctl.first); });
    reader_ = SourceReader(source());
    ASSERT_TRUE(refresh_it());
    EXPECT_EQ(figures(), before);
  }
}

TEST_F(FreebsdVmUma, PassesOverLeavesThatNewerKernelsHaveAndDomainsThatCannotBe) {
  add("a", "a");
  kernel_.set_u64("vm.uma.a.keg.domain.0.new", 1);
  kernel_.set_u64("vm.uma.a.new.leaf", 1);
  for (const char* domain : {"1024", "x", "-1", "99999999999999999999", ""}) {
    kernel_.set_u32("vm.uma.a.keg.domain." + std::string(domain) + ".pages", 1);
  }
  kernel_.set_u32("vm.uma.no_zone.size", 8);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(reader_.staging.node_count(), 1U);
  EXPECT_EQ(type("a"), "- - 6 97 | 12 8");
}

TEST_F(FreebsdVmUma, TakesAnIntegerBelowZeroForNone) {
  add("a", "a");
  kernel_.set_u64("vm.uma.a.domain.0.nitems", static_cast<std::uint64_t>(-3));
  kernel_.set_u64("vm.uma.a.domain.1.nitems", 0);
  kernel_.set("vm.uma.a.keg.ppera", SysctlKernel::bytes_of(std::uint16_t{0}));
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("a"), "- - - 97 | 12 3, 0 0");
}

}  // namespace
}  // namespace memstat::freebsd_vm_uma_test
