// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/file_bundle.h"

#include <array>
#include <bit>
#include <limits>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::size_t kPrefix = 2 * sizeof(std::uint32_t);

}  // namespace

Result<void> FileBundleWriter::add(std::string_view name, std::string_view content) {
  constexpr std::size_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (name.size() > kMax || content.size() > kMax) return data_error(name.substr(0, 200), kMax, "4 GiB or longer");
  const auto prefix = std::bit_cast<std::array<char, kPrefix>>(
      std::array{static_cast<std::uint32_t>(name.size()), static_cast<std::uint32_t>(content.size())});
  // Reserve first, so that a record is appended completely or, without memory, not at all.
  if (const std::size_t size = bundle_.size() + kPrefix + name.size() + content.size(); size > bundle_.capacity())
    bundle_.reserve(2 * size);
  bundle_.append({prefix.data(), kPrefix});
  bundle_.append(name);
  bundle_.append(content);
  return {};
}

Result<void> FileBundleWriter::add_file(KernelView& view, std::string_view path, std::string_view name) {
  if (auto result = view.read_file(path, scratch_); !result) return result;
  return add(name, scratch_.view());
}

bool FileBundleReader::next(std::string_view& name, std::string_view& content) {
  if (rest_.empty()) return false;
  if (rest_.size() >= kPrefix) {
    const std::size_t name_size = load<std::uint32_t>(rest_, 0);
    const std::size_t content_size = load<std::uint32_t>(rest_, sizeof(std::uint32_t));
    const std::size_t left = rest_.size() - kPrefix;
    if (name_size <= left && content_size <= left - name_size) {
      name = rest_.substr(kPrefix, name_size);
      content = rest_.substr(kPrefix + name_size, content_size);
      rest_.remove_prefix(kPrefix + name_size + content_size);
      return true;
    }
  }
  is_cut_ = true;
  rest_ = {};
  return false;
}

}  // namespace memstat
