// SPDX-License-Identifier: BSD-2-Clause
// ELF dumps of 64-bit little-endian machines: /proc/vmcore, the output of makedumpfile -E, and QEMU's
// dump-guest-memory.
#include "core/postmortem/container/dump_file.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"
#include "core/postmortem/container/physical_memory.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kMaxHeaders = 1U << 20U;  // usually a few dozen ranges of memory; QEMU's -p writes one per mapping
constexpr std::uint64_t kMaxNoteBytes = 16U << 20U;  // registers of each CPU, about 1 KiB each
constexpr std::uint64_t kMaxInfoBytes = 1U << 20U;   // the kernel keeps one page

/// Physical addresses that are stored consecutively in the file. Addresses after the stored bytes are zeros:
/// makedumpfile omits zero pages.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;
};

class ElfCore final : public FileMemory {
 public:
  using FileMemory::FileMemory;

  Result<void> open() {
    const auto header = file_.read_record<Elf64_Ehdr>(0);
    if (!header) return header.error();
    if (auto known = take_machine(*header); !known) return known;
    if (header->e_phentsize != sizeof(Elf64_Phdr)) {
      return wrong(offsetof(Elf64_Ehdr, e_phentsize), "has program headers of another size");
    }
    std::uint64_t count = header->e_phnum;
    if (count == PN_XNUM) {  // the actual number is in the first section header
      const auto section = file_.read_record<Elf64_Shdr>(header->e_shoff);
      if (!section) return section.error();
      count = section->sh_info;
    }
    if (count == 0 || count > kMaxHeaders) return wrong(56, "has " + std::to_string(count) + " program headers");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (auto taken = take_program_header(header->e_phoff + i * sizeof(Elf64_Phdr)); !taken) return taken;
    }
    if (segments_.empty()) return wrong(header->e_phoff, "holds no memory: it has no PT_LOAD header");
    separate_segments();
    std::uint64_t end = 0;
    for (const Segment& segment : segments_) end = std::max(end, segment.offset + segment.stored);
    check_end(end);
    return {};
  }

 private:
  Result<std::size_t> read_piece(std::uint64_t address, char* to, std::size_t size) override {
    const Segment* const segment = find(address);
    if (segment == nullptr) return missing_memory(name(), "physical", address, "is not in the dump");
    const std::uint64_t into = address - segment->address;
    const bool is_stored = into < segment->stored;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, (is_stored ? segment->stored : segment->size) - into));
    if (!is_stored) {
      std::fill_n(to, wanted, '\0');
    } else if (auto result = file_.read(segment->offset + into, to, wanted); !result) {
      return result.error();
    }
    return wanted;
  }

  Result<void> take_machine(const Elf64_Ehdr& header) {
    if (!is_elf_core({reinterpret_cast<const char*>(&header), sizeof header})) return wrong(0, "is not an ELF core file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
      return other_version("is a dump of a 32-bit or big-endian machine; x86_64 and aarch64 can be read");
    }
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
      return other_version("is a dump of ELF machine " + std::to_string(header.e_machine) +
                           "; x86_64 (62) and aarch64 (183) can be read");
    }
    machine_ = header.e_machine == EM_X86_64 ? Machine::kX86 : Machine::kArm64;
    return {};
  }

  [[nodiscard]] Error other_version(std::string_view what) const { return wrong(0, what, ErrorCode::kVersion); }

  Result<void> take_program_header(std::uint64_t at) {
    const auto header = file_.read_record<Elf64_Phdr>(at);
    if (!header) return header.error();
    const Segment segment{.address = header->p_paddr,
                          .size = std::max(header->p_filesz, header->p_memsz),
                          .offset = header->p_offset,
                          .stored = header->p_filesz};
    if (header->p_type == PT_NOTE) return take_notes(segment);
    if (header->p_type != PT_LOAD || segment.size == 0) return {};
    std::uint64_t end = 0;
    if (__builtin_add_overflow(segment.address, segment.size, &end) ||
        __builtin_add_overflow(segment.offset, segment.stored, &end)) {
      return wrong(at, "has a PT_LOAD header of more than 2^64 bytes");
    }
    segments_.push_back(segment);
    return {};
  }

  /// A dump may have several PT_NOTE headers; the first VMCOREINFO is used.
  Result<void> take_notes(const Segment& segment) {
    if (!info_.empty() || segment.stored == 0) return {};
    if (segment.stored > kMaxNoteBytes) {
      return wrong(segment.offset, "has " + std::to_string(segment.stored) + " bytes of notes; at most " +
                                       std::to_string(kMaxNoteBytes) + " are read");
    }
    const auto notes = file_.read_bytes(segment.offset, segment.stored);
    if (!notes) return notes.error();
    info_ = find_note(*notes, "VMCOREINFO").substr(0, kMaxInfoBytes);
    return {};
  }

  /// Sorts the segments and removes overlaps. If an address is in the dump twice, the segment that begins first is
  /// used. (/proc/vmcore has an extra segment for the kernel's text.)
  void separate_segments() {
    std::sort(segments_.begin(), segments_.end(), [](const Segment& a, const Segment& b) {
      return a.address != b.address ? a.address < b.address : a.size > b.size;
    });
    std::vector<Segment> separate;
    std::uint64_t end = 0;
    for (Segment segment : segments_) {
      if (segment.address + segment.size <= end) continue;
      if (segment.address < end) {
        const std::uint64_t known = end - segment.address;
        segment = {.address = end,
                   .size = segment.size - known,
                   .offset = segment.offset + known,
                   .stored = segment.stored - std::min(known, segment.stored)};
      }
      end = segment.address + segment.size;
      separate.push_back(segment);
    }
    segments_ = std::move(separate);
  }

  [[nodiscard]] const Segment* find(std::uint64_t address) const {
    auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                  [](std::uint64_t wanted, const Segment& segment) { return wanted < segment.address; });
    if (after == segments_.begin()) return nullptr;
    const Segment& segment = *--after;
    return address - segment.address < segment.size ? &segment : nullptr;
  }

  std::vector<Segment> segments_;
};

}  // namespace

std::string_view find_note(std::string_view notes, std::string_view name) {
  constexpr std::uint64_t kHeader = 12;  // length of the name, length of the content, type
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  for (std::uint64_t at = 0; holds(notes, at, kHeader);) {
    const std::uint64_t name_size = number_at<std::uint32_t>(notes, at);
    const std::uint64_t content_size = number_at<std::uint32_t>(notes, at + 4);
    const std::uint64_t name_at = at + kHeader;
    const std::uint64_t content_at = name_at + padded(name_size);
    if (!holds(notes, name_at, name_size) || !holds(notes, content_at, content_size)) return {};
    std::string_view found = notes.substr(name_at, name_size);
    if (found.ends_with('\0')) found.remove_suffix(1);
    if (found == name) return notes.substr(content_at, content_size);
    at = content_at + padded(content_size);
  }
  return {};
}

bool is_elf_core(std::string_view head) {
  return head.starts_with(ELFMAG) && number_at<std::uint16_t>(head, offsetof(Elf64_Ehdr, e_type)) ==
                                         (number_at<std::uint8_t>(head, EI_DATA) == ELFDATA2LSB ? ET_CORE : ET_CORE << 8U);
}

Result<std::unique_ptr<PhysicalMemory>> open_elf_core(BlockFile file) {
  auto core = std::make_unique<ElfCore>(std::move(file));
  if (auto opened = core->open(); !opened) return std::move(opened.error());
  return std::unique_ptr<PhysicalMemory>(std::move(core));
}

}  // namespace memstat::postmortem
