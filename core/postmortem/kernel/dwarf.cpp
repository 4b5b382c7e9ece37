// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/kernel/dwarf.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/postmortem/container/bytes.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kMaxUnitBytes = 256U << 20U;  // of one source file; the largest of a kernel has 2 MiB
constexpr std::size_t kMaxNesting = 512;
constexpr unsigned kMaxTypeDepth = 64;
constexpr std::uint32_t kMaxMembers = 0xffff;
constexpr std::uint32_t kWideOffsets = 0xffff'ffff;  // a unit whose length has 64 bits
constexpr std::uint8_t kFirstReservedUnit = 4;       // kinds of unit: 1 a whole one, 3 a part; others have no types of ours

enum DwarfTag : std::uint64_t {
  kArrayType = 0x01,
  kEnumerationType = 0x04,
  kMember = 0x0d,
  kPointerType = 0x0f,
  kStructureType = 0x13,
  kTypedefName = 0x16,
  kUnionType = 0x17,
  kSubrangeType = 0x21,
  kBaseType = 0x24,
  kConstType = 0x26,
  kVolatileType = 0x35,
  kRestrictType = 0x37,
  kAtomicType = 0x47
};

enum DwarfAttribute : std::uint64_t {
  kNameOf = 0x03,
  kByteSize = 0x0b,
  kBitSize = 0x0d,
  kUpperBound = 0x2f,
  kCountOf = 0x37,
  kMemberLocation = 0x38,
  kDeclaration = 0x3c,
  kTypeOf = 0x49,
  kDataBitOffset = 0x6b,
  kStringOffsetsBase = 0x72
};

enum BtfKindOf : std::uint32_t {
  kBtfInteger = 1,
  kBtfPointer = 2,
  kBtfArray = 3,
  kBtfStruct = 4,
  kBtfUnion = 5,
  kBtfForward = 7
};

constexpr std::uint64_t kImplicitConstant = 0x21;  // a form whose value is in the abbreviation
constexpr std::uint64_t kIndirect = 0x16;          // a form that stands before its value
constexpr std::uint8_t kPlusConstant = 0x23;       // the operation by which version 2 says where a member is

Error dwarf_error(std::string_view file, std::uint64_t offset, std::string_view what, ErrorCode code = ErrorCode::kData) {
  Error error = data_error(file, offset, "DWARF: " + std::string(what));
  error.code = code;
  return error;
}

/// Reads one thing after another; beyond the end all is 0 and `is_whole` false.
struct Cursor {
  std::string_view bytes;
  std::uint64_t at = 0;
  bool is_whole = true;

  bool take(std::uint64_t size) {
    if (!holds(bytes, at, size)) {
      is_whole = false;
      at = bytes.size();
      return false;
    }
    at += size;
    return true;
  }
  template <typename Number>
  Number number() {
    const std::uint64_t from = at;
    return take(sizeof(Number)) ? number_at<Number>(bytes, from) : 0;
  }
  std::uint64_t number_of(unsigned size) {
    const std::uint64_t from = at;
    if (!take(size)) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < size && i < 8; ++i) value |= std::uint64_t{number_at<std::uint8_t>(bytes, from + i)} << 8 * i;
    return value;
  }
  /// LEB128; bits beyond 64 are lost.
  std::uint64_t leb(bool is_signed = false) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; is_whole; shift += 7) {
      const auto byte = number<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) != 0) continue;
      if (is_signed && (byte & 0x40U) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
      break;
    }
    return value;
  }
  std::string_view text() {
    const std::string_view rest = bytes.substr(static_cast<std::size_t>(std::min<std::uint64_t>(at, bytes.size())));
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
      is_whole = false;
      at = bytes.size();
      return {};
    }
    at += end + 1;
    return rest.substr(0, end);
  }
};

std::string_view text_in(std::string_view table, std::uint64_t at) {
  Cursor cursor{.bytes = table, .at = at};
  return at < table.size() ? cursor.text() : std::string_view();
}

struct AttributeForm {
  std::uint64_t name = 0;
  std::uint64_t form = 0;
  std::uint64_t constant = 0;
};

struct Abbreviation {
  std::uint64_t tag = 0;
  bool has_children = false;
  std::vector<AttributeForm> attributes = {};
};

using Abbreviations = std::unordered_map<std::uint64_t, Abbreviation>;

struct Unit {
  std::uint64_t offset = 0;  // of its first byte in .debug_info
  std::uint64_t version = 0;
  unsigned offset_size = 4;
  unsigned address_size = 8;
  std::uint64_t abbreviations_at = 0;
  std::uint64_t string_offsets_base = 8;
  std::uint64_t entries_at = 0;
  std::string bytes = {};
};

/// What is kept of an entry that has to do with types.
struct Entry {
  std::uint64_t at = 0;      // in its unit
  std::int32_t parent = -1;  // of all entries that are kept; -1: none of these
  std::uint64_t tag = 0;
  std::string_view name = {};
  std::uint64_t type = 0;  // in its unit; 0: none, or in another one
  std::uint64_t size = 0;
  std::uint64_t location = 0;
  std::uint64_t count = 0;
  bool is_declaration = false;
  bool is_bit_field = false;
};

struct Value {
  std::uint64_t number = 0;
  std::string_view text = {};   // of a string
  std::string_view block = {};  // of bytes
  bool is_in_unit = false;      // the number is a place in the unit
};

bool is_kept(std::uint64_t tag) {
  switch (tag) {
    case kArrayType:
    case kEnumerationType:
    case kMember:
    case kPointerType:
    case kStructureType:
    case kTypedefName:
    case kUnionType:
    case kSubrangeType:
    case kBaseType:
    case kConstType:
    case kVolatileType:
    case kRestrictType:
    case kAtomicType: return true;
    default: return false;
  }
}

void append_word(std::string& to, std::uint64_t word) {
  const auto narrow = static_cast<std::uint32_t>(word);
  to.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

/// Collects types as BTF has them.
class BtfWriter {
 public:
  /// A number whose type is set later.
  std::uint32_t reserve() {
    types_.emplace_back();
    const auto number = static_cast<std::uint32_t>(types_.size());
    set(number, {}, kBtfForward, 0, 0, {});  // if it stays so
    return number;
  }
  void set(std::uint32_t type, std::string_view name, std::uint32_t kind, std::uint32_t parts, std::uint64_t size,
           std::string_view behind) {
    std::string& to = types_[type - 1];
    to.clear();
    append_word(to, name_of(name));
    append_word(to, std::uint64_t{kind} << 24U | parts);
    append_word(to, size > 0xffff'ffffU ? 0 : size);
    to += behind;
  }
  std::uint32_t name_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto at = static_cast<std::uint32_t>(strings_.size());
    strings_.append(name) += '\0';
    return at;
  }
  Result<Btf> finish() {
    std::string types;
    for (const std::string& type : types_) types += type;
    std::string btf;
    for (const std::uint64_t word :
         std::initializer_list<std::uint64_t>{0x0001'eb9f, 24, 0, types.size(), types.size(), strings_.size()}) {
      append_word(btf, word);
    }
    return Btf::parse(btf + types + strings_);
  }

 private:
  std::vector<std::string> types_;
  std::string strings_ = std::string(1, '\0');
};

class DwarfReader {
 public:
  DwarfReader(const DwarfSections& sections, const WantedTypes& wanted, std::string_view file)
      : sections_(sections),
        structs_(wanted.structs.begin(), wanted.structs.end()),
        members_(wanted.members.begin(), wanted.members.end()),
        file_(file) {}

  Result<Btf> run() {
    for (std::uint64_t at = 0; at < sections_.info_bytes && !(structs_.empty() && members_.empty());) {
      if (auto read = read_unit(at); !read) return read.error();
    }
    return writer_.finish();
  }

 private:
  [[nodiscard]] Error wrong(std::uint64_t offset, std::string_view what, ErrorCode code = ErrorCode::kData) const {
    return dwarf_error(file_, offset, what, code);
  }

  /// Reads the unit at `at`, which is that of the next one then.
  Result<void> read_unit(std::uint64_t& at) {
    constexpr std::uint64_t kHeaderBytes = 32;  // more than any header has
    auto head = sections_.read_info(at, std::min(kHeaderBytes, sections_.info_bytes - at));
    if (!head) return head.error();
    Cursor header{.bytes = *head};
    std::uint64_t length = header.number<std::uint32_t>();
    unit_ = {.offset = at};
    if (length == kWideOffsets) {
      unit_.offset_size = 8;
      length = header.number<std::uint64_t>();
    }
    const std::uint64_t whole = header.at + length;
    if (!header.is_whole || length == 0 || length > kMaxUnitBytes || whole > sections_.info_bytes - at) {
      return wrong(at, "has a unit of " + std::to_string(length) + " bytes, which cannot be");
    }
    unit_.version = header.number<std::uint16_t>();
    if (unit_.version < 2 || unit_.version > 5) {
      return wrong(at, "has version " + std::to_string(unit_.version) + "; 2 to 5 can be read", ErrorCode::kVersion);
    }
    const std::uint64_t begin = at;
    at += whole;
    if (unit_.version >= 5) {
      const auto kind = header.number<std::uint8_t>();
      if (kind == 2 || kind >= kFirstReservedUnit) return {};
      unit_.address_size = header.number<std::uint8_t>();
      unit_.abbreviations_at = header.number_of(unit_.offset_size);
    } else {
      unit_.abbreviations_at = header.number_of(unit_.offset_size);
      unit_.address_size = header.number<std::uint8_t>();
    }
    if (!header.is_whole) return wrong(begin, "ends within a unit");
    unit_.string_offsets_base = unit_.offset_size == 8 ? 16 : 8;
    unit_.entries_at = header.at;
    auto bytes = sections_.read_info(begin, whole);
    if (!bytes) return bytes.error();
    unit_.bytes = *std::move(bytes);
    if (auto read = read_abbreviations(); !read) return read;
    if (auto read = read_entries(); !read) return read;
    take_wanted();
    return {};
  }

  Result<void> read_abbreviations() {
    if (abbreviations_of_ == unit_.abbreviations_at) return {};
    abbreviations_.clear();
    Cursor cursor{.bytes = sections_.abbreviations, .at = unit_.abbreviations_at};
    while (true) {
      const std::uint64_t code = cursor.leb();
      if (!cursor.is_whole) return wrong(unit_.offset, "has abbreviations without an end");
      if (code == 0) break;
      Abbreviation abbreviation{.tag = cursor.leb()};
      abbreviation.has_children = cursor.number<std::uint8_t>() != 0;
      while (cursor.is_whole) {
        AttributeForm attribute{.name = cursor.leb(), .form = cursor.leb()};
        if (attribute.form == kImplicitConstant) attribute.constant = cursor.leb(true);
        if (attribute.name == 0 && attribute.form == 0) break;
        abbreviation.attributes.push_back(attribute);
      }
      abbreviations_.insert_or_assign(code, std::move(abbreviation));
    }
    abbreviations_of_ = unit_.abbreviations_at;
    return {};
  }

  Result<void> read_entries() {
    entries_.clear();
    std::vector<std::int32_t> parents;
    Cursor cursor{.bytes = unit_.bytes, .at = unit_.entries_at};
    while (cursor.at < unit_.bytes.size()) {
      const std::uint64_t at = cursor.at;
      const std::uint64_t code = cursor.leb();
      if (!cursor.is_whole) return wrong(unit_.offset + at, "ends within an entry");
      if (code == 0) {
        if (!parents.empty()) parents.pop_back();
        continue;
      }
      const auto found = abbreviations_.find(code);
      if (found == abbreviations_.end()) {
        return wrong(unit_.offset + at, "has no abbreviation " + std::to_string(code));
      }
      const Abbreviation& abbreviation = found->second;
      Entry entry{.at = at, .parent = parents.empty() ? -1 : parents.back(), .tag = abbreviation.tag};
      const bool is_wanted = is_kept(abbreviation.tag);
      for (const AttributeForm& attribute : abbreviation.attributes) {
        const auto value = read_value(cursor, attribute.form, attribute.constant);
        if (!value) return value.error();
        if (is_wanted) take_attribute(attribute.name, *value, entry);
        if (attribute.name == kStringOffsetsBase) unit_.string_offsets_base = value->number;
      }
      if (!cursor.is_whole) return wrong(unit_.offset + at, "ends within an entry");
      if (is_wanted) entries_.push_back(entry);
      if (!abbreviation.has_children) continue;
      if (parents.size() == kMaxNesting) return wrong(unit_.offset + at, "has entries within entries without an end");
      parents.push_back(is_wanted ? static_cast<std::int32_t>(entries_.size() - 1) : -1);
    }
    return {};
  }

  static void take_attribute(std::uint64_t name, const Value& value, Entry& entry) {
    switch (name) {
      case kNameOf: entry.name = value.text; break;
      case kByteSize: entry.size = value.number; break;
      case kBitSize:
      case kDataBitOffset: entry.is_bit_field = true; break;
      case kUpperBound: entry.count = value.block.empty() ? value.number + 1 : 0; break;
      case kCountOf: entry.count = value.block.empty() ? value.number : 0; break;
      case kDeclaration: entry.is_declaration = value.number != 0; break;
      case kTypeOf: entry.type = value.is_in_unit ? value.number : 0; break;
      case kMemberLocation: {
        entry.location = value.number;
        if (number_at<std::uint8_t>(value.block, 0) != kPlusConstant || value.block.empty()) break;
        Cursor operation{.bytes = value.block, .at = 1};
        entry.location = operation.leb();
        break;
      }
      default: break;
    }
  }

  [[nodiscard]] std::string_view indexed_text(std::uint64_t index) const {
    std::uint64_t at = 0;
    if (__builtin_mul_overflow(index, unit_.offset_size, &at) ||
        __builtin_add_overflow(at, unit_.string_offsets_base, &at)) {
      return {};
    }
    Cursor offset{.bytes = sections_.string_offsets, .at = at};
    return text_in(sections_.strings, offset.number_of(unit_.offset_size));
  }

  /// The value of an attribute; the cursor stands behind it then.
  Result<Value> read_value(Cursor& cursor, std::uint64_t form, std::uint64_t constant) {
    const auto number = [&](unsigned size) { return Value{.number = cursor.number_of(size)}; };
    const auto in_unit = [](std::uint64_t at) { return Value{.number = at, .is_in_unit = true}; };
    const auto text = [](std::string_view found) { return Value{.text = found}; };
    const auto block = [&](std::uint64_t size) {
      const std::uint64_t from = cursor.at;
      if (!cursor.take(size)) return Value{};
      return Value{.block = cursor.bytes.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(size))};
    };
    switch (form) {
      case 0x01: return number(unit_.address_size);                                                  // addr
      case 0x03: return block(cursor.number<std::uint16_t>());                                       // block2
      case 0x04: return block(cursor.number<std::uint32_t>());                                       // block4
      case 0x05: return number(2);                                                                   // data2
      case 0x06: return number(4);                                                                   // data4
      case 0x07: return number(8);                                                                   // data8
      case 0x08: return text(cursor.text());                                                         // string
      case 0x09:                                                                                     // block
      case 0x18: return block(cursor.leb());                                                         // exprloc
      case 0x0a: return block(cursor.number<std::uint8_t>());                                        // block1
      case 0x0b:                                                                                     // data1
      case 0x0c:                                                                                     // flag
      case 0x29: return number(1);                                                                   // addrx1
      case 0x0d: return Value{.number = cursor.leb(true)};                                           // sdata
      case 0x0e: return text(text_in(sections_.strings, cursor.number_of(unit_.offset_size)));       // strp
      case 0x0f:                                                                                     // udata
      case 0x1b:                                                                                     // addrx
      case 0x22:                                                                                     // loclistx
      case 0x23: return Value{.number = cursor.leb()};                                               // rnglistx
      case 0x10: return number(unit_.version == 2 ? unit_.address_size : unit_.offset_size);         // ref_addr
      case 0x11: return in_unit(cursor.number_of(1));                                                // ref1
      case 0x12: return in_unit(cursor.number_of(2));                                                // ref2
      case 0x13: return in_unit(cursor.number_of(4));                                                // ref4
      case 0x14: return in_unit(cursor.number_of(8));                                                // ref8
      case 0x15: return in_unit(cursor.leb());                                                       // ref_udata
      case 0x17:                                                                                     // sec_offset
      case 0x1d: return number(unit_.offset_size);                                                   // strp_sup
      case 0x19: return Value{.number = 1};                                                          // flag_present
      case 0x1a: return text(indexed_text(cursor.leb()));                                            // strx
      case 0x1c:                                                                                     // ref_sup4
      case 0x2c: return number(4);                                                                   // addrx4
      case 0x1e: return block(16);                                                                   // data16
      case 0x1f: return text(text_in(sections_.line_strings, cursor.number_of(unit_.offset_size)));  // line_strp
      case 0x20:                                                                                     // ref_sig8
      case 0x24: return number(8);                                                                   // ref_sup8
      case kImplicitConstant: return Value{.number = constant};
      case 0x25: return text(indexed_text(cursor.number_of(1)));  // strx1
      case 0x26: return text(indexed_text(cursor.number_of(2)));  // strx2
      case 0x27: return text(indexed_text(cursor.number_of(3)));  // strx3
      case 0x28: return text(indexed_text(cursor.number_of(4)));  // strx4
      case 0x2a: return number(2);                                // addrx2
      case 0x2b: return number(3);                                // addrx3
      case kIndirect: {
        const std::uint64_t own = cursor.leb();
        if (own != kIndirect && own != kImplicitConstant) return read_value(cursor, own, 0);
        break;
      }
      default: break;
    }
    return wrong(unit_.offset + cursor.at, "has a value of form " + std::to_string(form) + ", which is not known",
                 ErrorCode::kVersion);
  }

  /// Writes what is wanted of the unit that was read, and wants it no more.
  void take_wanted() {
    numbers_.assign(entries_.size(), 0);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if ((entry.tag != kStructureType && entry.tag != kUnionType) || entry.is_declaration) continue;
      if (!entry.name.empty()) {
        const auto wanted = std::find(structs_.begin(), structs_.end(), entry.name);
        if (wanted == structs_.end()) continue;
        structs_.erase(wanted);
        write(i, 0);
      } else if (take_wanted_member(i)) {
        write(i, 0);
      }
    }
  }

  bool take_wanted_member(std::size_t owner) {
    bool is_wanted = false;
    for_each_child(owner, kMember, [&](const Entry& member) {
      const auto wanted = std::find(members_.begin(), members_.end(), member.name);
      if (wanted == members_.end()) return;
      members_.erase(wanted);
      is_wanted = true;
    });
    return is_wanted;
  }

  /// Calls `visit` with each direct child of that tag.
  template <typename Visit>
  void for_each_child(std::size_t owner, std::uint64_t tag, Visit visit) {
    const auto parent = static_cast<std::int32_t>(owner);
    for (std::size_t i = owner + 1; i < entries_.size() && entries_[i].parent >= parent; ++i) {
      if (entries_[i].parent == parent && entries_[i].tag == tag) visit(entries_[i]);
    }
  }

  /// The number of the type at that place in the unit; 0 of none.
  std::uint32_t write_at(std::uint64_t at, unsigned depth) {
    if (at == 0 || depth == kMaxTypeDepth) return 0;
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), at,
                                        [](const Entry& entry, std::uint64_t wanted) { return entry.at < wanted; });
    if (found == entries_.end() || found->at != at) return 0;
    return write(static_cast<std::size_t>(found - entries_.begin()), depth);
  }

  std::uint32_t write(std::size_t index, unsigned depth) {
    if (numbers_[index] != 0) return numbers_[index];
    const Entry& entry = entries_[index];
    switch (entry.tag) {
      case kTypedefName:
      case kConstType:
      case kVolatileType:
      case kRestrictType:
      case kAtomicType: return numbers_[index] = write_at(entry.type, depth + 1);
      case kArrayType: return numbers_[index] = write_array(index, depth);
      case kMember:
      case kSubrangeType: return 0;
      default: break;
    }
    const std::uint32_t number = writer_.reserve();
    numbers_[index] = number;
    if (entry.tag == kPointerType) {
      writer_.set(number, {}, kBtfPointer, 0, 0, {});
    } else if (entry.tag == kBaseType || entry.tag == kEnumerationType) {
      std::string bits;
      append_word(bits, std::min<std::uint64_t>(entry.size * 8, 128));
      writer_.set(number, entry.name, kBtfInteger, 0, entry.size, bits);
    } else if (!entry.is_declaration) {
      write_struct(number, index, depth);
    }
    return number;
  }

  void write_struct(std::uint32_t number, std::size_t index, unsigned depth) {
    std::string members;
    std::uint32_t count = 0;
    for_each_child(index, kMember, [&](const Entry& member) {
      if (member.is_bit_field || count == kMaxMembers) return;
      ++count;
      append_word(members, writer_.name_of(member.name));
      append_word(members, write_at(member.type, depth + 1));
      // One that cannot be: as far away as can be, where no reader of structs looks.
      append_word(members, std::min<std::uint64_t>(member.location, kWideOffsets / 8) * 8);
    });
    const Entry& entry = entries_[index];
    writer_.set(number, entry.name, entry.tag == kUnionType ? kBtfUnion : kBtfStruct, count, entry.size, members);
  }

  /// Dimensions from the last to the first.
  std::uint32_t write_array(std::size_t index, unsigned depth) {
    std::vector<std::uint64_t> counts;
    for_each_child(index, kSubrangeType, [&](const Entry& dimension) { counts.push_back(dimension.count); });
    std::uint32_t number = write_at(entries_[index].type, depth + 1);
    for (auto count = counts.rbegin(); count != counts.rend(); ++count) {
      std::string array;
      append_word(array, number);
      append_word(array, 0);
      append_word(array, *count > 0xffff'ffffU ? 0 : *count);
      number = writer_.reserve();
      writer_.set(number, {}, kBtfArray, 0, 0, array);
    }
    return number;
  }

  const DwarfSections& sections_;
  std::vector<std::string_view> structs_;  // still wanted
  std::vector<std::string_view> members_;
  std::string_view file_;
  Unit unit_;
  Abbreviations abbreviations_;
  std::uint64_t abbreviations_of_ = ~std::uint64_t{0};
  std::vector<Entry> entries_;          // of the unit, by place
  std::vector<std::uint32_t> numbers_;  // of each entry's type; 0: not written
  BtfWriter writer_;
};

}  // namespace

Result<Btf> parse_dwarf(const DwarfSections& sections, const WantedTypes& wanted, std::string_view file) {
  return DwarfReader(sections, wanted, file).run();
}

}  // namespace memstat::postmortem
