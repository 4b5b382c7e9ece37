// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/kernel_file.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kMaxSections = 4096;
constexpr std::uint64_t kMaxStrings = 64U << 20U;  // B; FreeBSD 15's kernel has 3 MiB
constexpr std::uint64_t kMaxSymbols = 1U << 22U;   // FreeBSD 15's kernel has 100 000
constexpr std::uint64_t kMaxTypesBytes = 64U << 20U;
constexpr std::size_t kMaxVersionBytes = 512;
constexpr std::string_view kVersionSymbol = "version";
constexpr std::string_view kTypesSection = ".SUNW_ctf";

std::string_view text_at(std::string_view strings, std::uint64_t at) {
  if (at >= strings.size()) return {};
  const std::string_view rest = strings.substr(static_cast<std::size_t>(at));
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

class KernelFile::Reader {
 public:
  Reader(BlockFile& file, KernelFile& kernel) : file_(file), kernel_(kernel) {}

  Result<void> read(std::span<const std::string_view> symbols) {
    if (auto read = read_sections(); !read) return read;
    if (auto read = read_symbols(symbols); !read) return read;
    if (auto read = read_version(); !read) return read;
    return read_types();
  }

 private:
  [[nodiscard]] Error wrong(std::uint64_t offset, std::string_view what, ErrorCode code = ErrorCode::kData) const {
    return data_error(file_.name(), offset, what, code);
  }

  Result<std::string> bytes_of(const Elf64_Shdr& section, std::uint64_t most, std::string_view what) {
    if (section.sh_size <= std::min(most, file_.size())) return file_.read_bytes(section.sh_offset, section.sh_size);
    return wrong(section.sh_offset,
                 "has " + std::to_string(section.sh_size) + " bytes of " + std::string(what) + ", which is impossible");
  }

  Result<void> read_sections() {
    const auto header = file_.read_record<Elf64_Ehdr>(0);
    if (!header) return header.error();
    const std::string_view magic(reinterpret_cast<const char*>(&*header), EI_VERSION);
    if (magic != "\177ELF\2\1" || (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64)) {
      return wrong(0, "is not a kernel: a 64-bit ELF file for amd64 or arm64 is needed", ErrorCode::kVersion);
    }
    kernel_.machine_ = header->e_machine == EM_X86_64 ? Machine::kX86 : Machine::kArm64;
    const std::size_t names_in = header->e_shstrndx;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum > kMaxSections || names_in >= header->e_shnum) {
      return wrong(offsetof(Elf64_Ehdr, e_shentsize), "has no valid section table");
    }
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto section = file_.read_record<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return section.error();
      sections_.push_back(*section);
    }
    auto names = bytes_of(sections_[names_in], kMaxStrings, "section names");
    if (!names) return names.error();
    names_ = *std::move(names);
    return {};
  }

  Result<void> read_symbols(std::span<const std::string_view> wanted) {
    const auto table = std::find_if(sections_.begin(), sections_.end(),
                                    [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
    if (table == sections_.end()) {
      return wrong(0, "has no symbols: it was stripped, and the kernel as it was installed is needed",
                   ErrorCode::kKvmNoSymbol);
    }
    if (table->sh_link >= sections_.size() || table->sh_size / sizeof(Elf64_Sym) > kMaxSymbols) {
      return wrong(table->sh_offset, "has an invalid symbol table");
    }
    const auto strings = bytes_of(sections_[table->sh_link], kMaxStrings, "symbol names");
    if (!strings) return strings.error();
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file_.read_record<Elf64_Sym>(table->sh_offset + at);
      if (!symbol) return symbol.error();
      const std::string_view name = text_at(*strings, symbol->st_name);
      if (name != kVersionSymbol && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
      if (symbol->st_shndx == SHN_UNDEF) continue;  // defined in another file
      const KernelSymbol found{.address = symbol->st_value, .size = symbol->st_size};
      // A driver may have a local `version`; the kernel's is global.
      const bool is_global = symbol->st_info >> 4U == STB_GLOBAL;
      if (is_global) kernel_.symbols_.insert_or_assign(std::string(name), found);
      if (!is_global) kernel_.symbols_.try_emplace(std::string(name), found);
    }
    return {};
  }

  Result<void> read_version() {
    const auto symbol = kernel_.symbol(kVersionSymbol);
    if (!symbol) return {};
    for (const Elf64_Shdr& section : sections_) {
      const std::uint64_t into = symbol->address - section.sh_addr;
      if (section.sh_type == SHT_NOBITS || section.sh_addr == 0 || into >= section.sh_size) continue;
      const auto bytes =
          file_.read_bytes(section.sh_offset + into, std::min<std::uint64_t>(kMaxVersionBytes, section.sh_size - into));
      if (!bytes) return bytes.error();
      kernel_.version_ = text_at(*bytes, 0);
      break;
    }
    return {};
  }

  /// The section with this name if it has bytes, else nullptr.
  [[nodiscard]] const Elf64_Shdr* section_of(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Elf64_Shdr& candidate) {
      return candidate.sh_type != SHT_NOBITS && text_at(names_, candidate.sh_name) == name;
    });
    return found == sections_.end() ? nullptr : &*found;
  }

  Result<void> read_types() {
    const Elf64_Shdr* const section = section_of(kTypesSection);
    if (section == nullptr) {
      return wrong(0, "has no types: a kernel built with CTF (makeoptions WITH_CTF=1, as GENERIC has it) is needed",
                   ErrorCode::kKvmNoSymbol);
    }
    const auto bytes = bytes_of(*section, kMaxTypesBytes, "types");
    if (!bytes) return bytes.error();
    auto types = parse_ctf(*bytes, file_.name());
    if (!types) return types.error();
    kernel_.types_ = *std::move(types);
    return {};
  }

  BlockFile& file_;
  KernelFile& kernel_;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

Result<KernelFile> KernelFile::open(const std::string& path, std::span<const std::string_view> symbols) {
  auto file = BlockFile::open(path);
  if (!file) return std::move(file.error());
  KernelFile kernel;
  kernel.name_ = path;
  if (auto read = Reader(*file, kernel).read(symbols); !read) return read.error();
  return kernel;
}

Result<KernelSymbol> KernelFile::symbol(std::string_view name) const {
  const auto found = symbols_.find(name);
  if (found != symbols_.end()) return found->second;
  return make_error(ErrorCode::kKvmNoSymbol, name_, std::string(name) + ": the kernel file has no such symbol");
}

}  // namespace memstat::postmortem
