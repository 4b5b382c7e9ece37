// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/kallsyms.h"

#include <array>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kAlignment = 8;
constexpr std::uint64_t kIndexBytes = SymbolNames::kTokens * 2;
constexpr std::uint64_t kMaxTokenBytes =
    64;  // size of a token with its NUL; the kernel's tokens are frequent sequences of letters
constexpr std::uint64_t kSymbolsPerMarker = 256;
constexpr std::uint64_t kMaxTableName = 256;  // of a name in the table
constexpr std::uint64_t kMinSymbols = 16;     // a real kernel has tens of thousands

std::uint64_t rounded_up(std::uint64_t number) { return (number + kAlignment - 1) / kAlignment * kAlignment; }

/// Whether a token index begins at `at`: it ascends from 0, each token has at least its NUL, and the tokens precede the
/// index.
bool is_index(std::string_view bytes, std::uint64_t at, std::uint64_t& tokens_at) {
  if (!holds(bytes, at, kIndexBytes) || number_at<std::uint16_t>(bytes, at) != 0) return false;
  std::uint64_t before = 0;
  for (std::uint64_t i = 1; i < SymbolNames::kTokens; ++i) {
    const std::uint64_t next = number_at<std::uint16_t>(bytes, at + i * 2);
    if (next <= before || next - before > kMaxTokenBytes) return false;
    before = next;
  }
  // The last token ends before the index, with zeros up to a multiple of 8.
  for (std::uint64_t size = rounded_up(before + 2); size <= before + kMaxTokenBytes && size <= at; size += kAlignment) {
    const std::string_view tokens = bytes.substr(static_cast<std::size_t>(at - size), static_cast<std::size_t>(size));
    const std::size_t end = tokens.find('\0', static_cast<std::size_t>(before));
    if (end == std::string_view::npos || rounded_up(end + 1) != size) continue;
    bool is_right = true;
    for (std::uint64_t i = 1; i < SymbolNames::kTokens && is_right; ++i) {
      is_right = tokens[number_at<std::uint16_t>(bytes, at + i * 2) - 1] == '\0';
    }
    if (is_right) {
      tokens_at = at - size;
      return true;
    }
  }
  return false;
}

/// Counts the markers before the tokens: an ascending array that starts with 0 and ends at `end`. 0: there are none.
std::uint64_t count_markers(std::string_view bytes, std::uint64_t end) {
  std::uint64_t at = end;
  // There may be padding after the last one.
  if (at >= 4 && number_at<std::uint32_t>(bytes, at - 4) == 0) at -= 4;
  std::uint64_t count = 0;
  for (std::uint64_t after = ~std::uint64_t{0}; at >= 4; at -= 4) {
    const std::uint64_t marker = number_at<std::uint32_t>(bytes, at - 4);
    if (marker >= after || (count != 0 && after - marker > kSymbolsPerMarker * kMaxTableName)) return 0;
    ++count;
    if (marker == 0) return count;
    after = marker;
  }
  return 0;
}

/// Finds the names: they end at the markers, and before them is a number of symbols that matches both.
std::optional<std::uint64_t> find_names(std::string_view bytes, std::uint64_t markers_at, std::uint64_t markers) {
  const std::uint64_t last = number_at<std::uint32_t>(bytes, markers_at + (markers - 1) * 4);
  const std::uint64_t most = last + kSymbolsPerMarker * kMaxTableName;
  for (std::uint64_t size = rounded_up(last + 1); size <= most && size + kAlignment <= markers_at; size += kAlignment) {
    const std::uint64_t names_at = markers_at - size;
    const std::uint64_t count = number_at<std::uint32_t>(bytes, names_at - kAlignment);
    const bool is_padded = number_at<std::uint32_t>(bytes, names_at - kAlignment + 4) == 0;
    if (!is_padded || (count + kSymbolsPerMarker - 1) / kSymbolsPerMarker != markers) continue;
    std::uint64_t at = 0;
    std::uint64_t symbol = 0;
    for (; symbol < count && at < size; ++symbol) {
      const std::uint64_t marker = number_at<std::uint32_t>(bytes, markers_at + symbol / kSymbolsPerMarker * 4);
      if (symbol % kSymbolsPerMarker == 0 && marker != at) break;
      std::uint64_t length = number_at<std::uint8_t>(bytes, names_at + at++);
      if ((length & 0x80U) != 0)
        length = (length & 0x7fU) | std::uint64_t{number_at<std::uint8_t>(bytes, names_at + at++)} << 7U;
      at += length;
    }
    if (symbol == count && at <= size && rounded_up(at) == size) return names_at;
  }
  return std::nullopt;
}

std::optional<FoundSymbolTables> take_tables(std::string_view bytes, std::uint64_t index_at, std::uint64_t tokens_at) {
  const std::uint64_t markers = count_markers(bytes, tokens_at);
  if (markers == 0) return std::nullopt;
  const bool is_padded = number_at<std::uint32_t>(bytes, tokens_at - 4) == 0;
  const std::uint64_t markers_at = tokens_at - markers * 4 - (is_padded ? 4 : 0);
  if (markers_at % kAlignment != 0) return std::nullopt;
  const auto names_at = find_names(bytes, markers_at, markers);
  if (!names_at) return std::nullopt;
  const std::uint64_t count_at = *names_at - kAlignment;
  const std::uint64_t count = number_at<std::uint32_t>(bytes, count_at);
  const std::uint64_t offsets_bytes = rounded_up(count * 4);
  if (count < kMinSymbols || count > SymbolNames::kMaxCount || count_at < offsets_bytes + kAlignment) return std::nullopt;
  return FoundSymbolTables{.offsets = count_at - kAlignment - offsets_bytes,
                           .relative_base = count_at - kAlignment,
                           .count = count_at,
                           .names = *names_at,
                           .tokens = tokens_at,
                           .index = index_at};
}

}  // namespace

std::optional<FoundSymbolTables> find_symbol_tables(std::string_view bytes) {
  for (std::uint64_t at = 0; holds(bytes, at, kIndexBytes); at += kAlignment) {
    std::uint64_t tokens_at = 0;
    if (!is_index(bytes, at, tokens_at)) continue;
    if (auto found = take_tables(bytes, at, tokens_at)) return found;
  }
  return std::nullopt;
}

std::string_view SymbolNames::token(std::uint8_t number) const {
  const std::size_t at = number_at<std::uint16_t>(index_, std::uint64_t{number} * 2);
  if (at >= tokens_.size()) return {};
  const std::string_view rest = tokens_.substr(at);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

Result<void> SymbolNames::for_each(std::uint32_t count,
                                   const std::function<bool(std::uint32_t, std::string_view)>& visit) const {
  std::array<std::string_view, kTokens> tokens;
  for (std::size_t i = 0; i < kTokens; ++i) tokens[i] = token(static_cast<std::uint8_t>(i));
  std::array<char, kMaxName> name;
  std::uint64_t at = 0;
  for (std::uint32_t symbol = 0; symbol < count; ++symbol) {
    const std::uint64_t begin = at;
    if (!holds(names_, at, 1)) return data_error("kallsyms_names", at, "ends before symbol " + std::to_string(symbol));
    std::uint64_t length = number_at<std::uint8_t>(names_, at++);
    // Two bytes with seven bits each, since Linux commit 73bbb94466fd ("kallsyms: support "big" kernel symbols") (v6.1).
    if ((length & 0x80U) != 0) {
      length = (length & 0x7fU) | (std::uint64_t{number_at<std::uint8_t>(names_, at++)} << 7U);
    }
    if (length == 0 || !holds(names_, at, length)) {
      return data_error("kallsyms_names", begin, "has a name of " + std::to_string(length) + " tokens, which does not fit");
    }
    std::size_t size = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::string_view part = tokens[number_at<std::uint8_t>(names_, at + i)];
      if (part.size() > name.size() - size)
        return data_error("kallsyms_names", begin, "has a name of more than 1024 letters");
      part.copy(name.data() + size, part.size());
      size += part.size();
    }
    at += length;
    const std::string_view whole(name.data(), size);
    if (!visit(symbol, whole.substr(whole.empty() ? 0 : 1))) return {};
  }
  return {};
}

std::uint64_t symbol_address(SymbolAddresses how, std::uint32_t number, std::uint64_t base, std::uint64_t place) {
  const auto distance = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(number)));
  switch (how) {
    case SymbolAddresses::kPerCpuAbsolute: return static_cast<std::int32_t>(number) >= 0 ? number : base - 1 - distance;
    case SymbolAddresses::kRelative: return base + number;
    case SymbolAddresses::kPlace: return place + distance;
  }
  return 0;
}

}  // namespace memstat::postmortem
