// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/sysctl_list.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/base/text.h"
#include "core/collect/reuse.h"

namespace memstat {

Result<void> list_sysctl(KernelView& view, std::string_view origin, std::string_view name, SysctlListState& state) {
  if (auto result = view.read_sysctl(name, state.scratch, sizeof(std::uint64_t)); !result) {
    if (result.error().code == ErrorCode::kNotPresent) return {};
    state.list.clear();
    return as_error_of(origin, result.error());
  }
  state.list.emplace_back(name);
  return {};
}

namespace {

/// Merges fresh values and kept settings into one bundle, in the order of the list.
class ListedRead {
 public:
  /// `kept`: a bundle of settings; "" if settings are read, too.
  ListedRead(const SysctlList& list, const SysctlRules& rules, std::string_view kept, FileBundleWriter& bundle)
      : list_(list), rules_(rules), kept_(kept), bundle_(bundle) {
    has_kept_ = kept_.next(kept_name_, kept_content_);
  }

  Result<void> run(KernelView& view, const SysctlList& names) {
    const auto take = [&](std::string_view name, const Result<std::string_view>& bytes) {
      const bool is_last = ++taken_ == names.size();
      result_ = bytes ? add_kept_before(name) : Result<void>(bytes.error());
      if (result_) result_ = bundle_.add(name, *bytes);
      if (result_) return has_any_ = true;
      const bool is_last_hope = is_last && !has_any_;
      if (result_.error().code != ErrorCode::kNotPresent || rules_.is_needed(name) || is_last_hope) return false;
      result_ = {};
      return true;
    };
    bundle_.add_numbers(view, names, std::ref(take));
    if (result_) result_ = add_kept_before(kEndOfListedSysctls);
    return result_ ? bundle_.add(kEndOfListedSysctls, {}) : result_;
  }

 private:
  Result<void> add_kept_before(std::string_view name) {
    for (; has_kept_ && at_ < list_.size() && list_[at_] != name; ++at_) {
      if (list_[at_] != kept_name_) continue;
      if (auto result = bundle_.add(kept_name_, kept_content_); !result) return result;
      has_kept_ = kept_.next(kept_name_, kept_content_);
    }
    return {};
  }

  const SysctlList& list_;
  const SysctlRules& rules_;
  FileBundleReader kept_;
  FileBundleWriter& bundle_;
  std::string_view kept_name_;
  std::string_view kept_content_;
  bool has_kept_ = false;
  std::size_t at_ = 0;  // index in the list; kept settings before it are in the bundle
  std::size_t taken_ = 0;
  bool has_any_ = false;
  Result<void> result_;
};

Result<void> keep_settings(std::string_view bundle, const SysctlRules& rules, FileBundleWriter&& settings) {
  FileBundleReader records(bundle);
  std::string_view name;
  std::string_view content;
  while (records.next(name, content)) {
    if (!rules.is_setting(name)) continue;
    if (auto result = settings.add(name, content); !result) return result;
  }
  return {};
}

}  // namespace

void SysctlListState::clear() {
  list.clear();
  others.clear();
  settings.clear();
  reads = 0;
}

Result<void> read_listed_sysctls(KernelView& view, std::string_view origin, const SysctlRules& rules, SysctlListState& state,
                                 Buffer& bundle) {
  if (state.list.empty()) {
    if (auto result = rules.find(view, state); !result) return result;
  }
  if (state.others.empty()) {
    std::copy_if(state.list.begin(), state.list.end(), std::back_inserter(state.others),
                 [&rules](const std::string& name) { return !rules.is_setting(name); });
  }
  const bool leaves_out = may_skip(view, state.reads++) && !state.settings.empty() && !state.others.empty();
  if (!leaves_out) state.settings.clear();
  FileBundleWriter writer(bundle, state.scratch);
  ListedRead read(state.list, rules, state.settings.view(), writer);
  auto result = read.run(view, leaves_out ? state.others : state.list);
  if (result && !leaves_out) result = keep_settings(bundle.view(), rules, {state.settings, state.scratch});
  return result ? result : as_error_of(origin, result.error());
}

bool BundleNames::add(std::string_view name) {
  const std::size_t hash = std::hash<std::string_view>{}(name) % hashes_.size();
  if (!hashes_[hash]) return hashes_[hash] = true;
  // Another name may have the same hash.
  FileBundleReader records(bundle_);
  std::string_view earlier;
  std::string_view content;
  while (records.next(earlier, content) && earlier.data() != name.data()) {
    if (earlier == name) return false;
  }
  return true;
}

Error as_error_of(std::string_view origin, const Error& error) {
  Error result = error;
  result.detail = error.path + (error.detail.empty() ? "" : ": ") + error.detail;
  result.path = origin;
  return result;
}

std::optional<std::uint32_t> sysctl_index(std::string_view text, std::uint32_t end) {
  const auto index = text.starts_with('0') && text.size() > 1 ? std::nullopt : parse_u64(text);
  return index && *index < end ? std::optional(static_cast<std::uint32_t>(*index)) : std::nullopt;
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
    numbers[at].value = convert(bytes);
    return numbers[at].value.has_value();
  }
  return true;
}

}  // namespace memstat
