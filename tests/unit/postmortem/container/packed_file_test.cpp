// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/packed_file.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "core/kernel/open_view.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

using ::testing::HasSubstr;

std::string some_bytes() {
  std::string bytes = "begin";
  bytes.resize(300000, '\0');
  bytes += "end";
  return bytes;
}

/// The head of a file with these bytes, and all of it unpacked.
struct Outcome {
  std::string head = {};
  std::string bytes = {};
  std::string damage = {};
  std::string error = {};
};
Outcome unpack_bytes(const std::string& packed) {
  const TemporaryDirectory directory;
  write_text(directory.file("packed"), packed);
  auto file = BlockFile::open(directory.file("packed"));
  if (!file) return {.error = to_string(file.error())};
  Outcome outcome{.head = head_of_packed(*file)};
  auto unpacked = unpack_file(*file);
  if (!unpacked) {
    outcome.error = unpacked.error().detail;
    return outcome;
  }
  outcome.damage = unpacked->damage;
  auto inner = BlockFile::adopt("inner", std::move(unpacked->file));
  outcome.bytes.resize(inner->size());
  static_cast<void>(inner->read(0, outcome.bytes.data(), outcome.bytes.size()));
  return outcome;
}

TEST(PackedFile, OfGzipAndZstdUnpacksToWhatItWas) {
  const std::string bytes = some_bytes();
  for (const std::string& packed :
       {as_gzip(bytes), as_zstd(bytes), as_zstd(bytes.substr(0, 70000)) + as_zstd(bytes.substr(70000))}) {
    const Outcome outcome = unpack_bytes(packed);
    EXPECT_EQ(outcome.head, bytes.substr(0, 64));
    EXPECT_TRUE(outcome.bytes == bytes);
    EXPECT_EQ(outcome.damage, "");
  }
}

TEST(PackedFile, ThatIsDamagedHasWhatCouldBeUnpacked) {
  const std::string bytes = some_bytes();
  for (const std::string& packed : {as_gzip(bytes), as_zstd(bytes)}) {
    const Outcome cut = unpack_bytes(packed.substr(0, 200000));
    EXPECT_THAT(cut.damage, HasSubstr("is cut short"));
    EXPECT_GT(cut.bytes.size(), 100000U);
    EXPECT_EQ(cut.bytes, bytes.substr(0, cut.bytes.size()));
    const Outcome tiny = unpack_bytes(packed.substr(0, 9));
    EXPECT_THAT(tiny.error, HasSubstr("is cut short"));
    EXPECT_EQ(tiny.head, "");
  }
  std::string broken = as_zstd(bytes);
  broken[14 + 65536 + 2] = '\x07';  // a block of a kind that is none
  EXPECT_THAT(unpack_bytes(broken).damage, HasSubstr("cannot be unpacked from byte"));
  EXPECT_THAT(unpack_bytes("nothing that is packed").error, HasSubstr("is not packed"));
  EXPECT_THAT(unpack_bytes(as_zstd("")).error, HasSubstr("unpacks to nothing"));
}

TEST(PackedFile, WithoutRoomToUnpackSaysWhere) {
  const TemporaryDirectory directory;
  write_text(directory.file("packed"), as_gzip(some_bytes()));
  auto file = BlockFile::open(directory.file("packed"));
  ASSERT_TRUE(file);
  ASSERT_EQ(::setenv("TMPDIR", "/nowhere/at/all", 1), 0);
  const auto unpacked = unpack_file(*file);
  ASSERT_EQ(::unsetenv("TMPDIR"), 0);
  ASSERT_FALSE(unpacked);
  EXPECT_EQ(unpacked.error().path, "/nowhere/at/all");
}

TEST(PackedFile, OfFreeBsdIsReadAsItsDumpIs) {
  const TemporaryDirectory directory;
  FakeFreeBsdOptions options = small_freebsd();
  options.has_packed_types = true;
  const FakeFreeBsdDump fake(options);
  write_text(directory.file("kernel.3"), fake.kernel());
  const auto zone_stats = [&](const std::string& name, const std::string& bytes, std::string& note) {
    write_text(directory.file(name), bytes);
    auto opened = open_view(directory.file(name));
    Buffer stream;
    if (!opened) return to_string(opened.error());
    if (!opened->notes.empty()) note = opened->notes[0];
    static_cast<void>(opened->view->read_sysctl("vm.zone_stats", stream, 0));
    return std::string(stream.view());
  };
  std::string note;
  EXPECT_TRUE(zone_stats("vmcore.3.gz", as_gzip(fake.dump()), note) == fake.zone_stream());
  EXPECT_TRUE(zone_stats("vmcore.3.zst", as_zstd(fake.dump()), note) == fake.zone_stream());
  EXPECT_EQ(note, "");
  const std::string packed = as_zstd(fake.dump());
  zone_stats("vmcore.3.zst", packed.substr(0, packed.size() - 100), note);
  EXPECT_THAT(note, HasSubstr("the file: is cut short"));
}

}  // namespace
}  // namespace memstat::postmortem
