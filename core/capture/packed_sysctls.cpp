// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/packed_sysctls.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/capture/tar.h"

namespace memstat {
namespace {

constexpr std::size_t kMinZeros = 3;  // fewer cost as much as a run

void put_number(std::string& out, std::uint64_t number) {
  for (; number > 0x7F; number >>= 7U) out += static_cast<char>(0x80U | (number & 0x7FU));
  out += static_cast<char>(number);
}

/// The end of the zeros that begin at `at`.
std::size_t end_of_zeros(std::string_view bytes, std::size_t at) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (std::uint64_t word = 0; at + kWord <= bytes.size(); at += kWord) {
    std::memcpy(&word, bytes.data() + at, kWord);
    if (word != 0) break;
  }
  while (at < bytes.size() && bytes[at] == '\0') ++at;
  return at;
}

/// The end of the literal bytes that begin at `at`: where enough zeros follow, or the bytes end.
std::size_t end_of_literals(std::string_view bytes, std::size_t at) {
  while (at < bytes.size()) {
    const std::size_t zero = std::min(bytes.find('\0', at), bytes.size());
    at = end_of_zeros(bytes, zero);
    if (at - zero >= kMinZeros || at == bytes.size()) return zero;
  }
  return at;
}

/// Reads from packed bytes. Each function returns nothing if they end too early.
class Cursor {
 public:
  explicit Cursor(std::string_view packed) : packed_(packed) {}

  std::optional<std::uint64_t> number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; at_ < packed_.size() && shift < 63; shift += 7) {
      const auto byte = static_cast<unsigned char>(packed_[at_++]);
      number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) return number;
    }
    return std::nullopt;
  }
  std::optional<std::string_view> bytes(std::optional<std::uint64_t> count) {
    if (!count || *count > packed_.size() - at_) return std::nullopt;
    const std::string_view taken = packed_.substr(at_, static_cast<std::size_t>(*count));
    at_ += taken.size();
    return taken;
  }
  [[nodiscard]] bool at_end() const { return at_ == packed_.size(); }
  [[nodiscard]] Error damaged(std::string_view what) const { return data_error({}, at_, what); }

 private:
  std::string_view packed_;
  std::size_t at_ = 0;
};

/// Unpacks one sysctl's content of `size` bytes.
Result<std::string> unpack_content(Cursor& cursor, std::uint64_t size) {
  std::string content;
  while (content.size() < size) {
    const auto zeros = cursor.number();
    const std::uint64_t room = size - content.size();
    if (!zeros || *zeros > room) return cursor.damaged("a run of zeros that is longer than its sysctl");
    const auto literals = cursor.bytes(cursor.number());
    if (!literals || literals->size() > room - *zeros)
      return cursor.damaged("a run of bytes that is longer than its sysctl");
    if (*zeros == 0 && literals->empty()) return cursor.damaged("a run of no bytes");
    content.append(static_cast<std::size_t>(*zeros), '\0').append(*literals);
  }
  return content;
}

}  // namespace

void SysctlPacker::add(std::string_view name, std::string_view bytes) {
  if (out_.empty()) out_ = kPackedSysctlsHead;
  const auto shared =
      static_cast<std::size_t>(std::mismatch(name.begin(), name.end(), last_.begin(), last_.end()).first - name.begin());
  put_number(out_, shared);
  put_number(out_, name.size() - shared);
  out_ += name.substr(shared);
  last_ = name;
  put_number(out_, bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = end_of_zeros(bytes, at);
    const std::size_t end = end_of_literals(bytes, begin);
    put_number(out_, begin - at);
    put_number(out_, end - begin);
    out_ += bytes.substr(begin, end - begin);
    at = end;
  }
}

Result<void> add_poll_file(MemoryFiles& files, std::string_view path, std::string bytes) {
  if (below_top(path) != kPackedSysctls) return files.add_file(path, std::move(bytes));
  const std::string directory = std::string(path.substr(0, path.find('/'))) + "/sysctl/";
  auto unpacked = unpack_sysctls(bytes, [&](const std::string& name, std::string content) {
    return files.add_file(directory + name, std::move(content));
  });
  if (!unpacked && unpacked.error().path.empty()) unpacked.error().path = files.full_name(path);
  return unpacked;
}

Result<void> unpack_sysctls(std::string_view packed,
                            const std::function<Result<void>(const std::string& name, std::string bytes)>& add) {
  Cursor cursor(packed);
  if (cursor.bytes(kPackedSysctlsHead.size()) != kPackedSysctlsHead) return cursor.damaged("not packed sysctls");
  std::string name;
  std::uint64_t left = kMaxPackedSysctls;
  while (!cursor.at_end()) {
    const auto shared = cursor.number();
    const auto rest = cursor.bytes(cursor.number());
    if (!shared || *shared > name.size() || !rest || *shared + rest->size() > kMaxTarName)
      return cursor.damaged("a damaged name of a sysctl");
    name.resize(static_cast<std::size_t>(*shared));
    name += *rest;
    const auto size = cursor.number();
    if (!size || *size > left) return cursor.damaged("a sysctl that is larger than a poll may have");
    left -= *size;
    auto content = unpack_content(cursor, *size);
    if (!content) return content.error();
    if (auto added = add(name, *std::move(content)); !added) return added;
  }
  return {};
}

}  // namespace memstat
