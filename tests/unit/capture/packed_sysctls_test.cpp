// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/packed_sysctls.h"

#include "core/capture/archive.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using Sysctls = std::map<std::string, std::string>;

std::string pack(const Sysctls& sysctls) {
  std::string packed;
  SysctlPacker packer(packed);
  for (const auto& [name, bytes] : sysctls) packer.add(name, bytes);
  return packed;
}

Result<Sysctls> unpack(std::string_view packed) {
  Sysctls sysctls;
  auto result = unpack_sysctls(packed, [&](const std::string& name, std::string bytes) {
    sysctls.emplace(name, std::move(bytes));
    return Result<void>();
  });
  if (!result) return result.error();
  return sysctls;
}

// As kern.malloc_stats of a kernel for 1024 CPUs: a name, and two CPUs in use.
std::string malloc_stats(std::size_t types) {
  std::string bytes;
  for (std::size_t i = 0; i < types; ++i) {
    std::string type(64 + 1024 * 64, '\0');
    type.replace(0, 4, "type");
    for (std::size_t at = 64; at < 192; at += 8) type[at] = static_cast<char>(1 + (i + at) % 255);
    bytes += type;
  }
  return bytes;
}

TEST(PackedSysctls, UnpackToTheSameBytesWithoutTheirZerosOnTheDisk) {
  using namespace std::string_literals;
  const Sysctls sysctls{{"kern.a", ""},
                        {"kern.ab", "\0"s},
                        {"kern.b", std::string(1000, '\0')},
                        {"kern.c", "\0\0x\0\0\0\0y\0\0z"s},
                        {"kern.malloc_stats", malloc_stats(50)},
                        {"vm.x", std::string(300, 'x')}};
  const std::string packed = pack(sysctls);
  EXPECT_LT(packed.size(), 8000U);
  const auto again = unpack(packed);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(*again, sysctls);
}

TEST(PackedSysctls, EveryCutAndEveryChangedByteIsRefusedOrHarmless) {
  const std::string packed = pack({{"kern.a", "some bytes"}, {"kern.b", std::string(100, '\0') + "x"}});
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto cut = unpack(std::string_view(packed).substr(0, size));
    EXPECT_TRUE(!cut || cut->size() < 2) << size;
  }
  for (std::size_t at = 0; at < packed.size(); ++at) {
    for (const unsigned char value : {0x00U, 0x01U, 0x7FU, 0x80U, 0xFFU}) {
      std::string changed = packed;
      changed[at] = static_cast<char>(value);
      (void)unpack(changed).has_value();  // no sanitizer complains
    }
  }
}

TEST(PackedSysctls, AClaimOfMoreThanAPollMayHaveIsRefused) {
  std::string packed(kPackedSysctlsHead);
  packed.append(
      "\x00\x01"
      "a\xFF\xFF\xFF\xFF\x7F\xFF\xFF\xFF\xFF\x7F\x00",
      14);
  EXPECT_TRUE(fails(unpack(packed), {.code = ErrorCode::kData}));
}

TEST(PackedSysctls, AreReadFromADirectoryToo) {
  TemporaryDirectory directory;
  write_text(directory.file("rec/manifest.yaml"), "format: 1\nos: freebsd\npage_size: 4096\ncpus_present: \"0-1\"\n");
  write_text(directory.file("rec/000000/poll.yaml"), "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 1\n");
  write_text(directory.file("rec/000000/sysctls"), pack({{"kern.a", "1234"}, {"vm.b", "12"}}));
  const auto capture = open_capture(directory.file("rec"));
  ASSERT_TRUE(capture) << to_string(capture.error());
  EXPECT_EQ((*capture)->poll_count(), 1U);
  Buffer out;
  ASSERT_TRUE((*capture)->read_sysctl("kern.a", out, 4));
  EXPECT_EQ(out.view(), "1234");
  std::vector<std::string> names;
  ASSERT_TRUE((*capture)->list_sysctls("vm", names));
  EXPECT_EQ(names, std::vector<std::string>{"vm.b"});
}

TEST(PollsBesideAnArchive, AreReadWhileTheArchiveIsMissingOrEmpty) {
  TemporaryDirectory directory;
  const std::string archive = directory.file("x.tar.zst");
  EXPECT_FALSE(open_capture(archive));
  write_text(polls_beside(archive) + "/manifest.yaml", "format: 1\nos: freebsd\npage_size: 4096\ncpus_present: \"0-1\"\n");
  write_text(polls_beside(archive) + "/000000/poll.yaml", "realtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 1\n");
  EXPECT_TRUE(open_capture(archive));
  write_text(archive, "");
  EXPECT_TRUE(open_capture(archive));
  write_text(archive, "x");
  EXPECT_FALSE(open_capture(archive)) << "a damaged archive is not replaced by other polls";
}

}  // namespace
}  // namespace memstat
