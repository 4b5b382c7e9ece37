// SPDX-License-Identifier: BSD-2-Clause
// Hostile archives are written here block by block, because no archiver would make them.
#include "core/capture/archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/base/unique_fd.h"
#include "core/capture/files.h"
#include "core/capture/packed_sysctls.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"
#include "tests/support/raw_tar.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kArchivedManifest = "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0-3\"\n";
const std::string kPoll = "label: one\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 100\n";

/// A tar archive under construction.
class Tar {
 public:
  Tar& add(const std::string& name, const std::string& content, char type = '0', const std::string& link = {}) {
    return add_claiming(name, content, content.size(), type, link);
  }
  /// `claimed` is the size in the header.
  Tar& add_claiming(const std::string& name, const std::string& content, std::uint64_t claimed, char type = '0',
                    const std::string& link = {}) {
    bytes_ += RawTarHeader(name, type).put(157, link).size(claimed).summed() + padded(content);
    return *this;
  }
  Tar& add_basics(const std::string& top = "") {
    return add(top + "manifest.yaml", kArchivedManifest).add(top + "000000/poll.yaml", kPoll);
  }
  [[nodiscard]] std::string finished() const { return bytes_ + std::string(1024, '\0'); }
  [[nodiscard]] const std::string& unfinished() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Packs the capture in `directory`.
Result<void> pack(const std::string& directory, const std::string& archive) {
  const auto files = open_directory_files(directory);
  if (!files) return files.error();
  const UniqueFd fd(::open(archive.c_str(), O_WRONLY | O_CREAT, 0600));
  return pack_capture(**files, archive, fd.get());
}

/// What this build lacks to read .tar.zst; usually "".
std::string lack_of_zstd() {
  const auto opened = open_capture(fixture_path("captures/linux-6.1-4cpu-2nodes.tar.zst"));
  return !opened && opened.error().code == ErrorCode::kNotPresent ? to_string(opened.error()) : "";
}

class Archive : public testing::Test {
 protected:
  Result<std::unique_ptr<ReplayKernelView>> open_bytes(const std::string& bytes, const ArchiveLimits& limits = {}) {
    write_text(directory_.file("a.tar"), bytes);
    return open_capture(directory_.file("a.tar"), limits);
  }
  void expect_refused(const Tar& tar, const std::string& message, const ArchiveLimits& limits = {}) {
    expect_bytes_refused(tar.finished(), message, limits);
  }
  void expect_bytes_refused(const std::string& bytes, const std::string& message, const ArchiveLimits& limits = {}) {
    const auto opened = open_bytes(bytes, limits);
    ASSERT_TRUE(fails(opened, ErrorCode::kData)) << message;
    EXPECT_NE(to_string(opened.error()).find(message), std::string::npos) << to_string(opened.error());
  }
  TemporaryDirectory directory_;
};

TEST_F(Archive, OpensACaptureAtTheRootInATopDirectoryAndBehindADot) {
  for (const char* top : {"", "./", "my-capture/", "./my-capture/"}) {
    const auto opened = open_bytes(Tar().add_basics(top).add(std::string(top) + "000000/fs/proc/stat", "cpu\n").finished());
    ASSERT_TRUE(opened) << top << ": " << to_string(opened.error());
    Buffer out;
    ASSERT_TRUE((*opened)->read_file("/proc/stat", out)) << top;
    EXPECT_EQ(out.view(), "cpu\n");
  }
}

TEST_F(Archive, RefusesNamesThatLeave) {
  for (const char* name : {"/etc/cron.d/x", "../x", "c/../../x", "c//000000/x", "c/./000000/x", "c/000000/fs/.."}) {
    expect_refused(Tar().add_basics("c/").add(name, "x"), "is refused");
  }
}

TEST_F(Archive, RefusesLinksThatLeave) {
  for (const char* target : {"/etc/passwd", "../../../../etc/passwd", "../poll.yaml", "a/../../../x"}) {
    expect_refused(Tar().add_basics().add("000000/fs/link", "", '2', target), "a link that leaves");
  }
  expect_refused(Tar().add_basics().add("000000/sysctl/kern.x", "", '2', "kern.y"), "a link that leaves");
  expect_refused(Tar().add_basics().add("000001", "", '2', "000000"), "a link that leaves");
  const auto good =
      open_bytes(Tar().add_basics().add("000000/fs/a/link", "", '2', "../b").add("000000/fs/b", "x").finished());
  ASSERT_TRUE(good) << to_string(good.error());
  Buffer out;
  EXPECT_TRUE((*good)->read_file("/a/link", out));
}

TEST_F(Archive, RefusesAFileBehindALinkOfTheArchive) {
  expect_refused(Tar().add_basics().add("000000/fs/link", "", '2', "b").add("000000/fs/link/x", "x"), "not a directory");
}

TEST_F(Archive, RefusesHardLinksDevicesPipesAndTwins) {
  expect_refused(Tar().add_basics().add("000000/fs/x", "", '1', "manifest.yaml"), "hard link");
  expect_refused(Tar().add_basics().add("000000/fs/x", "", '3'), "neither");
  expect_refused(Tar().add_basics().add("000000/fs/x", "", '6'), "neither");
  expect_refused(Tar().add_basics().add("000000/fs/x", "1").add("000000/fs/x", "2"), "twice");
}

TEST_F(Archive, HasTheSysctlsThatAPollHasInOneFile) {
  std::string packed;
  SysctlPacker packer(packed);
  packer.add("kern.x", "abc");
  packer.add("vm.y", std::string(100, '\0'));
  const auto opened = open_bytes(Tar().add_basics().add("000000/sysctls", packed).finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  Buffer out;
  ASSERT_TRUE((*opened)->read_sysctl("kern.x", out, 0));
  EXPECT_EQ(out.view(), "abc");
  ASSERT_TRUE((*opened)->read_sysctl("vm.y", out, 0));
  EXPECT_EQ(out.view(), std::string(100, '\0'));
  const auto cut = open_bytes(Tar().add_basics().add("000000/sysctls", packed.substr(0, packed.size() - 1)).finished());
  ASSERT_TRUE(cut) << to_string(cut.error());
  EXPECT_TRUE(fails((*cut)->read_sysctl("kern.x", out, 0), ErrorCode::kData));
}

TEST_F(Archive, RefusesMoreThanTheLimits) {
  const ArchiveLimits limits{.member_bytes = 1000, .total_bytes = 5000, .members = 8};
  EXPECT_TRUE(open_bytes(Tar().add_basics().add("000000/sysctl/x", std::string(1000, 'x')).finished(), limits));
  expect_refused(Tar().add_basics().add("000000/sysctl/x", std::string(1001, 'x')), "larger than", limits);
  Tar many;
  many.add_basics();
  for (int i = 0; i < 4; ++i) many.add("oracle/" + std::to_string(i), std::string(1000, 'x'));
  expect_refused(many, "that a capture may have", limits);
  Tar members;
  members.add_basics();
  for (int i = 0; i < 10; ++i) members.add("oracle/" + std::to_string(i), "");
  expect_refused(members, "members", limits);
}

TEST_F(Archive, FilesThatDescribeACaptureAndFilesOfTextHaveLimitsOfTheirOwn) {
  const std::string large(5U << 20U, '#');
  for (const char* top : {"", "c/"}) {
    const std::string in(top);
    expect_refused(Tar().add(in + "manifest.yaml", kArchivedManifest + large.substr(0, 1U << 20U)),
                   "manifest.yaml: is larger than the 1048576 bytes");
    expect_refused(Tar().add(in + "manifest.yaml", kArchivedManifest).add(in + "000000/poll.yaml", kPoll + large),
                   "000000/poll.yaml: is larger than the 65536 bytes");
    expect_refused(Tar().add_basics(in).add(in + "000000/errors.yaml", large),
                   "000000/errors.yaml: is larger than the 4194304 bytes");
    expect_refused(Tar().add_basics(in).add(in + "000000/fs/proc/x", large),
                   "000000/fs/proc/x: is larger than the 4194304 bytes", {.total_bytes = 64U << 20U});
  }
  EXPECT_TRUE(open_bytes(Tar().add_basics().add("000000/sysctl/x", large).finished(), {.total_bytes = 64U << 20U}));
}

TEST_F(Archive, NamesCountAsTheMemoryThatTheyTake) {
  Tar tar;
  tar.add_basics();
  for (int i = 0; i < 200; ++i) {
    std::string name = "000000/fs/" + std::to_string(i);
    for (int depth = 0; depth < 1900; ++depth) name += "/a";
    tar.add("x", name, 'L').add("x", "");
  }
  EXPECT_LT(tar.finished().size(), 2U << 20U);
  expect_refused(tar, "need more memory", {.total_bytes = 256U << 20U});
}

TEST_F(Archive, PollsAreReadInAnyOrderAndAgain) {
  Tar tar;
  tar.add("c/manifest.yaml", kArchivedManifest);
  for (int poll = 0; poll < 5; ++poll) {
    const std::string directory = "c/00000" + std::to_string(poll) + "/";
    tar.add(directory + "fs/proc/stat", "poll " + std::to_string(poll)).add(directory + "poll.yaml", kPoll);
  }
  const auto opened = open_bytes(tar.finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  ASSERT_EQ((*opened)->poll_count(), 5U);
  Buffer out;
  for (const std::size_t poll : {0, 1, 2, 4, 3, 0, 4, 4, 1}) {
    ASSERT_TRUE((*opened)->select_poll(poll));
    ASSERT_TRUE((*opened)->read_file("/proc/stat", out));
    EXPECT_EQ(out.view(), "poll " + std::to_string(poll));
    std::vector<std::string> names;
    EXPECT_TRUE((*opened)->list_directory("/", names));
    EXPECT_EQ(names, std::vector<std::string>{"proc"});
  }
}

TEST_F(Archive, ReadsFromSeveralThreadsSeeTheirPollWhileOthersAreSelected) {
  Tar tar;
  tar.add("manifest.yaml", kArchivedManifest);
  for (int poll = 0; poll < 4; ++poll) {
    const std::string directory = "00000" + std::to_string(poll) + "/";
    tar.add(directory + "poll.yaml", kPoll).add(directory + "fs/a", "same").add(directory + "fs/b", "same");
  }
  const auto opened = open_bytes(tar.finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  std::atomic<bool> is_done = false;
  std::thread reader([&] {
    Buffer out;
    while (!is_done) {
      EXPECT_TRUE((*opened)->read_file("/a", out));
      EXPECT_EQ(out.view(), "same");
    }
  });
  for (std::size_t round = 0; round < 100; ++round) {
    Buffer out;
    EXPECT_TRUE((*opened)->select_poll(round % 4));
    EXPECT_TRUE((*opened)->read_file("/b", out));
  }
  is_done = true;
  reader.join();
}

TEST_F(Archive, AnArchiveThatShrinksWhileOpenIsAnErrorNotACrash) {
  Tar tar;
  tar.add("manifest.yaml", kArchivedManifest);
  for (int poll = 0; poll < 3; ++poll) {
    const std::string directory = "00000" + std::to_string(poll) + "/";
    tar.add(directory + "poll.yaml", kPoll).add(directory + "fs/a", std::string(200'000, 'x'));
  }
  const auto opened = open_bytes(tar.finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  write_text(directory_.file("a.tar"), Tar().add("manifest.yaml", kArchivedManifest).finished());
  ASSERT_TRUE((*opened)->select_poll(2));
  Buffer out;
  EXPECT_TRUE(fails((*opened)->read_file("/a", out), ErrorCode::kData));
}

TEST_F(Archive, MembersOfAPollMayStandApart) {
  Tar tar;
  for (const char* poll : {"c/000000/", "c/000001/", "c/1000000/", "c/100000/"}) {
    tar.add(poll + std::string("poll.yaml"), kPoll).add(poll + std::string("fs/a"), poll);
  }
  tar.add("c/manifest.yaml", kArchivedManifest).add("notes", "x").add("c/000001/fs/late", "last");
  tar.add("c/000000/fs/late", "first").add("c/000001/fs/later", "last");
  const auto opened = open_bytes(tar.finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  ASSERT_EQ((*opened)->poll_count(), 4U);
  const auto text = [&](std::size_t poll, std::string_view path) {
    Buffer out;
    EXPECT_TRUE((*opened)->select_poll(poll));
    const auto read = (*opened)->read_file(path, out);
    return read ? std::string(out.view()) : to_string(read.error());
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(text(0, "/late"), "first");
    EXPECT_EQ(text(1, "/late"), "last");
    EXPECT_EQ(text(1, "/later"), "last");
    EXPECT_EQ(text(2, "/a"), "c/100000/");
    EXPECT_EQ(text(3, "/a"), "c/1000000/");
    EXPECT_EQ(text(0, "/a"), "c/000000/");
  }
}

TEST_F(Archive, ATwinFarFromItsPollIsRefusedWhenThePollIsRead) {
  const auto opened = open_bytes(
      Tar().add_basics().add("000000/fs/a", "x").add("000001/poll.yaml", kPoll).add("000000/fs/a", "y").finished());
  ASSERT_TRUE(opened) << to_string(opened.error());
  Buffer out;
  const auto read = (*opened)->read_file("/a", out);
  ASSERT_TRUE(fails(read, ErrorCode::kData));
  EXPECT_NE(to_string(read.error()).find("appears twice"), std::string::npos) << to_string(read.error());
}

TEST_F(Archive, SkippedMembersCountAsWell) {
  const ArchiveLimits limits{.member_bytes = 100'000, .total_bytes = 10'000};
  for (const char type : {'0', '3', '6', 'D', 'M', 'S', 'Z'}) {
    for (const char* name : {"oracle/x", ".", "./", "c/"}) {
      if (type == '6' || type == '3') continue;  // has no content
      expect_refused(Tar().add_basics().add_claiming(name, "x", 20'000, type), "that a capture may have", limits);
      expect_refused(Tar().add_basics().add_claiming(name, "x", 200'000, type), "is larger than", limits);
    }
  }
  Tar names;
  names.add_basics();
  for (int i = 0; i < 4; ++i) names.add("x", std::string(3000, 'n') + '\0', 'L').add("cut", "");
  EXPECT_TRUE(
      open_bytes(Tar().add_basics().add("x", "oracle/" + std::string(3000, 'n'), 'L').add("x", "").finished(), limits));
  expect_refused(names, "that a capture may have", limits);
}

TEST_F(Archive, AnEmptyFrameAFrameToSkipAndAFrameWithALieAreZstdAsWell) {
  if (const std::string lack = lack_of_zstd(); !lack.empty()) GTEST_SKIP() << lack;
  const std::string tar = Tar().add_basics().add("000000/fs/proc/stat", std::string(200'000, 'x')).finished();
  const std::string skipped("\x5f\x2a\x4d\x18\x03\0\0\0abc", 11);
  for (const std::string& bytes :
       {as_zstd(tar), as_zstd(tar.substr(0, 700)) + as_zstd("") + skipped + as_zstd(tar.substr(700)),
        skipped + as_zstd(tar) + skipped, as_zstd(tar) + "garbage behind the end mark"}) {
    const auto opened = open_bytes(bytes);
    ASSERT_TRUE(opened) << to_string(opened.error());
    Buffer out;
    ASSERT_TRUE((*opened)->read_file("/proc/stat", out));
    EXPECT_EQ(out.view(), std::string(200'000, 'x'));
  }
  const auto garbage = open_bytes(as_zstd(tar.substr(0, 700)) + "garbage");
  ASSERT_FALSE(garbage);
  EXPECT_NE(to_string(garbage.error()).find("cannot be unpacked by zstd from byte "), std::string::npos)
      << to_string(garbage.error());
  // The frame claims 2 GiB and has 5 bytes; then a window larger than zstd accepts.
  EXPECT_FALSE(open_bytes(std::string("\x28\xb5\x2f\xfd\x80\x80\0\0\0\x80\x29\0\0abcde", 17)));
  EXPECT_FALSE(open_bytes(std::string("\x28\xb5\x2f\xfd\0\xf8\x29\0\0abcde", 14)));
}

TEST_F(Archive, ABombIsRefusedBeforeItIsUnpacked) {
  if (const std::string lack = lack_of_zstd(); !lack.empty()) GTEST_SKIP() << lack;
  // Blocks of one byte repeated 128 KiB times, which zstd packs best: 4 GiB of them are 128 KiB.
  std::string bomb = as_zstd(Tar().add_basics().add_claiming("oracle/bomb", "", 4ULL << 30U).unfinished());
  bomb += std::string("\x28\xb5\x2f\xfd\0\x38", 6);
  for (int i = 0; i < (1 << 15); ++i) bomb += std::string("\x02\0\x10x", 4);
  expect_bytes_refused(bomb, "is larger than");
  std::string end = as_zstd(Tar().add_basics().finished());
  EXPECT_TRUE(open_bytes(end + bomb.substr(bomb.size() - 6))) << "bytes after the end mark are ignored";
}

TEST_F(Archive, ExplainsAnAbsentEmptyOrForeignFile) {
  EXPECT_TRUE(fails(open_capture(directory_.file("none.tar.zst")), ErrorCode::kNotPresent));
  for (const std::string& bytes :
       {std::string(), std::string("garbage"), std::string(100'000, 'x'), std::string(100'000, '\0'),
        std::string("\x28\xB5\x2F\xFD garbage behind zstd's magic")}) {
    const auto opened = open_bytes(bytes);
    ASSERT_TRUE(fails(opened, ErrorCode::kData));
    EXPECT_NE(to_string(opened.error()).find("a.tar"), std::string::npos);
  }
  ASSERT_EQ(::mkfifo(directory_.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_capture(directory_.file("pipe")).error().code, ErrorCode::kData) << "must not hang";
  expect_refused(Tar().add("readme", "x"), "no manifest.yaml");
  expect_refused(Tar().add_basics("a/").add_basics("b/"), "more than one capture");
}

TEST_F(Archive, ASmallCompressedTarCutAnywhereIsRefusedOrWhole) {
  if (const std::string lack = lack_of_zstd(); !lack.empty()) GTEST_SKIP() << lack;
  write_text(directory_.file("rec/manifest.yaml"), kArchivedManifest);
  write_text(directory_.file("rec/000000/poll.yaml"), kPoll);
  write_text(directory_.file("rec/000000/fs/proc/stat"), std::string(700, 'x'));
  ASSERT_TRUE(pack(directory_.file("rec"), directory_.file("rec.tar.zst")));
  const std::string whole = read_text(directory_.file("rec.tar.zst"));
  ASSERT_TRUE(open_bytes(whole));
  for (std::size_t cut = whole.size(); cut-- > 0;) {
    std::filesystem::resize_file(directory_.file("a.tar"), cut);
    const auto opened = open_capture(directory_.file("a.tar"));
    ASSERT_TRUE(fails(opened, ErrorCode::kData)) << cut;
    if (cut >= 4) {
      EXPECT_NE(to_string(opened.error()).find("is cut short: truncated at byte " + std::to_string(cut)), std::string::npos)
          << to_string(opened.error());
    }
  }
}

TEST_F(Archive, PackingADirectoryGivesTheSameCapture) {
  const std::string source = directory_.file("rec");
  write_text(source + "/manifest.yaml", kArchivedManifest);
  write_text(source + "/000000/poll.yaml", kPoll);
  write_text(source + "/000000/fs/proc/big", std::string(300'000, 'x'));
  write_text(source + "/000000/fs/proc/empty", "");
  write_text(source + "/000000/errors.yaml", "- {path: /proc/slabinfo, errno: 13}\n");
  write_text(source + "/000000/fs/sys/kernel/slab/" + std::string(150, 'n') + "/object_size", "8\n");
  write_text(source + "/000001.tmp/poll.yaml", kPoll);
  std::filesystem::create_symlink(":0000072", source + "/000000/fs/sys/kernel/slab/alias");
  for (const char* name : {"packed.tar", "packed.tar.zst"}) {
    if (name == std::string("packed.tar.zst") && !lack_of_zstd().empty()) continue;
    const auto packed = pack(source, directory_.file(name));
    ASSERT_TRUE(packed) << to_string(packed.error());
    const auto opened = open_capture(directory_.file(name));
    ASSERT_TRUE(opened) << to_string(opened.error());
    EXPECT_EQ((*opened)->poll_count(), 1U);
    Buffer out;
    ASSERT_TRUE((*opened)->read_file("/proc/big", out));
    EXPECT_EQ(out.view(), std::string(300'000, 'x'));
    ASSERT_TRUE((*opened)->read_file("/proc/empty", out));
    EXPECT_TRUE(out.empty());
    ASSERT_TRUE((*opened)->read_file("/sys/kernel/slab/" + std::string(150, 'n') + "/object_size", out));
    EXPECT_EQ(*(*opened)->read_link("/sys/kernel/slab/alias"), ":0000072");
    EXPECT_EQ((*opened)->read_file("/proc/slabinfo", out).error().code, ErrorCode::kPermission);
  }
  if (!lack_of_zstd().empty()) return;
  EXPECT_LT(std::filesystem::file_size(directory_.file("packed.tar.zst")), 20'000U);
}

TEST_F(Archive, PackingEndsWhenThereIsNoTimeLeft) {
  const std::string source = directory_.file("rec");
  write_text(source + "/manifest.yaml", kArchivedManifest);
  for (const char* name : {"a", "b", "c"}) write_text(source + "/000000/fs/proc/" + name, "x");
  const auto files = open_directory_files(source);
  ASSERT_TRUE(files);
  const UniqueFd fd(::open(directory_.file("packed.tar").c_str(), O_WRONLY | O_CREAT, 0600));
  int asked = 0;
  const auto packed = pack_capture(**files, directory_.file("packed.tar"), fd.get(), [&] { return ++asked > 3; });
  ASSERT_TRUE(fails(packed, ErrorCode::kTimeout));
  EXPECT_EQ(asked, 4) << "it continued after the damage";
}

TEST_F(Archive, PackingReportsFailures) {
  write_text(directory_.file("directory/file"), "no manifest");
  EXPECT_EQ(pack(directory_.file("directory"), directory_.file("x.tar.zst")).error().code, ErrorCode::kNotPresent);
  EXPECT_EQ(pack(directory_.file("directory"), directory_.file("x.zip")).error().code, ErrorCode::kData);
}

}  // namespace
}  // namespace memstat
