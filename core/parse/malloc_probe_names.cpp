// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/malloc_probe_names.h"

#include <algorithm>
#include <array>

namespace memstat {
namespace {

constexpr std::size_t kMaxTypeNameSize = 31;
constexpr std::string_view kBlanks = " \t\n\v\f\r";

/// A probe's name, truncated to what the stream can contain.
class ComparableName {
 public:
  explicit ComparableName(std::string_view name) : size_(std::min(name.size(), kMaxTypeNameSize)) {
    std::transform(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(size_), bytes_.begin(),
                   [](char c) { return kBlanks.find(c) == std::string_view::npos ? c : '_'; });
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::size_t size_;
  std::array<char, kMaxTypeNameSize> bytes_{};
};

}  // namespace

Result<void> MallocProbeNames::take(const StatisticsStream& stream) {
  names_.clear();
  names_.reserve(stream.count());
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const auto name = stream.record_name(i);
    if (!name) {
      names_.clear();
      return name.error();
    }
    names_.push_back({.probe = std::string(ComparableName(*name).view()), .type = std::string(*name)});
  }
  std::sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.probe < b.probe; });
  return {};
}

std::size_t MallocProbeNames::find(std::string_view probe) const {
  const ComparableName wanted(probe);
  const auto found = std::lower_bound(names_.begin(), names_.end(), wanted.view(),
                                      [](const Name& name, std::string_view text) { return name.probe < text; });
  if (found == names_.end() || found->probe != wanted.view()) return kUnknown;
  const auto next = found + 1;
  if (next != names_.end() && next->probe == wanted.view()) return kShared;
  return static_cast<std::size_t>(found - names_.begin());
}

}  // namespace memstat
