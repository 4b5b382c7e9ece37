// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/memuse/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/kernel/read_all.h"

namespace memstat::events {
namespace {

constexpr std::string_view kFile = "/proc/kallsyms";

/// Functions, including weak ones. Symbols of variables are skipped.
bool is_function(std::string_view kind) { return kind == "t" || kind == "T" || kind == "w" || kind == "W"; }

}  // namespace

Result<void> KernelSymbols::parse(std::string text) {
  text_ = std::move(text);
  functions_.clear();
  std::string_view rest = text_;
  std::string_view line;
  for (std::size_t offset = 0; next_line(rest, line); offset = text_.size() - rest.size()) {
    std::string_view address;
    std::string_view kind;
    std::string_view name;
    const bool is_whole = next_word(line, address) && next_word(line, kind) && next_word(line, name);
    const auto place = is_whole ? parse_hex_u64(address) : std::nullopt;
    if (!place) {
      functions_.clear();
      return data_error(kFile, offset, "is not an address with a kind and a name");
    }
    if (*place == 0 || !is_function(kind)) continue;
    functions_.push_back({.address = *place, .name = static_cast<std::size_t>(name.data() - text_.data())});
  }
  std::stable_sort(functions_.begin(), functions_.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
  return {};
}

std::string KernelSymbols::name_of_caller(std::uint64_t return_address) const {
  // The return address of a call that never returns is after its function, so look up the call itself.
  const std::uint64_t call = return_address - 1;
  auto behind = std::upper_bound(functions_.begin(), functions_.end(), call,
                                 [](std::uint64_t address, const Function& function) { return address < function.address; });
  if (return_address == 0 || behind == functions_.begin()) return {};
  const std::uint64_t start = std::prev(behind)->address;
  while (std::prev(behind) != functions_.begin() && std::prev(behind, 2)->address == start) --behind;
  std::string_view line = std::string_view(text_).substr(std::prev(behind)->name);
  line = line.substr(0, line.find('\n'));
  std::string_view name;
  std::string_view module;
  next_word(line, name);
  return next_word(line, module) ? std::string(name) + " " + std::string(module) : std::string(name);
}

Result<KernelSymbols> read_kernel_symbols() {
  const UniqueFd file(::open(std::string(kFile).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return system_error(kFile, errno);
  Buffer text;
  const auto read = [&file](char* to, std::size_t room) { return ::read(file.get(), to, room); };
  if (auto result = read_all(kFile, text, {}, read); !result) return result.error();
  KernelSymbols symbols;
  if (auto result = symbols.parse(std::string(text.view())); !result) return result.error();
  return symbols;
}

}  // namespace memstat::events
