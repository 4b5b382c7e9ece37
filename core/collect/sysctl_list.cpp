// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/sysctl_list.h"

#include "core/base/text.h"

namespace memstat {

Result<void> list_sysctl(KernelView& view, std::string_view name, Buffer& scratch, SysctlList& list) {
  if (auto result = view.read_sysctl(name, scratch, sizeof(std::uint64_t)); !result) {
    if (result.error().code == ErrorCode::kNotPresent) return {};
    return result;
  }
  list.emplace_back(name);
  return {};
}

Result<void> read_listed_sysctls(KernelView& view, const SysctlList& list, FileBundleWriter& bundle,
                                 bool (*is_needed)(std::string_view name)) {
  struct {
    Result<void> result;
    std::size_t taken = 0;
    bool has_any = false;
  } so_far;
  const auto take = [&](std::string_view name, const Result<std::string_view>& bytes) {
    const bool is_last = ++so_far.taken == list.size();
    so_far.result = bytes ? bundle.add(name, *bytes) : Result<void>(bytes.error());
    if (so_far.result) return so_far.has_any = true;
    const bool is_last_hope = is_last && !so_far.has_any;
    if (so_far.result.error().code != ErrorCode::kNotPresent || is_needed(name) || is_last_hope) return false;
    so_far.result = {};
    return true;
  };
  bundle.add_numbers(view, list, std::ref(take));
  return so_far.result ? bundle.add(kEndOfListedSysctls, {}) : so_far.result;
}

Error as_error_of(std::string_view origin, const Error& error) {
  Error result = error;
  result.detail = error.path + (error.detail.empty() ? "" : ": ") + error.detail;
  result.path = origin;
  return result;
}

std::optional<std::uint64_t> sysctl_number(std::string_view bytes) {
  switch (bytes.size()) {
    case 1: return load<std::uint8_t>(bytes, 0);
    case 2: return load<std::uint16_t>(bytes, 0);
    case 4: return load<std::uint32_t>(bytes, 0);
    case 8: return load<std::uint64_t>(bytes, 0);
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> sysctl_amount(std::string_view bytes) {
  const auto number = sysctl_number(bytes);
  if (!number) return std::nullopt;
  const bool is_negative = (*number >> (8 * bytes.size() - 1) & 1U) != 0;
  return is_negative ? 0 : *number;
}

bool take_sysctl(std::string_view name, std::string_view bytes, std::optional<std::uint64_t> (*convert)(std::string_view),
                 std::span<KeyedNumber> numbers, std::size_t& cursor) {
  for (std::size_t tried = 0; tried < numbers.size(); ++tried) {
    const std::size_t at = (cursor + tried) % numbers.size();
    if (numbers[at].key != name) continue;
    cursor = at + 1;
    if (numbers[at].value) return true;
    numbers[at].value = convert(bytes);
    return numbers[at].value.has_value();
  }
  return true;
}

}  // namespace memstat
