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

TEST(FreeBsdObjects, SayThatTheyAreNotAsManyAsTheKernelCounted) {
  const auto found = objects_of(FakeFreeBsdDump(freebsd_with_slabs()), "malloc-64");  // pages, and no slab on a list
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 0U);
  EXPECT_THAT(found->notes, Contains(HasSubstr("0 allocated objects were found; by its counters there are")));
}

TEST(FreeBsdObjects, DamageIsANoteAndTheRest) {
  const FakeFreeBsdDump whole(freebsd_with_slabs());
  struct Damage {
    std::uint64_t address;
    std::uint64_t value;
    std::uint64_t count;
    const char* says;
  };
  for (const auto& [address, value, count, says] : {
           Damage{whole.address("slab tidhash 1"), whole.address("slab tidhash 1"), 0,
                  "the slabs of domain 0: the list is circular"},
           Damage{whole.address("slab tidhash 0"), 0xdead'beef'dead'beef, 0, "a slab of domain 0: "},
           Damage{whole.address("bucket tidhash 1"), 0xdead'beef'dead'beef, 13, "a bucket: "},  // from the earlier read
           Damage{whole.address("bucket tidhash 0") + 8, 0x7fff, 14, "has more items than any can"},
       }) {
    FakeFreeBsdDump fake(freebsd_with_slabs());
    fake.poke(address, value);
    const auto found = objects_of(fake, "tidhash");
    ASSERT_TRUE(found) << says;
    EXPECT_THAT(found->notes, Contains(HasSubstr(says)));
    EXPECT_TRUE(count == 0 || found->count == count) << says << found->count;
  }
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
