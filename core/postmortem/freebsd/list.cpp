// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/list.h"

#include "core/base/text.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kMaxDamage = 1000;
constexpr std::size_t kMaxNameSize = 31;

}  // namespace

bool ListWalk::goes_on(std::uint64_t address) {
  if (address == 0 || !damage_.empty()) return false;
  if (seen_.size() == kMaxEntries) {
    end(seen_.size(), "it has no end");
    return false;
  }
  if (seen_.insert(address).second) return true;
  end(seen_.size(), "it goes in a circle");
  return false;
}

void ListWalk::end(std::size_t count, std::string_view why) {
  damage_ = name_ + ": " + std::to_string(count) + " were read, then: " + std::string(why);
}

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
