// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/image.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "core/base/text.h"

namespace memstat::postmortem {
namespace {

constexpr std::string_view kFreeBsdSymbols[] = {"KPML4phys", "KPML5phys", "pagetable_l0_ttbr1", "osrelease", "time_second",
                                                "__pcpu", "pcpu0", "mp_maxid", "all_cpus", "vm_ndomains",
                                                // malloc.cpp
                                                "kmemstatistics", "kmemzones", "vm_malloc_zone_count",
                                                // zones.cpp
                                                "uma_kegs", "uma_cachezones", "uma_kmem_total",
                                                // pages.cpp
                                                "vm_cnt", "vm_dom", "vm_user_wire_count"};

class MinidumpImage final : public FreeBsdKernel {
 public:
  MinidumpImage(std::unique_ptr<FreeBsdMinidump> dump, KernelFile file)
      : FreeBsdKernel(std::move(file), *dump), dump_(std::move(dump)) {
    page_bytes_ = dump_->layout().page_bytes;
  }

  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    return read_translated(*dump_, address, to, size, [this](std::uint64_t at) { return dump_->translate(at); });
  }

 private:
  std::unique_ptr<FreeBsdMinidump> dump_;
};

class WholeImage final : public FreeBsdKernel {
 public:
  WholeImage(std::unique_ptr<PhysicalMemory> dump, KernelFile file)
      : FreeBsdKernel(std::move(file), *dump), dump_(std::move(dump)) {}

  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    return read_translated(*dump_, address, to, size, [this](std::uint64_t at) { return translate(*dump_, tables_, at); });
  }

  /// The kernel is at the physical place given by its addresses minus the base of its map, or a multiple of 2 MiB after
  /// that. A place is right if the tables found there map the place itself: on amd64 the tables at KPML4phys, on arm64
  /// the root table.
  Result<void> find_tables() {
    const bool is_arm64 = dump_->machine() == Machine::kArm64;
    const std::string_view name_of_tables = is_arm64 ? "pagetable_l0_ttbr1" : "KPML4phys";
    const std::uint64_t kernel_map = is_arm64 ? 0xffff'0000'0000'0000 : 0xffff'ffff'8000'0000;  // KERNBASE
    constexpr std::uint64_t kStep = 2U << 20U;
    // Loaders of amd64 stay below 8 GiB. On arm64 memory may begin anywhere; this searches up to 1 TiB.
    const std::uint64_t most_steps = is_arm64 ? 1U << 19U : 4096U;
    const auto symbol = file().symbol(name_of_tables);
    if (!symbol) return symbol.error();
    if (symbol->address < kernel_map) {
      return make_error(ErrorCode::kData, name(),
                        std::string(name_of_tables) + " is at " + hex(symbol->address) + ", which is not a kernel address");
    }
    for (std::uint64_t step = 0; step < most_steps; ++step) {
      for (const bool is_below : {false, true}) {
        const std::uint64_t link = symbol->address - kernel_map;
        if (is_below && (step == 0 || link < step * kStep)) continue;
        const std::uint64_t place = is_below ? link - step * kStep : link + step * kStep;
        if (is_arm64 ? try_tables_of_arm64(symbol->address, place) : try_tables(symbol->address, place)) return {};
      }
    }
    return make_error(ErrorCode::kKvmShortRead, name(),
                      "the kernel's page tables were not found by " + std::string(name_of_tables) +
                          ": the kernel file is of another build, or the dump does not have all memory");
  }

 private:
  bool try_tables(std::uint64_t address, std::uint64_t place) {
    std::uint64_t root = 0;
    if (!dump_->read(place, reinterpret_cast<char*>(&root), sizeof root)) return false;
    if (root == 0 || root % 4096 != 0 || !maps(address, place, {.root = root})) return false;
    find_fifth_level(place - address);
    return true;
  }

  /// With five levels, KPML5phys is the root: the fourth-level table at KPML4phys maps the kernel's own image, but not
  /// the direct map, which contains types and zones. `offset`: from an address in the image to its place.
  void find_fifth_level(std::uint64_t offset) {
    const auto symbol = file().symbol("KPML5phys");  // 0 in a kernel that runs with four levels
    std::uint64_t root = 0;
    if (!symbol || !dump_->read(symbol->address + offset, reinterpret_cast<char*>(&root), sizeof root)) return;
    const PageTables four = tables_;
    if (root == 0 || maps(symbol->address, symbol->address + offset, {.root = root, .levels = 5, .address_bits = 57}))
      return;
    tables_ = four;  // not a table
  }

  /// With 4 KiB pages.
  bool try_tables_of_arm64(std::uint64_t address, std::uint64_t place) {
    std::uint64_t entry = 0;
    if (place % 4096 != 0 || !dump_->read(place, reinterpret_cast<char*>(&entry), sizeof entry) || entry == 0) return false;
    return maps(address, place, {.root = place, .is_arm64 = true});
  }

  bool maps(std::uint64_t address, std::uint64_t place, const PageTables& tables) {
    tables_ = tables;
    const auto found = translate(*dump_, tables_, address);
    return found && found->address == place;
  }

  std::unique_ptr<PhysicalMemory> dump_;
  PageTables tables_;
};

Result<void> check_machine(const PhysicalMemory& dump, const KernelFile& file) {
  if (dump.machine() == file.machine()) return {};
  return make_error(ErrorCode::kVersion, dump.name(),
                    "is a dump of " + std::string(to_string(dump.machine())) + ", but " + file.name() + " is a kernel of " +
                        std::string(to_string(file.machine())));
}

template <typename Image>
Result<std::unique_ptr<FreeBsdKernel>> checked(std::unique_ptr<Image> image) {
  if (auto same = image->check_version(); !same) return same.error();
  return std::unique_ptr<FreeBsdKernel>(std::move(image));
}

constexpr const char* kKernelVariable = "MEMSTAT_KERNEL";

bool is_plain_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// "3" for vmcore.3, vmcore.3.zst and vmcore.3.gz; otherwise "".
std::string number_of(const std::string& name) {
  constexpr std::string_view kBegin = "vmcore.";
  if (!name.starts_with(kBegin)) return {};
  const std::string rest = name.substr(kBegin.size());
  const std::string number = rest.substr(0, rest.find('.'));
  const bool is_number =
      !number.empty() && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? number : std::string();
}

/// Also "" in setuid programs.
std::string kernel_of_environment() {
  if (::geteuid() != ::getuid() || ::getegid() != ::getgid()) return {};
  const char* const named = std::getenv(kKernelVariable);
  return named != nullptr ? named : "";
}

void add_installed(std::vector<std::string>& to) {
#ifdef __FreeBSD__
  to.push_back("/boot/kernel/kernel");
  std::error_code ignored;
  for (std::filesystem::directory_iterator at("/boot", ignored), end; at != end; at.increment(ignored)) {
    to.push_back((at->path() / "kernel").string());
  }
#else
  static_cast<void>(to);
#endif
}

}  // namespace

std::span<const std::string_view> symbols_of_freebsd() { return kFreeBsdSymbols; }

Result<void> FreeBsdKernel::check_version() {
  const auto symbol = file_.symbol("version");
  if (!symbol || file_.version().empty()) return {};
  const auto found = read_string(symbol->address, file_.version().size() + 1);
  if (found && *found == file_.version()) return {};
  const auto first_line = [](std::string_view text) { return make_label_text(text.substr(0, text.find('\n'))); };
  return make_error(ErrorCode::kVersion, name(),
                    "is of another kernel than " + file_.name() + ", which is \"" + first_line(file_.version()) +
                        "\"; the dump has " + (found ? "\"" + first_line(*found) + "\"" : std::string("nothing")) +
                        " there");
}

Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<FreeBsdMinidump> dump, KernelFile file) {
  if (auto same = check_machine(*dump, file); !same) return same.error();
  return checked(std::make_unique<MinidumpImage>(std::move(dump), std::move(file)));
}

Result<std::unique_ptr<FreeBsdKernel>> open_freebsd_image(std::unique_ptr<PhysicalMemory> dump, KernelFile file) {
  if (auto same = check_machine(*dump, file); !same) return same.error();
  auto image = std::make_unique<WholeImage>(std::move(dump), std::move(file));
  if (auto found = image->find_tables(); !found) return found.error();
  return checked(std::move(image));
}

std::vector<std::string> kernel_candidates(const std::string& dump) {
  if (const std::string named = kernel_of_environment(); !named.empty()) return {named};
  std::vector<std::string> candidates;
  if (!dump.empty()) {
    const std::filesystem::path path(dump);
    if (const std::string number = number_of(path.filename().string()); !number.empty()) {
      candidates.push_back((path.parent_path() / ("kernel." + number)).string());
    }
    candidates.push_back((path.parent_path() / "kernel").string());
  }
  add_installed(candidates);
  std::vector<std::string> there;
  for (const std::string& candidate : candidates) {
    if (is_plain_file(candidate) && std::find(there.begin(), there.end(), candidate) == there.end()) {
      there.push_back(candidate);
    }
  }
  return there;
}

Result<std::unique_ptr<FreeBsdKernel>> open_with_kernel(
    const std::string& dump, const std::function<Result<std::unique_ptr<FreeBsdKernel>>(KernelFile)>& open) {
  std::optional<Error> first;
  for (const std::string& candidate : kernel_candidates(dump)) {
    auto file = KernelFile::open(candidate, symbols_of_freebsd());
    auto image = file ? open(*std::move(file)) : Result<std::unique_ptr<FreeBsdKernel>>(file.error());
    if (image) return image;
    if (!first) first = std::move(image.error());
  }
  if (first) return *std::move(first);
  return make_error(
      ErrorCode::kNotPresent, dump,
      "is FreeBSD: the kernel file is needed for symbols and types: copy /boot/kernel/kernel of that machine next to "
      "the dump, or name it: memstatctl --kernel FILE, elsewhere the environment variable MEMSTAT_KERNEL");
}

}  // namespace memstat::postmortem
