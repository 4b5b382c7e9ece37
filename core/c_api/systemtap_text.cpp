// SPDX-License-Identifier: BSD-2-Clause
#include "core/c_api/systemtap_text.h"

#include <algorithm>

namespace memstat {
namespace {

constexpr std::string_view kBigUnits = "KMG";
constexpr std::string_view kSmallUnits = "kmg";
constexpr std::uint64_t kStep = 1024;
constexpr std::size_t kWidth = 5;

/// Without leading blanks.
StackText<16> short_amount(std::uint64_t bytes, std::string_view units) {
  if (bytes < kStep) return StackText<16>(bytes);
  std::size_t unit = 0;
  std::uint64_t size = kStep;
  while (unit + 1 < units.size() && bytes / size >= kStep) {
    size *= kStep;
    ++unit;
  }
  StackText<16> text(bytes / size);
  if (bytes / size < 100) text.append(".", bytes % size * 10 / size);
  text.append(units.substr(unit, 1));
  return text;
}

/// Exact if four digits and a unit suffice, otherwise short.
StackText<16> exact_amount(std::uint64_t bytes) {
  constexpr std::uint64_t kMax = 9999;
  std::uint64_t amount = bytes;
  std::size_t unit = 0;  // index in the units
  while (unit < kSmallUnits.size() && amount >= kStep && amount % kStep == 0) {
    amount /= kStep;
    ++unit;
  }
  if (amount > kMax) return short_amount(bytes, kSmallUnits);
  return StackText<16>(amount, unit == 0 ? std::string_view() : kSmallUnits.substr(unit - 1, 1));
}

}  // namespace

StackText<16> bytes_to_string(std::uint64_t bytes) {
  const StackText<16> amount = short_amount(bytes, kBigUnits);
  constexpr std::string_view kBlanks = "     ";  // kWidth
  return StackText<16>(kBlanks.substr(std::min(amount.view().size(), kWidth)), amount.view());
}

StackText<128> proc_mem_string(const ProcessMemory& memory) {
  StackText<128> text;
  const auto put = [&text](std::string_view word, std::uint64_t bytes) { text.append(word, exact_amount(bytes).view()); };
  put("size: ", memory.size);
  put(", rss: ", memory.resident);
  put(", shr: ", memory.shared);
  put(", txt: ", memory.text);
  put(", data: ", memory.data);
  return text;
}

}  // namespace memstat
