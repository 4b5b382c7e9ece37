// SPDX-License-Identifier: BSD-2-Clause
// The origins of allocations that memstatctl shows, from a capture.
#include "core/events/slab/slab_origins.h"

#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat::events {
namespace {

class SlabOriginsOfACapture : public testing::Test {
 protected:
  SlabOriginsOfACapture() {
    write_text(directory_.file("manifest.yaml"),
               "format: 1\nos: linux\nmachine: x86_64\npage_size: 4096\ncpus_present: \"0-1\"\n");
    write_text(directory_.file("000000/poll.yaml"), "realtime: 2026-11-23T07:07:19Z\nmonotonic_ns: 1\n");
  }
  void write_origins(const std::string& lines) {
    write_text(directory_.file("000000/source/linux_call_sites"),
               "call_sites 1\nunplaced 0\nmissed 0\nsite 1 8 8 0\tf\n" + lines + "end\n");
  }
  Result<std::vector<SlabOrigin>> read() {
    auto opened = SlabOrigins::open(directory_.path());
    if (!opened) return opened.error();
    EXPECT_FALSE((*opened)->is_live());
    return (*opened)->read();
  }

  TemporaryDirectory directory_;
};

TEST_F(SlabOriginsOfACapture, HaveTheirNamesAllocationsAndBytes) {
  write_origins("origin 10 1920 0\tdentry\t/a\tweb\t__d_alloc\norigin 3 640 1\tdentry\tother\tother\tother\n");
  const auto origins = read();
  ASSERT_TRUE(origins) << to_string(origins.error());
  ASSERT_THAT(*origins, SizeIs(2));
  EXPECT_EQ(names_of((*origins)[0]), OriginNames("dentry", "/a", "web", "__d_alloc"));
  EXPECT_EQ((*origins)[0].allocations, 10U);
  EXPECT_EQ((*origins)[0].bytes, 1920U);
  EXPECT_EQ(names_of((*origins)[1]), OriginNames("dentry", "other", "other", "other"));
  EXPECT_EQ((*origins)[1].allocations, 3U);
  EXPECT_EQ((*origins)[1].bytes, 640U);
}

TEST_F(SlabOriginsOfACapture, AreNoneWhereNothingWasAllocated) {
  write_origins("");
  const auto origins = read();
  ASSERT_TRUE(origins) << to_string(origins.error());
  EXPECT_THAT(*origins, SizeIs(0));
}

TEST_F(SlabOriginsOfACapture, AreRefusedWhereTheTableIsDamagedOrMissing) {
  write_origins("origin 10 1920\n");
  auto origins = read();
  ASSERT_TRUE(fails(origins, ErrorCode::kData));
  std::filesystem::remove(directory_.file("000000/source/linux_call_sites"));
  origins = read();
  ASSERT_TRUE(fails(origins, ErrorCode::kNotPresent));
}

TEST_F(SlabOriginsOfACapture, SayThatThereIsNoSuchCapture) {
  EXPECT_TRUE(fails(SlabOrigins::open(directory_.file("missing")), ErrorCode::kNotPresent));
}

TEST(SlabOriginsOfAnotherSystem, SayThatThereAreNone) {
  const auto opened = SlabOrigins::open(fixture_path("captures/freebsd-15.0-amd64-4cpu.tar.zst"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(to_string(opened.error()), "origins are counted on Linux only");
}

}  // namespace
}  // namespace memstat::events
