// SPDX-License-Identifier: BSD-2-Clause
// We read archives of other programs (fixtures/archives), and they read ours: GNU tar, libarchive (in cmake) and Python's
// tarfile.
#include "core/capture/archive.h"

#include <fcntl.h>

#include "core/base/unique_fd.h"
#include "core/capture/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kManifestOfTree = "format: 1\nos: linux\npage_size: 4096\ncpus_present: \"0\"\n";
const std::string kPollOfTree = "label: one\nrealtime: 2026-11-20T15:00:00Z\nmonotonic_ns: 100\n";

/// "" when all of `expected` is in `found` and nothing else, or a path where they differ.
std::string difference(const CaptureFiles& expected, const CaptureFiles& found, const std::string& path = {}) {
  const auto kind = found.kind(path);
  if (!kind || *kind != *expected.kind(path)) return path + ": another kind";
  if (*kind == FileKind::kLink) {
    return *expected.read_link(path) == *found.read_link(path) ? "" : path + ": " + *found.read_link(path);
  }
  if (*kind == FileKind::kFile) {
    Buffer wanted;
    Buffer bytes;
    if (!expected.read(path, wanted) || !found.read(path, bytes) || wanted.view() != bytes.view()) return path + ": bytes";
    return "";
  }
  std::vector<std::string> wanted;
  std::vector<std::string> names;
  if (!expected.list(path, wanted) || !found.list(path, names) || wanted != names) return path + ": names";
  for (const std::string& name : names) {
    if (std::string differs = difference(expected, found, path.empty() ? name : path + "/" + name); !differs.empty())
      return differs;
  }
  return "";
}

class Archivers : public testing::Test {
 protected:
  void make_tree() {
    const std::string fs = directory_.file("rec/000000/fs");
    write_text(directory_.file("rec/manifest.yaml"), kManifestOfTree);
    for (const char* poll : {"000000", "000001"})
      write_text(directory_.file(std::string("rec/") + poll + "/poll.yaml"), kPollOfTree);
    for (const std::size_t size : {0, 1, 511, 512, 513, 300'000})
      write_text(fs + "/proc/" + std::to_string(size), std::string(size, static_cast<char>('a' + size % 26)));
    const std::string component(240, 'n');
    std::string deep = fs + "/sys";
    for (int i = 0; i < 9; ++i) deep += "/" + component;
    write_text(deep + "/size", "8\n");
    write_text(fs + "/sys/\xc3\xa9/" + component, "accent\n");
    std::filesystem::create_directories(fs + "/empty/directory");
    std::filesystem::create_symlink("proc/512", fs + "/short");
    std::filesystem::create_symlink(std::string(900, 'l'), fs + "/long");
  }
  /// Whether the command could be run; its programs may be missing.
  bool run(const std::string& command) {
    const std::string there = "export LC_ALL=C.UTF-8 && cd '" + directory_.path() + "' && rm -f a && ";
    return std::system((there + "(" + command + ") >log 2>&1").c_str()) == 0;
  }
  [[nodiscard]] std::string log() const { return read_text(directory_.file("log")); }
  bool has(const std::string& program) { return run("command -v " + program); }

  const TemporaryDirectory directory_;
};

TEST(ArchivesOfOthers, AreReadWithoutTheirPrograms) {
  // Written in November 2026 by GNU tar 1.34, Python 3.11 and cmake 3.25, from one tree; ustar and v7 with shorter names.
  for (const auto& [name, length] : std::vector<std::pair<std::string, std::size_t>>{{"gnu", 140},
                                                                                     {"pax", 140},
                                                                                     {"python-gnu", 140},
                                                                                     {"python-pax", 140},
                                                                                     {"libarchive", 140},
                                                                                     {"ustar", 80},
                                                                                     {"v7", 20}}) {
    const auto opened = open_capture(fixture_path("archives/" + name + ".tar"));
    ASSERT_TRUE(opened) << name << ": " << to_string(opened.error());
    const std::string component(length, 'n');
    Buffer bytes;
    ASSERT_TRUE((*opened)->read_file("/proc/stat", bytes)) << name;
    EXPECT_EQ(bytes.view(), "cpu\n") << name;
    ASSERT_TRUE((*opened)->read_file("/sys/" + component + "/" + component + "/size", bytes)) << name;
    EXPECT_EQ(bytes.view(), "8\n") << name;
    EXPECT_EQ(*(*opened)->read_link("/link"), "sys/" + component) << name;
  }
}

TEST_F(Archivers, ReadOurArchives) {
  make_tree();
  const auto expected = open_directory_files(directory_.file("rec"));
  for (const char* name : {"packed.tar", "packed.tar.zst"}) {
    const auto files = open_directory_files(directory_.file("rec"));
    ASSERT_TRUE(files);
    const UniqueFd archive(::open(directory_.file(name).c_str(), O_WRONLY | O_CREAT, 0600));
    const auto packed = pack_capture(**files, directory_.file(name), archive.get());
    if (!packed && packed.error().code == ErrorCode::kNotPresent) continue;  // this build has no zstd
    ASSERT_TRUE(packed) << to_string(packed.error());
    const bool is_packed = std::string_view(name).ends_with(".zst");
    const std::string plain = is_packed ? "zstd -qdc packed.tar.zst >t.tar && " : "cp packed.tar t.tar && ";
    for (const std::string& command :
         {plain + "tar -xf ../t.tar", plain + "cmake -E tar xf ../t.tar", std::string("cmake -E tar xf ../") + name,
          plain + "python3 -W ignore -c 'import tarfile; tarfile.open(\"../t.tar\").extractall()'"}) {
      const std::size_t last = command.rfind("&& ") == std::string::npos ? 0 : command.rfind("&& ") + 3;
      if (!has(command.substr(last, command.find(' ', last) - last)) || (is_packed && last != 0 && !has("zstd"))) continue;
      const std::string unpack = command.substr(0, last) + "rm -rf out && mkdir out && cd out && " + command.substr(last);
      ASSERT_TRUE(run(unpack)) << command << ": " << log();
      EXPECT_EQ(log(), "") << command;
      EXPECT_EQ(difference(**expected, **open_directory_files(directory_.file("out/packed"))), "") << command;
    }
  }
}

TEST_F(Archivers, WriteSparseFilesAndHardLinksThatAreRefused) {
  if (!has("tar")) GTEST_SKIP() << "tar is not installed";
  make_tree();
  write_text(directory_.file("rec/000000/fs/holes"), "x");
  std::filesystem::resize_file(directory_.file("rec/000000/fs/holes"), 8U << 20U);
  for (const char* how : {"gnu -S", "oldgnu -S", "pax -S --sparse-version=0.0", "pax -S --sparse-version=0.1",
                          "pax -S --sparse-version=1.0"}) {
    ASSERT_TRUE(run(std::string("tar -cf a --format=") + how + " rec")) << log();
    if (std::filesystem::file_size(directory_.file("a")) > (8U << 20U)) GTEST_SKIP() << "this file system has no holes";
    const auto opened = open_capture(directory_.file("a"));
    ASSERT_FALSE(opened) << how;
    EXPECT_THAT(to_string(opened.error()), testing::HasSubstr("is sparse; pack the capture without --sparse")) << how;
  }
  std::filesystem::remove(directory_.file("rec/000000/fs/holes"));
  std::filesystem::create_hard_link(directory_.file("rec/000000/fs/proc/512"), directory_.file("rec/000000/fs/proc/513b"));
  for (const char* format : {"gnu", "pax"}) {
    ASSERT_TRUE(run(std::string("tar -cf a --format=") + format + " rec")) << log();
    EXPECT_THAT(to_string(open_capture(directory_.file("a")).error()), testing::HasSubstr("is a hard link")) << format;
  }
}

}  // namespace
}  // namespace memstat
