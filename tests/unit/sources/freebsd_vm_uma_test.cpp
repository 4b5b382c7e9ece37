// SPDX-License-Identifier: BSD-2-Clause
// The tree vm.uma: from handwritten zones, compared with vm.zone_stats in the capture that has both, and on this machine if
// it is FreeBSD.
#include <gtest/gtest.h>

#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/source_cases.h"
#include "tests/support/source_reading.h"
#include "tests/support/stream_builder.h"
#include "tests/support/sysctl_kernel.h"

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

TEST_F(FreebsdVmUma, GivesSecondaryAndCacheZonesNothingOfAKeg) {
  add("mbuf", "mbuf");
  add("mbuf_packet", "mbuf_packet", 1);
  add("vm pgcache", "vm_pgcache", 0, false);
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(type("mbuf"), "- - 6 97 | 12 8");
  EXPECT_EQ(type("mbuf_packet"), "- - - - | - 5");
  EXPECT_EQ(type("vm pgcache"), "- - - - | - 5");
}

TEST_F(FreebsdVmUma, NamesZonesOfOneNameInTheOrderOfTheRoster) {
  add("x", "x");
  add("other", "other");
  add("x", "x_1");
  zones_[0].zone_free = 11;
  write_stream();
  ASSERT_TRUE(refresh_it());
  ASSERT_EQ(reader_.staging.types().size(), 3U);
  EXPECT_EQ(text_of(reader_.staging.types()[0]), "- - 6 97 | 12 14") << "the younger one";
  EXPECT_EQ(text_of(reader_.staging.types()[2]), "- - 6 97 | 12 8");
}

TEST_F(FreebsdVmUma, LeavesOutZonesWhoseNamesCollide) {
  add("a b", "a_b");
  add("good", "good");
  add("a.b", "somewhere_else");
  kernel_.remove_tree("vm.uma.somewhere_else.");
  kernel_.set("vm.uma.a_b.keg.name", std::string("shared\0", 7));
  ASSERT_TRUE(refresh_it());
  EXPECT_EQ(reader_.staging.types().size(), 1U);
  EXPECT_EQ(reader_.staging.types()[0].name, "good");
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

TEST_F(FreebsdVmUma, IsNotPresentBefore13) {
  add("a", "a");
  kernel_.remove_tree("vm.uma.");
  const auto result = refresh_it();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotPresent);
  EXPECT_EQ(result.error().path, "vm.uma");
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

TEST_F(FreebsdVmUma, RefusesInvalidNumbers) {
  add("a", "a");
  kernel_.set_u32("vm.uma.a.keg.domain.1.pages", 0);
  kernel_.set("vm.uma.a.keg.domain.0.pages", "123");
  const auto result = refresh_it();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kData);
  EXPECT_EQ(result.error().path, "vm.uma");
  EXPECT_TRUE(result.error().offset.has_value());
}

/// Compares with vm.zone_stats for the same zones.
void expect_the_stream_to_agree(const Staging& tree, const Staging& stream, std::size_t most_that_changed) {
  std::size_t changed = 0;
  std::uint64_t held = 0;
  std::map<std::string, std::size_t> count;
  for (const StagedType& zone : stream.types()) ++count[std::string(zone.name)];
  std::size_t next = 0;
  for (const StagedType& zone : stream.types()) {
    // Both are in the order of the stream.
    if (next == tree.types().size() || tree.types()[next].name != zone.name) continue;
    const StagedType& type = tree.types()[next++];
    EXPECT_EQ(type.node_fields.has(NodeField::kHeldBytes), zone.fields.has(Field::kHeldBytes)) << zone.name;
    EXPECT_EQ(type.fields.has(Field::kCountLimit64), zone.fields.has(Field::kCountLimit)) << zone.name;
    if (zone.fields.has(Field::kCountLimit)) {
      EXPECT_EQ(type.figures[Field::kCountLimit64], zone.figures[Field::kCountLimit]) << zone.name;
    }
    std::uint64_t pages = 0;
    std::uint64_t free = 0;
    for (std::uint32_t node = 0; node < tree.node_count(); ++node) {
      pages += tree.node_figure(type, NodeField::kHeldBytes, node);
      free += tree.node_figure(type, NodeField::kFree, node);
    }
    held += pages;
    // The stream has no count of pages for a zone with a limit.
    const bool has_pages = zone.fields.has(Field::kHeldBytes) && !zone.fields.has(Field::kCountLimit);
    const bool is_same = (!has_pages || pages == zone.figures[Field::kHeldBytes]) &&
                         free == zone.figures[Field::kZoneFree] + zone.figures[Field::kKegFree];
    if (!is_same) ++changed;
    if (type.fields.has(Field::kSlabUtilization)) {
      EXPECT_GT(type.figures[Field::kSlabUtilization], 0U) << zone.name;
      EXPECT_LE(type.figures[Field::kSlabUtilization], 100U) << zone.name;
    }
  }
  EXPECT_EQ(next, tree.types().size()) << "types in another order than the roster's";
  EXPECT_GE(next + 4, stream.types().size()) << "hardly any name collides";
  EXPECT_LE(changed, most_that_changed);
  EXPECT_GT(held, 0U);
}

TEST(FreebsdVmUmaCaptures, AgreeWithTheStream) {
  for (const std::string& capture : captures_of_source("freebsd_vm_uma")) {
    const auto view = open_fixture(capture);
    for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
      SCOPED_TRACE(capture + "@" + std::to_string(poll));
      ASSERT_TRUE(view->select_poll(poll));
      SourceReader tree(source());
      SourceReader stream(*find_source("freebsd_uma"));
      MemoryTypeList list;
      ASSERT_TRUE(refresh(stream, *view, list, 1));
      ASSERT_TRUE(refresh(tree, *view, list, 1));
      EXPECT_EQ(tree.staging.types().size(), 138U) << "every zone, \"vm pgcache\" twice";
      // The manifest says that the stream of poll 1 was read again a moment later.
      expect_the_stream_to_agree(tree.staging, stream.staging, poll == 1 ? 10 : 2);
      const MemoryType* clusters = list.find(Allocator::kUma, "mbuf_cluster");
      ASSERT_NE(clusters, nullptr);
      EXPECT_EQ(clusters->figure(Field::kCountLimit64), 2200U);
      EXPECT_EQ(clusters->figure(Field::kSleepers), poll == 1 ? 8U : clusters->figure(Field::kSleepers));
      // 0 pages in the stream, because none of its items are in use now.
      const MemoryType* buffers = list.find(Allocator::kUma, "pbuf");
      ASSERT_NE(buffers, nullptr);
      EXPECT_EQ(buffers->figure(Field::kHeldBytes), 0U);
      EXPECT_EQ(buffers->node_figure(NodeField::kHeldBytes, 0), 141 * kPage);
    }
  }
}

// All kegs together, and malloc(9)'s own allocations, equal uma's own count.
TEST(FreebsdVmUmaCaptures, HoldAtMostUmasOwnTotal) {
  for (const std::string& capture : captures_of_source("freebsd_vm_uma")) {
    const auto view = open_fixture(capture);
    for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
      ASSERT_TRUE(view->select_poll(poll));
      SourceReader tree(source());
      MemoryTypeList list;
      ASSERT_TRUE(refresh(tree, *view, list, 1));
      std::uint64_t held = 0;
      for (const StagedType& type : tree.staging.types()) {
        if (type.node_fields.has(NodeField::kHeldBytes)) held += tree.staging.node_figure(type, NodeField::kHeldBytes, 0);
      }
      Buffer bytes;
      ASSERT_TRUE(view->read_sysctl("vm.uma_kmem_total", bytes, 8));
      std::uint64_t total = 0;
      std::memcpy(&total, bytes.data(), std::min(bytes.size(), sizeof total));
      EXPECT_LE(held, total);
      EXPECT_GE(held, total / 4);
    }
  }
}

TEST(FreebsdVmUmaLive, AgreesWithTheStream) {
  auto view = make_live_kernel_view();
  if (!view || (*view)->os() != OperatingSystem::kFreeBsd) GTEST_SKIP() << "this machine does not run FreeBSD";
  SourceReader tree(source());
  if (const auto opened = open_source(tree, **view); !opened && opened.error().code == ErrorCode::kNotPresent) {
    GTEST_SKIP() << "this kernel has no tree vm.uma: " << to_string(opened.error());
  }
  SourceReader stream(*find_source("freebsd_uma"));
  MemoryTypeList list;
  ASSERT_TRUE(refresh(stream, **view, list, 1));
  const auto result = refresh(tree, **view, list, 1);
  ASSERT_TRUE(result) << to_string(result.error());
  expect_the_stream_to_agree(tree.staging, stream.staging, stream.staging.types().size() / 2);
}

}  // namespace
}  // namespace memstat::freebsd_vm_uma_test
