// SPDX-License-Identifier: BSD-2-Clause
// Maps addresses in the kernel's code to functions, with kallsyms and the modules' own tables.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/postmortem/linux/kernel_image.h"

namespace memstat::postmortem {

/// Names addresses like the kernel's %pS: "function+0x1f/0x80" or "function+0x1f/0x80 [module]"; "0x..." outside
/// functions. Unreadable tables are skipped. Names at most kMaxAddresses.
class Symbolizer {
 public:
  static constexpr std::size_t kMaxAddresses = 1U << 16U;

  explicit Symbolizer(KernelImage& image) : image_(image) {}

  /// Registers an address for name_of(). Call before resolve().
  void add(std::uint64_t address);
  /// Reads the tables once.
  void resolve();
  [[nodiscard]] std::string name_of(std::uint64_t address) const;

 private:
  struct Place {
    std::uint64_t begin = 0;  // start of the function; 0: unknown
    std::uint64_t end = 0;
    std::uint32_t number = 0;
    std::string name;
  };
  // The members of struct module that describe its memory.
  struct Regions {
    std::uint64_t at = 0;
    std::uint32_t count = 0;
    std::uint64_t stride = 0;
    std::string_view type;
  };
  void resolve_kernel();
  void resolve_modules();
  Regions find_regions();
  void resolve_module(std::uint64_t address, std::vector<std::uint64_t> wanted);

  KernelImage& image_;
  std::map<std::uint64_t, Place> places_;
};

}  // namespace memstat::postmortem
