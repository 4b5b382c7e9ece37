// SPDX-License-Identifier: BSD-2-Clause
#include "core/c_api/systemtap_text.h"

#include "core/base/ascii.h"

namespace memstat {
namespace {

constexpr std::string_view kBigUnits = "KMG";
constexpr std::string_view kSmallUnits = "kmg";
constexpr std::uint64_t kStep = 1024;
constexpr std::size_t kWidth = 5;

/// Without leading blanks.
ShortText<16> short_amount(std::uint64_t bytes, std::string_view units) {
  ShortText<16> text;
  if (bytes < kStep) {
    text.append(NumberDigits(bytes).view());
    return text;
  }
  std::size_t unit = 0;
  std::uint64_t size = kStep;
  while (unit + 1 < units.size() && bytes / size >= kStep) {
    size *= kStep;
    ++unit;
  }
  text.append(NumberDigits(bytes / size).view());
  if (bytes / size < 100) {
    text.append(".");
    text.append(NumberDigits(bytes % size * 10 / size).view());
  }
  text.append(units.substr(unit, 1));
  return text;
}

/// Exact if four digits and a unit suffice, otherwise short.
ShortText<16> exact_amount(std::uint64_t bytes) {
  constexpr std::uint64_t kMax = 9999;
  std::uint64_t amount = bytes;
  std::size_t unit = 0;  // index in the units
  while (unit < kSmallUnits.size() && amount >= kStep && amount % kStep == 0) {
    amount /= kStep;
    ++unit;
  }
  if (amount > kMax) return short_amount(bytes, kSmallUnits);
  ShortText<16> text;
  text.append(NumberDigits(amount).view());
  if (unit > 0) text.append(kSmallUnits.substr(unit - 1, 1));
  return text;
}

}  // namespace

ShortText<16> bytes_to_string(std::uint64_t bytes) {
  const ShortText<16> amount = short_amount(bytes, kBigUnits);
  constexpr std::string_view kBlanks = "     ";
  ShortText<16> text;
  if (amount.view().size() < kWidth) text.append(kBlanks.substr(amount.view().size()));
  text.append(amount.view());
  return text;
}

ShortText<128> proc_mem_string(const ProcessMemory& memory) {
  ShortText<128> text;
  const auto put = [&text](std::string_view word, std::uint64_t bytes) {
    text.append(word);
    text.append(exact_amount(bytes).view());
  };
  put("size: ", memory.size);
  put(", rss: ", memory.resident);
  put(", shr: ", memory.shared);
  put(", txt: ", memory.text);
  put(", data: ", memory.data);
  return text;
}

}  // namespace memstat
