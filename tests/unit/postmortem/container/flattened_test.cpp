// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/flattened.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "core/kernel/open_view.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kEnd = ~std::uint64_t{0};

std::string word(std::uint64_t number) {
  number = __builtin_bswap64(number);
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string piece(std::uint64_t offset, const std::string& bytes) { return word(offset) + word(bytes.size()) + bytes; }

std::string flattened(const std::string& pieces, std::uint64_t version = 1) {
  std::string file = std::string("makedumpfile\0\0\0\0", 16) + word(1) + word(version);
  file.resize(4096);
  return file + pieces;
}

Result<Unflattened> open_flattened(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), bytes);
  auto file = BlockFile::open(directory.file("dump"));
  if (!file) return file.error();
  return unflatten(*file);
}

std::string content_of(const Unflattened& dump) {
  std::string bytes(64, '\0');
  const ssize_t got = ::pread(dump.file.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

TEST(Flattened, PutsPiecesWhereTheyBelong) {
  const std::string end = word(kEnd) + word(kEnd);
  const auto dump =
      open_flattened(flattened(piece(6, "world") + piece(0, "hello") + piece(5, "") + piece(8, "RLD") + end + "rest"));
  ASSERT_TRUE(dump) << to_string(dump.error());
  EXPECT_EQ(dump->damage, "");
  EXPECT_EQ(content_of(*dump), std::string("hello\0woRLD", 11));
}

TEST(Flattened, CutShortAnywhereHasWhatCameBeforeAndSaysSo) {
  const std::string whole = flattened(piece(0, "hello") + piece(5, "world") + word(kEnd) + word(kEnd));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto dump = open_flattened(whole.substr(0, size));
    if (size < 32) {
      EXPECT_FALSE(dump) << size;
      continue;
    }
    ASSERT_TRUE(dump) << size << to_string(dump.error());
    EXPECT_THAT(dump->damage, HasSubstr("is cut short"));
    EXPECT_EQ(std::string("helloworld").find(content_of(*dump)), 0U) << size;
    size += size > 40 && size < 4000 ? 499 : 0;
  }
}

TEST(Flattened, RefusesWhatCannotBe) {
  const std::pair<std::string, const char*> cases[] = {
      {flattened("", 2), "another version"},
      {flattened(word(kEnd) + word(5) + "hello"), "which cannot be"},
      {flattened(word(FlatPiece::kMaxOffset + 1) + word(5) + "hello"), "which cannot be"},
      {flattened(word(0) + word(std::uint64_t{1} << 62U) + "hello"), "which cannot be"},
      {std::string(4096, 'x'), "no flattened dump"},
  };
  for (const auto& [bytes, says] : cases) {
    const auto dump = open_flattened(bytes);
    ASSERT_FALSE(dump) << says;
    EXPECT_THAT(to_string(dump.error()), HasSubstr(says));
  }
}

TEST(Flattened, DumpThatIsCutShortHasANote) {
  const TemporaryDirectory directory;
  write_text(directory.file("dump"), flattened(piece(0, FakeLinuxDump(small_kernel()).elf())));
  const auto opened = open_view(directory.file("dump"));
  ASSERT_TRUE(opened) << to_string(opened.error());
  ASSERT_EQ(opened->notes.size(), 1U);
  EXPECT_THAT(opened->notes[0], HasSubstr("its flattened form has no end"));
}

}  // namespace
}  // namespace memstat::postmortem
