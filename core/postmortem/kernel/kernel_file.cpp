// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/kernel_file.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

// System V ABI, chapters 4 and 5: offsets into the headers of 64-bit files.
constexpr std::size_t kFileHeaderBytes = 64;
constexpr std::size_t kSectionBytes = 64;
constexpr std::size_t kElfSymbolBytes = 24;
constexpr std::uint32_t kSymbolTable = 2;
constexpr unsigned kGlobal = 1;        // a symbol's binding
constexpr std::uint32_t kNoBytes = 8;  // SHT_NOBITS: takes no room in the file
constexpr std::uint64_t kMaxSections = 4096;
constexpr std::uint64_t kMaxStrings = 64U << 20U;  // B; FreeBSD 15's kernel has 3 MiB
constexpr std::uint64_t kMaxSymbols = 1U << 22U;   // FreeBSD 15's kernel has 100 000
constexpr std::uint64_t kMaxTypesBytes = 64U << 20U;
constexpr std::size_t kMaxVersionBytes = 512;
constexpr std::string_view kVersionSymbol = "version";
constexpr std::string_view kTypesSection = ".SUNW_ctf";

struct Section {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
};

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

  Result<std::string> bytes_of(const Section& section, std::uint64_t most, std::string_view what) {
    if (section.size > std::min(most, file_.size())) {
      return wrong(section.offset,
                   "has " + std::to_string(section.size) + " bytes of " + std::string(what) + ", which is impossible");
    }
    std::string bytes(static_cast<std::size_t>(section.size), '\0');
    if (auto read = file_.read(section.offset, bytes.data(), bytes.size()); !read) return read.error();
    return bytes;
  }

  Result<void> read_sections() {
    std::array<char, kFileHeaderBytes> bytes;
    const std::string_view header(bytes.data(), bytes.size());
    if (auto read = file_.read(0, bytes.data(), bytes.size()); !read) return read;
    const auto machine = number_at<std::uint16_t>(header, 18);
    if (!header.starts_with("\177ELF\2\1") || (machine != 62 && machine != 183)) {
      return wrong(0, "is not a kernel: a 64-bit ELF file for amd64 or arm64 is needed", ErrorCode::kVersion);
    }
    kernel_.machine_ = machine == 62 ? Machine::kX86 : Machine::kArm64;
    const auto offset = number_at<std::uint64_t>(header, 40);
    const std::uint64_t count = number_at<std::uint16_t>(header, 60);
    const auto names_in = number_at<std::uint16_t>(header, 62);
    if (number_at<std::uint16_t>(header, 58) != kSectionBytes || count > kMaxSections || names_in >= count) {
      return wrong(58, "has no valid section table");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      std::array<char, kSectionBytes> section;
      if (auto read = file_.read(offset + i * kSectionBytes, section.data(), section.size()); !read) return read;
      const std::string_view at(section.data(), section.size());
      sections_.push_back({.name = number_at<std::uint32_t>(at, 0),
                           .type = number_at<std::uint32_t>(at, 4),
                           .address = number_at<std::uint64_t>(at, 16),
                           .offset = number_at<std::uint64_t>(at, 24),
                           .size = number_at<std::uint64_t>(at, 32),
                           .link = number_at<std::uint32_t>(at, 40)});
    }
    auto names = bytes_of(sections_[names_in], kMaxStrings, "section names");
    if (!names) return names.error();
    names_ = *std::move(names);
    return {};
  }

  Result<void> read_symbols(std::span<const std::string_view> wanted) {
    const auto table = std::find_if(sections_.begin(), sections_.end(),
                                    [](const Section& section) { return section.type == kSymbolTable; });
    if (table == sections_.end()) {
      return wrong(0, "has no symbols: it was stripped, and the kernel as it was installed is needed",
                   ErrorCode::kKvmNoSymbol);
    }
    if (table->link >= sections_.size() || table->size / kElfSymbolBytes > kMaxSymbols) {
      return wrong(table->offset, "has an invalid symbol table");
    }
    const auto strings = bytes_of(sections_[table->link], kMaxStrings, "symbol names");
    if (!strings) return strings.error();
    std::array<char, kElfSymbolBytes> bytes;
    const std::string_view symbol(bytes.data(), bytes.size());
    for (std::uint64_t at = 0; at + kElfSymbolBytes <= table->size; at += kElfSymbolBytes) {
      if (auto read = file_.read(table->offset + at, bytes.data(), bytes.size()); !read) return read;
      const std::string_view name = text_at(*strings, number_at<std::uint32_t>(symbol, 0));
      if (name != kVersionSymbol && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
      if (number_at<std::uint16_t>(symbol, 6) == 0) continue;  // defined in another file
      const KernelSymbol found{.address = number_at<std::uint64_t>(symbol, 8), .size = number_at<std::uint64_t>(symbol, 16)};
      // A driver may have a local `version`; the kernel's is global.
      const bool is_global = number_at<std::uint8_t>(symbol, 4) >> 4U == kGlobal;
      if (is_global) kernel_.symbols_.insert_or_assign(std::string(name), found);
      if (!is_global) kernel_.symbols_.try_emplace(std::string(name), found);
    }
    return {};
  }

  Result<void> read_version() {
    const auto symbol = kernel_.symbol(kVersionSymbol);
    if (!symbol) return {};
    for (const Section& section : sections_) {
      if (section.type == kNoBytes || section.address == 0 || symbol->address < section.address ||
          symbol->address - section.address >= section.size) {
        continue;
      }
      const std::uint64_t into = symbol->address - section.address;
      std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(kMaxVersionBytes, section.size - into)), '\0');
      if (auto read = file_.read(section.offset + into, bytes.data(), bytes.size()); !read) return read;
      kernel_.version_ = text_at(bytes, 0);
      return {};
    }
    return {};
  }

  /// The section with this name if it has bytes, else nullptr.
  [[nodiscard]] const Section* section_of(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const Section& candidate) {
      return candidate.type != kNoBytes && text_at(names_, candidate.name) == name;
    });
    return found == sections_.end() ? nullptr : &*found;
  }

  Result<void> read_types() {
    const Section* const section = section_of(kTypesSection);
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
  std::vector<Section> sections_;
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
