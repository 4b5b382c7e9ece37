// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/address_space.h"

#include <bit>
#include <string>

#include "core/base/text.h"

namespace memstat::postmortem {
namespace {

constexpr unsigned kEntryShift = 3;  // 8-byte entries
constexpr std::uint64_t kPresent = 1;
// x86, above the last level: a page of 2 MiB or 1 GiB. arm64: a table, or in the last level a page.
constexpr std::uint64_t kX86Large = 1U << 7U;
constexpr std::uint64_t kArmTable = 2;
constexpr std::uint64_t kX86AddressBits = 0x000f'ffff'ffff'f000;
constexpr std::uint64_t kArmAddressBits = 0x0000'ffff'ffff'f000;  // the four additional bits of LPA2 are not supported
constexpr std::uint64_t kX86KernelMap = 0xffff'ffff'8000'0000;    // __START_KERNEL_map: where the image is mapped

constexpr std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

Error no_key(std::string_view dump, std::string_view key) {
  return make_error(ErrorCode::kKvmNoSymbol, dump,
                    "VMCOREINFO has no " + std::string(key) + ", without which virtual addresses cannot be read");
}

Result<PageTables> find_x86(const VmCoreInfo& info, std::string_view dump) {
  const auto root = info.symbol("swapper_pg_dir");
  if (!root) return no_key(dump, "SYMBOL(swapper_pg_dir)");
  const auto base = info.number("phys_base");
  if (!base) return no_key(dump, "NUMBER(phys_base)");
  const bool has_five = info.number("pgtable_l5_enabled").value_or(0) == 1;
  return PageTables{.root = *root - kX86KernelMap + *base,
                    .levels = has_five ? 5U : 4U,
                    .address_bits = has_five ? 57U : 48U,
                    .encryption = info.number("sme_mask").value_or(0)};
}

Result<PageTables> find_arm64(const VmCoreInfo& info, std::string_view dump) {
  const auto root = info.symbol("swapper_pg_dir");
  if (!root) return no_key(dump, "SYMBOL(swapper_pg_dir)");
  const auto offset = info.number("kimage_voffset");
  if (!offset) return no_key(dump, "NUMBER(kimage_voffset)");
  // T1SZ is what was configured at boot; VA_BITS alone is the kernel's maximum. Exported since Linux commit
  // bbdbc11804ff ("arm64/crash_core: Export TCR_EL1.T1SZ in vmcoreinfo") (v5.9).
  const auto unused_bits = info.number("TCR_EL1_T1SZ");
  const auto address_bits = unused_bits ? 64 - *unused_bits : info.number("VA_BITS");
  if (!address_bits) return no_key(dump, "NUMBER(VA_BITS)");
  const std::uint64_t page_size = parse_u64(info.text("PAGESIZE").value_or("4096")).value_or(0);
  const bool is_known = page_size == 4096 || page_size == 16384 || page_size == 65536;
  if (!is_known || *address_bits < 36 || *address_bits > 52) {
    return data_error(dump, 0,
                      "VMCOREINFO has pages of " + std::to_string(page_size) + " bytes and addresses of " +
                          std::to_string(*address_bits) + " bits, which no arm64 kernel has");
  }
  PageTables tables{.root = *root - *offset,
                    .page_shift = static_cast<unsigned>(std::countr_zero(page_size)),
                    .address_bits = static_cast<unsigned>(*address_bits),
                    .is_arm64 = true};
  const unsigned bits_per_level = tables.page_shift - kEntryShift;
  tables.levels = (tables.address_bits - tables.page_shift + bits_per_level - 1) / bits_per_level;
  return tables;
}

}  // namespace

Result<PageTables> find_page_tables(Machine machine, const VmCoreInfo& info, std::string_view dump) {
  return machine == Machine::kX86 ? find_x86(info, dump) : find_arm64(info, dump);
}

Result<Translation> translate(PhysicalMemory& memory, const PageTables& tables, std::uint64_t address) {
  const auto unmapped = [&](std::string_view why) { return missing_memory(memory.name(), "virtual", address, why); };
  // The kernel's half of the address space: on arm64 all upper bits are set; on x86 they repeat the highest translated
  // bit, which is set, too.
  if ((address | low_bits(tables.address_bits - (tables.is_arm64 ? 0 : 1))) != ~std::uint64_t{0}) {
    return unmapped("is not an address of the kernel");
  }
  const unsigned bits_per_level = tables.page_shift - kEntryShift;
  std::uint64_t table = tables.root;
  for (unsigned level = tables.levels; level > 0; --level) {
    const unsigned shift = tables.page_shift + bits_per_level * (level - 1);
    const bool is_top = level == tables.levels;
    const std::uint64_t index = (address >> shift) & low_bits(is_top ? tables.address_bits - shift : bits_per_level);
    std::uint64_t entry = 0;
    if (auto read = memory.read(table + (index << kEntryShift), reinterpret_cast<char*>(&entry), sizeof entry); !read) {
      return unmapped("its page table is not in the dump (" + read.error().detail + ")");
    }
    if ((entry & kPresent) == 0) return unmapped("is not mapped");
    entry &= ~tables.encryption;
    const bool is_page = level == 1 || (tables.is_arm64 ? (entry & kArmTable) == 0 : (entry & kX86Large) != 0);
    const std::uint64_t target = entry & (tables.is_arm64 ? kArmAddressBits : kX86AddressBits);
    if (is_page) {
      const std::uint64_t into = address & low_bits(shift);
      return Translation{.address = (target & ~low_bits(shift)) + into, .bytes = low_bits(shift) - into + 1};
    }
    table = target & ~low_bits(tables.page_shift);
  }
  return unmapped("its page tables have no end");
}

}  // namespace memstat::postmortem
