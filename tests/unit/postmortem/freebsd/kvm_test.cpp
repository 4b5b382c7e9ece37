// SPDX-License-Identifier: BSD-2-Clause
// memstat_kvm_* on FreeBSD, with a libkvm that reads a fake kernel.
#include "core/postmortem/freebsd/kvm.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "core/c_api/list.h"
#include "core/postmortem/container/freebsd_minidump.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

using ::testing::HasSubstr;

constexpr KvmNeeds kBoth{.malloc = true, .uma = true};

/// Reads the dump as libkvm would.
class FakeKvm final : public KvmHandle {
 public:
  FakeKvm(const FakeFreeBsdDump& fake, const std::string& path) : fake_(fake) {
    write_text(path, fake.dump());
    dump_ = *FreeBsdMinidump::open(*BlockFile::open(path));
  }
  std::ptrdiff_t read(std::uint64_t address, char* to, std::size_t size) override {
    if (address == fails_at) return -1;
    if (address == stops_at) return static_cast<std::ptrdiff_t>(size) - 1;
    const std::size_t wanted = size;
    while (size > 0) {
      const auto place = dump_->translate(address);
      if (!place) return -1;
      const std::size_t part = std::min<std::uint64_t>(size, place->bytes);
      if (!dump_->read(place->address, to, part)) return -1;
      address += part;
      to += part;
      size -= part;
    }
    return static_cast<std::ptrdiff_t>(wanted);
  }
  int find(std::span<KvmSymbol> symbols) override {
    for (KvmSymbol& symbol : symbols)
      symbol.value = symbol.name == without_value ? 0 : fake_.address(std::string(symbol.name));
    return missing;
  }
  std::string error() override { return "what libkvm says"; }

  std::uint64_t fails_at = 0;
  std::uint64_t stops_at = 0;
  std::string without_value;
  int missing = 0;

 private:
  const FakeFreeBsdDump& fake_;
  std::unique_ptr<FreeBsdMinidump> dump_;
};

class FreeBsdKvm : public testing::Test {
 protected:
  void SetUp() override {
    write_text(directory_.file("kernel"), fake_.kernel());
    ASSERT_EQ(::setenv("MEMSTAT_KERNEL", directory_.file("kernel").c_str(), 1), 0);
  }
  void TearDown() override { ::unsetenv("MEMSTAT_KERNEL"); }

  TemporaryDirectory directory_;
  FakeFreeBsdDump fake_{small_freebsd()};
  FakeKvm handle_{fake_, directory_.file("vmcore")};
};

TEST_F(FreeBsdKvm, FillsAListAsTheLiveKernelWould) {
  auto opened = open_kvm_kernel(handle_, kBoth);
  ASSERT_TRUE(opened) << to_string(opened.error());
  Buffer stream;
  ASSERT_TRUE(opened->view->read_sysctl("vm.zone_stats", stream, 0));
  EXPECT_TRUE(stream.view() == fake_.zone_stream());
  QueriedList list;
  ASSERT_TRUE(list.query_opened(*std::move(opened), kBoth)) << list.message();
  EXPECT_EQ(list.types().size(), 8U);
  EXPECT_STREQ(list.notes(), "");
  // The next query does not read it.
  EXPECT_EQ(list.kernel(), QueriedList().kernel());
}

TEST_F(FreeBsdKvm, NeedsOnlyTheRequestedLists) {
  fake_.poke(fake_.address("uma_kegs"), 8);
  FakeKvm handle(fake_, directory_.file("other"));
  auto opened = open_kvm_kernel(handle, {.malloc = true});
  ASSERT_TRUE(opened) << to_string(opened.error());
  QueriedList list;
  EXPECT_TRUE(list.query_opened(*std::move(opened), {.malloc = true}));
  EXPECT_EQ(list.types().size(), 3U);
  EXPECT_THAT(list.notes(), HasSubstr("the list of kegs: 0 were read"));
}

TEST_F(FreeBsdKvm, FailuresHaveLibmemstatsCodes) {
  const auto code = [&] {
    const auto opened = open_kvm_kernel(handle_, kBoth);
    return opened ? ErrorCode::kUndefined : opened.error().code;
  };
  handle_.missing = 1;
  EXPECT_EQ(code(), ErrorCode::kKvm) << "nlist";
  EXPECT_THAT(to_string(open_kvm_kernel(handle_, kBoth).error()), HasSubstr("what libkvm says"));
  handle_.missing = 0;
  handle_.without_value = "uma_kegs";
  EXPECT_EQ(code(), ErrorCode::kKvmNoSymbol);
  handle_.without_value.clear();
  handle_.fails_at = fake_.address("kmemstatistics");
  EXPECT_EQ(code(), ErrorCode::kKvm);
  handle_.fails_at = fake_.address("uma_kegs");
  EXPECT_EQ(code(), ErrorCode::kKvm);
  handle_.fails_at = 0;
  handle_.stops_at = fake_.address("uma_kegs");
  EXPECT_EQ(code(), ErrorCode::kKvmShortRead);
  handle_.stops_at = 0;
  EXPECT_EQ(code(), ErrorCode::kUndefined);

  FakeFreeBsdOptions other = small_freebsd();
  other.release = 14;
  write_text(directory_.file("kernel"), FakeFreeBsdDump(other).kernel());
  EXPECT_EQ(code(), ErrorCode::kVersion);
  ASSERT_EQ(::unsetenv("MEMSTAT_KERNEL"), 0);
  EXPECT_EQ(code(), ErrorCode::kKvmNoSymbol) << "no kernel file";
}

TEST_F(FreeBsdKvm, WithoutLibkvmIsThatError) {
  QueriedList list;
  EXPECT_FALSE(list.query_kvm(nullptr, kBoth));
  EXPECT_EQ(list.error(), static_cast<int>(ErrorCode::kKvm));
}

}  // namespace
}  // namespace memstat::postmortem
