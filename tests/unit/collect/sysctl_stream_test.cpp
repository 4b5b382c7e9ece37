// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/sysctl_stream.h"

#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Logs how much room each request for a sysctl offered.
class RoomNotingView final : public PreparedKernelView {
 public:
  [[nodiscard]] bool reads_this_machine() const override { return is_live; }
  [[nodiscard]] bool wants_whole_polls() const override { return is_recorded; }
  RoomNotingView() : PreparedKernelView(OperatingSystem::kFreeBsd) {}
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    rooms[std::string(name)].push_back(size_hint);
    return PreparedKernelView::read_sysctl(name, out, size_hint);
  }
  void set(const char* name, std::uint32_t value) {
    contents[name] = {std::string(reinterpret_cast<const char*>(&value), sizeof value)};
  }
  std::map<std::string, std::vector<std::size_t>> rooms;
  bool is_live = false;
  bool is_recorded = false;
};

class SysctlStreamTest : public testing::Test {
 protected:
  std::size_t room_of(const SysctlStream& stream) {
    view_.contents[std::string(stream.name)] = {"the stream"};
    view_.rooms.clear();
    EXPECT_TRUE(read_sysctl_stream(view_, stream, size_, out_, scratch_));
    EXPECT_EQ(out_.view(), "the stream");
    return view_.rooms[std::string(stream.name)].at(0);
  }
  RoomNotingView view_;
  std::size_t size_ = 0;
  Buffer out_;
  Buffer scratch_;
};

TEST_F(SysctlStreamTest, AsksForOneRecordMoreThanTheKernelCounts) {
  view_.set("kern.smp.maxcpus", 1024);
  view_.set("kern.malloc_count", 330);
  EXPECT_EQ(room_of(kMallocStream), 331U * (32 + 64 * 1024));
  size_ = 0;
  view_.set("kern.smp.maxid", 3);
  view_.set("vm.zone_count", 150);
  EXPECT_EQ(room_of(kZoneStream), 151U * (120 + 64 * 4)) << "the highest CPU's number is one less than there are blocks";
}

TEST_F(SysctlStreamTest, OfThisMachineIsAsLargeAsTheLastTimeAndNotCounted) {
  view_.is_live = true;
  view_.set("kern.smp.maxcpus", 1024);
  view_.set("kern.malloc_count", 330);
  EXPECT_EQ(room_of(kMallocStream), 331U * (32 + 64 * 1024));
  EXPECT_EQ(size_, 10U);
  size_ = 6400;
  EXPECT_EQ(room_of(kMallocStream), 6500U) << "and a little more";
  EXPECT_EQ(view_.rooms.size(), 1U);
  view_.is_recorded = true;
  EXPECT_EQ(room_of(kMallocStream), 331U * (32 + 64 * 1024));
  EXPECT_EQ(view_.rooms.size(), 3U) << "a recording has the counts";
}

TEST_F(SysctlStreamTest, AsksForNoLessThanTheLastTimeAndNoMoreThan1GiB) {
  view_.set("kern.smp.maxid", 0);
  view_.set("vm.zone_count", 1);
  size_ = 5000;
  EXPECT_EQ(room_of(kZoneStream), 5000U);
  for (const std::uint32_t cpus : {0xFFFFFFFFU, 0x7FFFFFFFU, 1U << 26, 65536U}) {
    for (const std::uint32_t count : {0xFFFFFFFFU, 0xFFFFFFFEU, 0x7FFFFFFFU, 1U << 28}) {
      size_ = 0;
      view_.set("kern.smp.maxcpus", cpus);
      view_.set("kern.malloc_count", count);
      view_.set("kern.smp.maxid", cpus);
      view_.set("vm.zone_count", count);
      EXPECT_EQ(room_of(kMallocStream), 1U << 30) << cpus << ' ' << count;
      EXPECT_EQ(room_of(kZoneStream), 1U << 30) << cpus << ' ' << count;
    }
  }
}

TEST_F(SysctlStreamTest, AProductBeyond64BitsIsNotTakenForALittle) {
  // Chosen so that (count + 1) x record is just above a multiple of 2^64.
  view_.set("kern.smp.maxcpus", 3621446541U);
  view_.set("kern.malloc_count", 79589846U);
  EXPECT_EQ(room_of(kMallocStream), 1U << 30);
  size_ = 0;
  view_.set("kern.smp.maxid", 1126576717U);
  view_.set("vm.zone_count", 255846202U);
  EXPECT_EQ(room_of(kZoneStream), 1U << 30);
}

TEST_F(SysctlStreamTest, AnIntegerHas4Bytes) {
  view_.set("kern.smp.maxid", 0x01020304);
  const auto value = read_sysctl_u32(view_, "kern.smp.maxid", scratch_);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, 0x01020304U);
  EXPECT_EQ(view_.rooms["kern.smp.maxid"], std::vector<std::size_t>{4});
  for (const std::size_t size : {0U, 3U, 5U, 8U}) {
    view_.contents["kern.smp.maxid"] = {std::string(size, '\1')};
    EXPECT_TRUE(fails(read_sysctl_u32(view_, "kern.smp.maxid", scratch_),
                      {.code = ErrorCode::kData, .detail = std::to_string(size) + " bytes"}))
        << size;
  }
  EXPECT_TRUE(fails(read_sysctl_u32(view_, "kern.none", scratch_), ErrorCode::kNotPresent));
}

}  // namespace
}  // namespace memstat
