// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/elf_core.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

// System V ABI, chapters 4 and 5: offsets into the headers of 64-bit files.
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kProgramHeaderBytes = 56;
constexpr std::size_t kSectionHeaderBytes = 64;
constexpr std::string_view kMagic = "\177ELF";
constexpr std::uint8_t kClass64 = 2;
constexpr std::uint8_t kLittleEndian = 1;
constexpr std::uint16_t kCoreFile = 4;
constexpr std::uint16_t kMachineX86 = 62;
constexpr std::uint16_t kMachineArm64 = 183;
constexpr std::uint16_t kManyHeaders = 0xffff;  // PN_XNUM: the actual number is in sh_info of the first section header
constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kNote = 4;

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

class ElfCore final : public PhysicalMemory {
 public:
  explicit ElfCore(BlockFile file) : file_(std::move(file)) {}

  Result<void> open() {
    std::array<char, kHeaderBytes> bytes;
    const std::string_view header(bytes.data(), bytes.size());
    if (auto read = file_.read(0, bytes.data(), bytes.size()); !read) return read;
    if (auto known = take_machine(header); !known) return known;
    const auto offset = number_at<std::uint64_t>(header, 32);
    if (number_at<std::uint16_t>(header, 54) != kProgramHeaderBytes) return wrong(54, "has program headers of another size");
    std::uint64_t count = number_at<std::uint16_t>(header, 56);
    if (count == kManyHeaders) {
      std::array<char, kSectionHeaderBytes> section;
      const auto section_offset = number_at<std::uint64_t>(header, 40);
      if (auto read = file_.read(section_offset, section.data(), section.size()); !read) return read;
      count = number_at<std::uint32_t>({section.data(), section.size()}, 44);
    }
    if (count == 0 || count > kMaxHeaders) return wrong(56, "has " + std::to_string(count) + " program headers");
    for (std::uint64_t i = 0; i < count; ++i) {
      if (auto taken = take_program_header(offset + i * kProgramHeaderBytes); !taken) return taken;
    }
    if (segments_.empty()) return wrong(offset, "holds no memory: it has no PT_LOAD header");
    separate_segments();
    return {};
  }

  [[nodiscard]] const std::string& name() const override { return file_.name(); }
  [[nodiscard]] Machine machine() const override { return machine_; }
  [[nodiscard]] std::string_view vmcoreinfo() const override { return info_; }
  [[nodiscard]] std::int64_t changed_ns() const override { return file_.changed_ns(); }

  [[nodiscard]] std::string damage() const override {
    std::uint64_t end = 0;
    for (const Segment& segment : segments_) end = std::max(end, segment.offset + segment.stored);
    if (end <= file_.size()) return {};
    return "is cut short: it has " + std::to_string(file_.size()) + " of " + std::to_string(end) +
           " bytes, so figures may be too low or missing";
  }

  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    while (size > 0) {
      const Segment* const segment = find(address);
      if (segment == nullptr) return missing_memory(name(), "physical", address, "is not in the dump");
      const std::uint64_t into = address - segment->address;
      const bool is_stored = into < segment->stored;
      const auto wanted =
          static_cast<std::size_t>(std::min<std::uint64_t>(size, (is_stored ? segment->stored : segment->size) - into));
      if (!is_stored) {
        std::fill_n(to, wanted, '\0');
      } else if (auto result = file_.read(segment->offset + into, to, wanted); !result) {
        return result;
      }
      address += wanted;
      to += wanted;
      size -= wanted;
    }
    return {};
  }

 private:
  [[nodiscard]] Error wrong(std::uint64_t offset, std::string_view what) const { return data_error(name(), offset, what); }

  Result<void> take_machine(std::string_view header) {
    if (!is_elf_core(header)) return wrong(0, "is not an ELF core file");
    if (number_at<std::uint8_t>(header, 4) != kClass64 || number_at<std::uint8_t>(header, 5) != kLittleEndian) {
      return other_version("is a dump of a 32-bit or big-endian machine; x86_64 and aarch64 can be read");
    }
    const auto machine = number_at<std::uint16_t>(header, 18);
    if (machine != kMachineX86 && machine != kMachineArm64) {
      return other_version("is a dump of ELF machine " + std::to_string(machine) +
                           "; x86_64 (62) and aarch64 (183) can be read");
    }
    machine_ = machine == kMachineX86 ? Machine::kX86 : Machine::kArm64;
    return {};
  }

  [[nodiscard]] Error other_version(std::string_view what) const { return data_error(name(), 0, what, ErrorCode::kVersion); }

  Result<void> take_program_header(std::uint64_t at) {
    std::array<char, kProgramHeaderBytes> bytes;
    if (auto read = file_.read(at, bytes.data(), bytes.size()); !read) return read;
    const std::string_view header(bytes.data(), bytes.size());
    const auto type = number_at<std::uint32_t>(header, 0);
    const auto stored = number_at<std::uint64_t>(header, 32);
    const Segment segment{.address = number_at<std::uint64_t>(header, 24),
                          .size = std::max(stored, number_at<std::uint64_t>(header, 40)),
                          .offset = number_at<std::uint64_t>(header, 8),
                          .stored = stored};
    if (type == kNote) return take_notes(segment);
    if (type != kLoad || segment.size == 0) return {};
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
    std::string notes(static_cast<std::size_t>(segment.stored), '\0');
    // Not fatal: a truncated dump may still have its memory.
    if (auto read = file_.read(segment.offset, notes.data(), notes.size()); !read) return read;
    info_ = find_note(notes, "VMCOREINFO").substr(0, kMaxInfoBytes);
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

  BlockFile file_;
  Machine machine_ = Machine::kX86;
  std::string info_;
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
  return head.substr(0, kMagic.size()) == kMagic &&
         number_at<std::uint16_t>(head, 16) ==
             (number_at<std::uint8_t>(head, 5) == kLittleEndian ? kCoreFile : kCoreFile << 8U);
}

Result<std::unique_ptr<PhysicalMemory>> open_elf_core(const std::string& path) {
  auto file = BlockFile::open(path);
  if (!file) return std::move(file.error());
  return open_elf_core(*std::move(file));
}

Result<std::unique_ptr<PhysicalMemory>> open_elf_core(BlockFile file) {
  auto core = std::make_unique<ElfCore>(std::move(file));
  if (auto opened = core->open(); !opened) return std::move(opened.error());
  return std::unique_ptr<PhysicalMemory>(std::move(core));
}

}  // namespace memstat::postmortem
