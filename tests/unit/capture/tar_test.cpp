// SPDX-License-Identifier: BSD-2-Clause
// Headers that no archiver would write are made here byte by byte; archivers_test.cpp has those of real archivers.
#include "core/capture/tar.h"

#include "tests/support/pieces.h"
#include "tests/support/raw_tar.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Zeros without end.
class Zeros final : public PieceSource {
 public:
  explicit Zeros(std::string_view head) : head_(head) {}
  Result<std::string_view> next() override {
    served_ += zeros_.size();
    return std::exchange(head_, zeros_);
  }
  [[nodiscard]] std::uint64_t served() const { return served_; }

 private:
  const std::string zeros_ = std::string(1U << 16U, '\0');
  std::string_view head_;
  std::uint64_t served_ = 0;
};

std::string extension(char type, const std::string& bytes) {
  return RawTarHeader("extension", type)
             .put(257, std::string_view("ustar\0"
                                        "00",
                                        8))
             .size(bytes.size())
             .summed() +
         padded(bytes);
}
std::string record(const std::string& text) {  // "KEY=VALUE" of less than 96 bytes
  const std::size_t size = text.size() + 4;
  return (size < 10 ? "0" : "") + std::to_string(size) + " " + text + "\n";
}
const std::string kEndMark(2 * kTarBlock, '\0');

struct Read {
  std::vector<TarMember> members;
  std::vector<std::string> contents;
  std::string error;  // "" when the archive was read to its end mark
};

Read read_from(PieceSource& source) {
  Read all;
  TarReader reader(source);
  while (true) {
    TarMember member;
    const auto more = reader.next(member);
    if (!more) {
      EXPECT_EQ(more.error().code, ErrorCode::kData);
      all.error = more.error().detail;
      return all;
    }
    if (!*more) {
      if (!reader.has_end_mark()) all.error = "no end mark";
      return all;
    }
    all.members.push_back(member);
    all.contents.emplace_back();
    while (true) {
      const auto piece = reader.content();
      if (!piece) {
        all.error = piece.error().detail;
        return all;
      }
      if (piece->empty()) break;
      all.contents.back() += *piece;
    }
  }
}
Read read_all(const std::string& bytes, std::size_t piece = 1U << 20U) {
  Pieces pieces(bytes, piece);
  return read_from(pieces);
}

std::string name_of(std::size_t size, std::size_t slash_every) {
  std::string name;
  while (name.size() < size) name += slash_every != 0 && name.size() % slash_every == slash_every - 1 ? '/' : 'n';
  if (name.back() == '/') name.back() = 'n';
  return name;
}

TEST(Tar, IsReadInPiecesOfAnySize) {
  std::string bytes;
  std::vector<TarMember> written;
  std::vector<std::string> contents;
  const auto add = [&](TarMember member, const std::string& content) {
    member.size = content.size();
    bytes += tar_header(member, 1700000000) + padded(content);
    written.push_back(std::move(member));
    contents.push_back(content);
  };
  for (const std::size_t size : {1, 99, 100, 101, 154, 155, 156, 157, 200, 255, 256, 257, 300, 1000, 4095}) {
    for (const std::size_t slash_every : {0, 30, 101, 150}) {
      add({.path = name_of(size, slash_every)}, std::string(size, 'c'));
      if (size < 4095) add({.path = name_of(size, slash_every), .type = TarType::kDirectory}, "");
      add({.path = "link", .target = name_of(size, slash_every), .type = TarType::kLink}, "");
    }
  }
  for (const std::size_t size : {0, 1, 511, 512, 513, 70000}) add({.path = "sized"}, std::string(size, 's'));
  bytes += kEndMark;
  for (const std::size_t piece : {1, 7, 511, 512, 513, 4096, 10'000'000}) {
    const Read all = read_all(bytes, piece);
    ASSERT_EQ(all.error, "") << piece;
    ASSERT_EQ(all.members.size(), written.size()) << piece;
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(all.members[i].path, written[i].path + (written[i].type == TarType::kDirectory ? "/" : ""));
      EXPECT_EQ(all.members[i].target, written[i].target);
      EXPECT_EQ(all.members[i].type, written[i].type);
      EXPECT_EQ(all.contents[i], contents[i]);
    }
  }
}

TEST(Tar, WhatCannotBeOctalIsWrittenAsARecord) {
  const TarMember large{.path = "x", .size = (std::uint64_t{1} << 33U) + 7};
  const Read all = read_all(tar_header(large, ~std::uint64_t{0}) + "the beginning");
  ASSERT_EQ(all.members.size(), 1U);
  EXPECT_EQ(all.members[0].size, large.size);
  EXPECT_THAT(all.error, HasSubstr("is cut short: truncated at byte 1549 "));
}

TEST(Tar, CutAnywhereReportsWhere) {
  std::string bytes = tar_header({.path = std::string(300, 'p'), .size = 700}, 0) + padded(std::string(700, 'x')) +
                      tar_header({.path = "link", .target = std::string(300, 't'), .type = TarType::kLink}, 0) +
                      tar_header({.path = "d", .type = TarType::kDirectory}, 0);
  const std::size_t end = bytes.size();
  bytes += kEndMark;
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const Read all = read_all(bytes.substr(0, cut), 300);
    if (cut >= end + kTarBlock) {
      EXPECT_EQ(all.error, "") << cut;
    } else if (cut == end || cut == 0 || cut == 2560 || cut == 4096) {  // between two members
      EXPECT_EQ(all.error, "no end mark") << cut;
    } else if (cut < kTarBlock) {
      EXPECT_EQ(all.error, "is not a .tar or .tar.zst (it ends at byte " + std::to_string(cut) + ")");
    } else {
      EXPECT_THAT(all.error, HasSubstr("is cut short: truncated at byte " + std::to_string(cut) + " of")) << cut;
    }
  }
}

TEST(Tar, ReadsNamesOfGnuPaxAndTheOldestFormat) {
  const std::string long_name = name_of(400, 30);
  const auto gnu = [](RawTarHeader header) { return header.put(257, std::string_view("ustar  \0", 8)); };
  const std::string bytes =
      extension('L', long_name + '\0') + gnu(RawTarHeader("cut")).size(3).summed() + padded("gnu") +
      extension('K', long_name + '\0') + extension('L', long_name + "2" + '\0') +
      gnu(RawTarHeader("cut", '2')).put(157, "cut").summed() +
      gnu(RawTarHeader("own")).put(345, "14000000000").summed() +   // a time of access, not the beginning of a path
      RawTarHeader("old", '\0').size(3).summed() + padded("old") +  // without magic
      RawTarHeader("old/", '\0').summed() + extension('g', record("comment=all")) +
      extension('x', record("path=pax/name") + record("mtime=1.5") + record("size=4")) +
      RawTarHeader("cut").size(9).summed() + padded("pax4") +
      extension('x', record("path=") + record("linkpath=pax/target")) + RawTarHeader("kept", '2').put(157, "cut").summed() +
      RawTarHeader("volume", 'V').summed() +
      RawTarHeader("end")
          .put(257, std::string_view("ustar\0"
                                     "00",
                                     8))
          .put(345, "begin")
          .summed() +
      kEndMark;
  const Read all = read_all(bytes);
  EXPECT_EQ(all.error, "");
  std::vector<std::string> found;
  for (std::size_t i = 0; i < all.members.size(); ++i) {
    const TarMember& member = all.members[i];
    found.push_back(member.path + "|" + member.target + "|" + static_cast<char>(member.type) + "|" + all.contents[i]);
  }
  EXPECT_THAT(found,
              testing::ElementsAre(long_name + "||0|gnu", long_name + "2|" + long_name + "|2|", "own||0|", "old||0|old",
                                   "old/||5|", "pax/name||0|pax4", "kept|pax/target|2|", "begin/end||0|"));
}

TEST(Tar, DistinguishesTypes) {
  std::string bytes;
  const std::string types = "0127345D6SMNAIZ!";
  for (const char type : types)
    bytes += RawTarHeader("x", type).put(157, "y").size(3).summed() +
             (type == '0' || type == '7' || type > '6' || type == '!' ? padded("abc") : "");
  bytes += extension('x', record("GNU.sparse.major=1")) + RawTarHeader("x").summed() + kEndMark;
  const Read all = read_all(bytes);
  ASSERT_EQ(all.error, "");
  std::string found;
  for (const TarMember& member : all.members) found += static_cast<char>(member.type);
  EXPECT_EQ(found, "012033553S333333S");
}

TEST(Tar, ReadsSizesInOctalWithBlanksAndInBinary) {
  for (const std::string_view field :
       {std::string_view("00000000003\0", 12), std::string_view("          3 ", 12), std::string_view("000000000003", 12),
        std::string_view("3\0garbage...", 12), std::string_view("\x80\0\0\0\0\0\0\0\0\0\0\3", 12)}) {
    const Read all = read_all(RawTarHeader("x").put(124, field).summed() + padded("abc") + kEndMark);
    EXPECT_EQ(all.error, "") << field;
    ASSERT_EQ(all.contents, std::vector<std::string>{"abc"}) << field;
  }
  for (const std::string_view field :
       {std::string_view("00000000008\0", 12), std::string_view("-0000000003\0", 12), std::string_view("3x\0", 3),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfd", 12),
        std::string_view("\x80\0\0\0\x40\0\0\0\0\0\0\1", 12), std::string_view("\x80\0\0\1\0\0\0\0\0\0\0\0", 12)}) {
    const Read all =
        read_all(RawTarHeader("first").summed() + RawTarHeader("x").put(124, field).summed() + padded("abc") + kEndMark);
    EXPECT_EQ(all.members.size(), 1U);
    EXPECT_EQ(all.error, "is damaged (a header with a size that no file has, before byte 1024 of the archive unpacked)")
        << field;
  }
}

TEST(Tar, AHeaderCountsOnlyWithItsChecksum) {
  const std::string name = "caf\xc3\xa9";  // whose bytes are negative if signed
  EXPECT_EQ(read_all(RawTarHeader(name).summed<signed char>() + kEndMark).error, "");
  EXPECT_EQ(read_all(RawTarHeader(name).summed<unsigned char>() + kEndMark).error, "");
  std::string bytes = RawTarHeader(name).summed() + RawTarHeader("x").summed() + kEndMark;
  for (const std::size_t at : {0UL, 124UL, 156UL, 300UL, 511UL}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_EQ(read_all(flipped).error, "is not a .tar or .tar.zst (a header with a wrong checksum)");
    flipped = bytes;
    flipped[kTarBlock + at] = static_cast<char>(flipped[kTarBlock + at] ^ 1);
    EXPECT_THAT(read_all(flipped).error, HasSubstr("is damaged (a header with a wrong checksum, before byte 1024"));
  }
  EXPECT_THAT(read_all(std::string(5000, 'x')).error, HasSubstr("is not a .tar"));
}

TEST(Tar, RefusesRecordsThatAreNone) {
  for (const std::string& records :
       {std::string("x"), std::string("5 a=b\n"), std::string("7 a=b\n"), std::string("6 a=b "), std::string("6 abc\n"),
        std::string("0 a=b\n"), std::string("2 \n"), std::string("-6 a=b\n"), std::string("99999999999999999999 a=b\n"),
        std::string("6 a=b\n\0", 7)}) {
    EXPECT_THAT(read_all(extension('x', records) + RawTarHeader("x").summed() + kEndMark).error,
                HasSubstr("not made of records"))
        << records;
  }
  EXPECT_EQ(read_all(extension('x', "6 a=b\n") + RawTarHeader("x").summed() + kEndMark).error, "");
  EXPECT_THAT(read_all(extension('x', "6 a=b\n") + kEndMark).error, HasSubstr("without its member"));
}

TEST(Tar, ExtendedHeadersAreBounded) {
  const std::string first = RawTarHeader("first").summed();
  EXPECT_THAT(read_all(first + extension('L', std::string(4096, 'n')) + RawTarHeader("x").summed()).error,
              HasSubstr("a name of more than 4095 bytes"));
  EXPECT_THAT(read_all(first + extension('K', std::string(4096, 'n')) + RawTarHeader("x", '2').summed()).error,
              HasSubstr("a name of more than 4095 bytes"));
  EXPECT_EQ(read_all(extension('g', std::string(1000'000, 'n')) + RawTarHeader("x").summed() + kEndMark).error, "");
  for (const char type : {'g', 'x', 'L', 'K', 'V'}) {
    const std::string head = RawTarHeader("huge", type).size(std::uint64_t{1} << 32U).summed();
    Zeros zeros(head);
    EXPECT_THAT(read_from(zeros).error, HasSubstr("extended headers of more than 1048576 bytes")) << type;
    EXPECT_LT(zeros.served(), 1U << 20U) << "a claim must not be believed";
  }
  std::string many;
  for (int i = 0; i < 3000; ++i) many += extension('g', record("comment=x"));
  EXPECT_THAT(read_all(many + RawTarHeader("x").summed() + kEndMark).error, HasSubstr("extended headers of more than"));
}

TEST(Tar, TheUnreadRestOfAMemberIsSkipped) {
  const std::string bytes =
      RawTarHeader("a").size(1000).summed() + padded(std::string(1000, 'a')) + RawTarHeader("b").summed() + kEndMark;
  Pieces pieces(bytes, 100);
  TarReader reader(pieces);
  TarMember member;
  ASSERT_TRUE(*reader.next(member));
  ASSERT_EQ(reader.content()->size(), 88U) << "the rest of the piece that has the header's end";
  ASSERT_TRUE(*reader.next(member));
  EXPECT_EQ(member.path, "b");
  EXPECT_FALSE(*reader.next(member));
}

}  // namespace
}  // namespace memstat
