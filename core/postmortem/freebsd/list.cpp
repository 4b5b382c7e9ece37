// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/list.h"

#include "core/base/text.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxNameSize = 31;

}  // namespace

std::string read_name(FreeBsdKernel& kernel, std::uint64_t address, std::string& damage) {
  const auto text = kernel.read_string(address, kMaxNameSize);
  if (!text) {
    damage = "its name: " + to_string(text.error());
    return "?";
  }
  return *text;
}

void add_damage(std::vector<std::string>& to, const std::string& subject, std::string_view what) {
  if (!what.empty() && to.size() < kMaxDamage) to.push_back(make_label_text(subject) + ": " + std::string(what));
}

Error missing_type(FreeBsdKernel& kernel, std::string_view name) {
  return make_error(ErrorCode::kKvmNoSymbol, kernel.file().name(),
                    "struct " + std::string(name) + ": its layout is not that of FreeBSD 13 to 15");
}

}  // namespace memstat::postmortem
