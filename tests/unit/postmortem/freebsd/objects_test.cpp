// SPDX-License-Identifier: BSD-2-Clause
// The objects of zones in FreeBSD's dumps.
#include "core/postmortem/freebsd/objects.h"

#include <gmock/gmock.h>

#include <map>

#include "core/postmortem/dump_objects.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kAllItems = 1000;

Result<DumpObjects> open_with_its_kernel(const FakeFreeBsdDump& fake) {
  const TemporaryDirectory directory;
  write_text(directory.file("kernel"), fake.kernel());
  write_text(directory.file("vmcore.1"), fake.dump());
  return open_dump_objects(directory.file("vmcore.1"));
}

/// The objects of one zone; any error in the dump fails.
Result<SlabObjects> objects_of(const FakeFreeBsdDump& fake, std::string_view zone, std::uint64_t most = kAllItems) {
  const auto opened = open_with_its_kernel(fake);
  EXPECT_TRUE(opened) << to_string(opened.error());
  if (!opened) return opened.error();
  EXPECT_EQ(opened->allocator, "uma");
  EXPECT_THAT(opened->notes, IsEmpty());
  for (std::size_t i = 0; i < opened->types.size(); ++i) {
    if (opened->types[i].name == zone) return opened->objects_of(i, most);
  }
  ADD_FAILURE() << "no zone " << zone;
  return SlabObjects{};
}

/// The fake kernel's content of each item: its number in the slab, and its address.
void expect_whole(const SlabObjects& found) {
  for (const SlabObject& object : found.objects) {
    ASSERT_GE(object.words.size(), 2U);
    EXPECT_LT(object.words[0], 80U);
    EXPECT_EQ(object.words[1], object.address);
    EXPECT_FALSE(object.origin.has_value());
  }
}

TEST(FreeBsdObjects, AreThoseThatAreNeitherFreeInTheirSlabNorInABucket) {
  for (const unsigned release : {13U, 14U, 15U, 99U}) {
    for (const Machine machine : {Machine::kX86, Machine::kArm64}) {
      for (const unsigned version : {0U, 3U}) {
        SCOPED_TRACE(std::to_string(release) + " " + std::string(to_string(machine)) + " " + std::to_string(version));
        FakeFreeBsdOptions options = freebsd_with_slabs();
        options.release = release;
        options.machine = machine;
        options.minidump_version = version;
        const FakeFreeBsdDump fake(options);
        for (const auto& [zone, count] : {std::pair("tidhash", 13U), std::pair("ucred", 70U)}) {
          const auto found = objects_of(fake, zone);
          ASSERT_TRUE(found) << to_string(found.error());
          EXPECT_EQ(found->count, count) << zone;
          EXPECT_EQ(found->counted, count) << zone;
          EXPECT_EQ(found->objects.size(), count) << zone;
          EXPECT_THAT(found->notes, IsEmpty()) << zone;
          EXPECT_FALSE(found->has_origins);
          expect_whole(*found);
        }
      }
    }
  }
}

TEST(FreeBsdObjects, AreTheLowestAddressesUpToTheLimit) {
  const FakeFreeBsdDump fake(freebsd_with_slabs());
  const auto all = objects_of(fake, "ucred");
  const auto some = objects_of(fake, "ucred", 7);
  const auto none = objects_of(fake, "ucred", 0);
  ASSERT_TRUE(all && some && none);
  EXPECT_EQ(some->count, 70U);
  ASSERT_EQ(some->objects.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(some->objects[i].address, all->objects[i].address);
  EXPECT_EQ(some->objects[0].words, (std::vector<std::uint64_t>{0, some->objects[0].address, 0, 0}));
  EXPECT_EQ(none->count, 70U);
  EXPECT_THAT(none->objects, IsEmpty());
}

TEST(FreeBsdObjects, OfZonesThatShareAKegAreThoseOfAll) {
  const FakeFreeBsdDump fake(freebsd_with_slabs());
  for (const auto& [zone, other] : {std::pair("shared", "shared again"), std::pair("shared again", "shared")}) {
    const auto found = objects_of(fake, zone);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count, 2U);
    EXPECT_THAT(found->notes,
                ElementsAre("shares its slabs with " + std::string(other) + ": these are the objects of all of them"));
  }
}

TEST(FreeBsdObjects, OfAZoneWithoutAKegBelongToAnother) {
  const auto found = objects_of(FakeFreeBsdDump(freebsd_with_slabs()), "vm pgcache");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotPresent);
  EXPECT_THAT(to_string(found.error()), HasSubstr("zone vm pgcache has no slabs"));
}

TEST(FreeBsdObjects, SayThatTheyAreNotAsManyAsTheKernelCounted) {
  const auto found = objects_of(FakeFreeBsdDump(freebsd_with_slabs()), "malloc-64");  // pages, and no slab on a list
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 0U);
  EXPECT_THAT(found->notes, Contains(HasSubstr("0 allocated objects were found; by its counters there are")));
}

TEST(FreeBsdObjects, OfSlabsInACircleEndWithANote) {
  FakeFreeBsdDump fake(freebsd_with_slabs());
  fake.poke(fake.address("slab tidhash 1"), fake.address("slab tidhash 1"));
  const auto found = objects_of(fake, "tidhash");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->notes, Contains(HasSubstr("the slabs of domain 0: the list is circular")));
}

TEST(FreeBsdObjects, OfSlabsAndBucketsThatAreNowhereEndWithANote) {
  FakeFreeBsdDump fake(freebsd_with_slabs());
  fake.poke(fake.address("slab tidhash 0"), 0xdead'beef'dead'beef);
  fake.poke(fake.address("bucket tidhash 1"), 0xdead'beef'dead'beef);
  const auto found = objects_of(fake, "tidhash");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 13U) << "from the earlier read";
  EXPECT_THAT(found->notes, Contains(HasSubstr("a slab of domain 0: ")));
  EXPECT_THAT(found->notes, Contains(HasSubstr("a bucket: ")));
}

TEST(FreeBsdObjects, OfABucketThatCannotBeSaySo) {
  FakeFreeBsdDump fake(freebsd_with_slabs());
  fake.poke(fake.address("bucket tidhash 0") + 8, 0x7fff);
  const auto found = objects_of(fake, "tidhash");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 14U);
  EXPECT_THAT(found->notes, Contains(HasSubstr("has more items than any can")));
}

TEST(FreeBsdObjects, OfAKernelFileWithoutSlabsAreAnError) {
  const FakeFreeBsdDump fake(freebsd_with_slabs());
  std::string kernel = fake.kernel();
  for (std::size_t at; (at = kernel.find("uma_hash_slab")) != std::string::npos;) kernel.replace(at, 3, "xxx");
  const TemporaryDirectory directory;
  write_text(directory.file("kernel"), kernel);
  write_text(directory.file("vmcore.1"), fake.dump());
  const auto opened = open_dump_objects(directory.file("vmcore.1"));
  ASSERT_TRUE(opened);
  const auto found = opened->objects_of(0, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kKvmNoSymbol);
}

}  // namespace
}  // namespace memstat::postmortem
