// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as a tar archive, in pieces whose size the first byte gives. Members must be within the
// bounds, the same in pieces of any size, and the same in an archive that we write from them. Blocks with a checksum get the
// right one, which a fuzzer does not find.
#include <algorithm>
#include <string>
#include <vector>

#include "core/capture/tar.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/pieces.h"

namespace {

using namespace memstat;

struct Archived {
  std::vector<TarMember> members;
  std::vector<std::string> contents;
  std::string error;

  bool operator==(const Archived& other) const {
    return error == other.error && contents == other.contents &&
           std::equal(members.begin(), members.end(), other.members.begin(), other.members.end(),
                      [](const TarMember& a, const TarMember& b) {
                        return a.path == b.path && a.target == b.target && a.type == b.type && a.size == b.size;
                      });
  }
};

std::string with_checksums(std::string archive) {
  constexpr std::size_t kChecksum = 148;
  for (std::size_t at = 0; at + kTarBlock <= archive.size(); at += kTarBlock) {
    if (archive[at + kChecksum] != '0') continue;
    archive.replace(at + kChecksum, 8, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kTarBlock; ++i) sum += static_cast<unsigned char>(archive[at + i]);
    for (std::size_t i = 6; i-- > 0; sum >>= 3U) archive[at + kChecksum + i] = static_cast<char>('0' + (sum & 7U));
  }
  return archive;
}

Archived read_all(std::string_view bytes, std::size_t piece_bytes) {
  Archived archived;
  Pieces pieces(bytes, piece_bytes);
  TarReader reader(pieces);
  const auto is_good = [&](const auto& result) {
    if (result) return true;
    MEMSTAT_FUZZ_REQUIRE(result.error().code == ErrorCode::kData && !result.error().detail.empty());
    archived.error = result.error().detail;
    return false;
  };
  std::uint64_t total = 0;
  while (true) {
    TarMember member;
    const auto more = reader.next(member);
    if (!is_good(more) || !*more) return archived;
    MEMSTAT_FUZZ_REQUIRE(member.path.size() <= kMaxTarName && member.target.size() <= kMaxTarName);
    MEMSTAT_FUZZ_REQUIRE(member.header_bytes >= kTarBlock && member.header_bytes <= (2U << 20U));
    MEMSTAT_FUZZ_REQUIRE(member.header_bytes % kTarBlock == 0);
    total += member.header_bytes;
    std::string content;
    while (true) {
      const auto piece = reader.content();
      if (!is_good(piece)) return archived;
      if (piece->empty()) break;
      content += *piece;
    }
    MEMSTAT_FUZZ_REQUIRE(content.size() == member.size);
    total += content.size();
    MEMSTAT_FUZZ_REQUIRE(total <= bytes.size());
    archived.members.push_back(std::move(member));
    archived.contents.push_back(std::move(content));
  }
}

}  // namespace

void memstat::fuzz(std::string_view raw) {
  if (raw.empty()) return;
  const std::string bytes = with_checksums(std::string(raw));
  const Archived archived = read_all(bytes, 1 + static_cast<unsigned char>(raw[0]) * std::size_t{17});
  MEMSTAT_FUZZ_REQUIRE(archived == read_all(bytes, bytes.size()));
  Archived writable;
  std::string written;
  for (std::size_t i = 0; i < archived.members.size(); ++i) {
    TarMember member = archived.members[i];
    const std::string& content = archived.contents[i];
    const bool has_content = member.type == TarType::kFile || member.type == TarType::kSparseFile;
    // Names that end where a text does, and are not those of directories unless they are.
    if (member.path.empty() || member.path.find('\0') != std::string::npos ||
        member.target.find('\0') != std::string::npos || (!has_content && !content.empty()))
      continue;
    if (member.type == TarType::kDirectory) {
      if (member.path.back() != '/' || member.path.size() == 1) continue;
      member.path.pop_back();
    }
    written += tar_header(member, 0) + content + std::string(tar_padding(content.size()), '\0');
    if (member.type == TarType::kDirectory) member.path += '/';
    writable.members.push_back(std::move(member));
    writable.contents.push_back(content);
  }
  written.append(2 * kTarBlock, '\0');
  MEMSTAT_FUZZ_REQUIRE(writable == read_all(written, 1000));
}
