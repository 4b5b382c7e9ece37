// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fake_linux_dump.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/fixtures.h"

namespace memstat {
namespace {

using postmortem::Machine;
using postmortem::SymbolAddresses;

constexpr std::uint64_t kX86Image = 0xffff'ffff'9100'0000;  // with KASLR: the kernel was linked for ...81000000
constexpr std::uint64_t kX86ImageMap = 0xffff'ffff'8000'0000;
constexpr std::uint64_t kX86Direct = 0xffff'8880'0000'0000;
constexpr std::uint64_t kX86DirectFive = 0xff11'0000'0000'0000;
constexpr std::uint64_t kArmImage = 0xffff'8000'0800'0000;
constexpr std::uint64_t kArmDirect = 0xffff'0000'0000'0000;

std::string hex_of(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

std::string elf_header(std::uint16_t type, Machine machine, std::uint16_t program_headers, char system) {
  std::string header("\177ELF\2\1\1", 7);
  header += system;
  header.resize(16);
  header += raw_bytes(type, static_cast<std::uint16_t>(machine == Machine::kX86 ? 62 : 183), 1U);
  header += raw_bytes(std::uint64_t{0}, std::uint64_t{program_headers == 0 ? 0U : 64U}, std::uint64_t{0}, 0U);
  header += raw_bytes(std::uint16_t{64}, std::uint16_t{56}, program_headers, std::uint16_t{64}, std::uint32_t{0});
  return header;
}

FakeLinuxDump::FakeLinuxDump(FakeKernelOptions options) : options_(std::move(options)) {
  memory_.assign(kFakeMemoryBytes, '\0');
  memory_.resize(0x1000);  // so that no allocated object has offset 0
  make_page_tables();
  make_types();
  make_variables();
  make_page_map();
  if (options_.has_memory) make_depot();
  make_caches();
  if (options_.has_memory) make_memory();
  make_symbols();
  make_info();
  memory_.resize(kFakeMemoryBytes);
}

std::uint64_t FakeLinuxDump::allocate(std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t at = (memory_.size() + alignment - 1) / alignment * alignment;
  if (at + size > kFakeMemoryBytes) {
    std::fprintf(stderr, "the fake kernel does not fit its memory\n");
    std::abort();
  }
  memory_.resize(static_cast<std::size_t>(at + size));
  return at;
}

std::uint64_t FakeLinuxDump::add_table(const std::string& name, std::string_view bytes) {
  const std::uint64_t at = allocate(bytes.size());
  memory_.replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  tables_[name] = {.offset = at, .size = bytes.size()};
  return at;
}

std::uint64_t FakeLinuxDump::direct(std::uint64_t offset) const {
  const std::uint64_t base = options_.machine == Machine::kArm64 ? kArmDirect
                             : options_.has_five_levels          ? kX86DirectFive
                                                                 : kX86Direct;
  return base + kFakePhysical + offset;
}

std::uint64_t FakeLinuxDump::image(std::uint64_t offset) const {
  return (options_.machine == Machine::kArm64 ? kArmImage : kX86Image) + offset;
}

std::uint64_t FakeLinuxDump::add_variable(const std::string& name, std::string_view bytes) {
  const std::uint64_t at = allocate(bytes.size());
  memory_.replace(static_cast<std::size_t>(at), bytes.size(), bytes);
  return symbols_[name] = image(at);
}

void FakeLinuxDump::map_page(std::uint64_t address, std::uint64_t physical, unsigned level) {
  const bool is_arm64 = options_.machine == Machine::kArm64;
  std::uint64_t table = root_;
  for (unsigned at = options_.has_five_levels ? 5 : 4; at > level; --at) {
    const std::uint64_t entry = table + (address >> (12 + 9 * (at - 1)) & 511U) * 8;
    std::uint64_t next = 0;
    std::memcpy(&next, memory_.data() + entry, sizeof next);
    if (next == 0) {
      const std::uint64_t made = allocate(4096, 4096);
      next = kFakePhysical + made + 3;  // x86: present and writable; arm64: a table
      put(entry, next);
    }
    table = (next & ~std::uint64_t{0xfff}) - kFakePhysical;
  }
  const std::uint64_t kind = is_arm64 ? (level == 1 ? 3U : 1U) : (level == 1 ? 0x63U : 0xe3U);
  const std::uint64_t no_execute = is_arm64 ? std::uint64_t{1} << 54U : std::uint64_t{1} << 63U;
  put(table + (address >> (12 + 9 * (level - 1)) & 511U) * 8, physical | kind | no_execute);
}

void FakeLinuxDump::make_page_tables() {
  root_ = allocate(4096, 4096);
  map_page(direct(0) - kFakePhysical, 0, 3);  // a page of 1 GiB
  for (std::uint64_t offset = 0; offset < kFakeMemoryBytes; offset += 4096)
    map_page(image(offset), kFakePhysical + offset, 1);
  map_page(image(kFakeMemoryBytes), kFakePhysical, 2);  // the same memory again, by a page of 2 MiB
}

void FakeLinuxDump::make_types() {
  BtfBuilder types;
  make_slab_types(types);
  if (options_.has_memory) make_memory_types(types);
  types.add_enum("zone_stat_item", {{"NR_FREE_PAGES", 0}, {"NR_MLOCK", 7}});
  const std::string bytes = types.bytes();
  const std::uint64_t at = add_table("btf", bytes);
  symbols_["__start_BTF"] = image(at);
  symbols_["__stop_BTF"] = image(at + bytes.size());
}

void FakeLinuxDump::make_variables() {
  symbols_["_stext"] = image(0x1000);
  add_variable("nr_node_ids", raw_bytes(options_.nodes));
  add_variable("nr_cpu_ids", raw_bytes(options_.cpus.back() + 1));
  std::string present(8, '\0');
  std::string offsets((options_.cpus.back() + 1) * 8, '\0');
  for (const std::uint32_t cpu : options_.cpus) {
    present[cpu / 8] = static_cast<char>(present[cpu / 8] | 1 << cpu % 8);
    // A per-CPU variable has a small address, to which this is added.
    const std::string offset = raw_bytes(direct(allocate(8192, 4096)) - per_cpu_base());
    offsets.replace(cpu * 8, 8, offset);
  }
  add_variable("__cpu_present_mask", present);
  add_variable("__per_cpu_offset", offsets);
  if (options_.machine == Machine::kX86) add_variable("page_offset_base", raw_bytes(direct(0) - kFakePhysical));
  add_variable("slab_caches", std::string(16, '\0'));
}

void FakeLinuxDump::make_symbols() {
  // A token for each letter, and two for several letters, as in real tables.
  std::string tokens;
  std::string index;
  for (unsigned token = 0; token < 256; ++token) {
    index += raw_bytes(static_cast<std::uint16_t>(tokens.size()));
    if (token == 1) tokens += "slab_";
    if (token == 2) tokens += "__";
    if (token > 32 && token < 127) tokens += static_cast<char>(token);
    tokens += '\0';
  }
  std::vector<std::pair<std::string, std::uint64_t>> symbols(symbols_.begin(), symbols_.end());
  symbols.emplace_back(std::string(200, 'x'), image(0x2000));  // longer than one byte of length says
  std::sort(symbols.begin(), symbols.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string names;
  for (const auto& [name, address] : symbols) {
    std::string coded = "D";
    for (std::size_t i = 0; i < name.size();) {
      const std::string_view rest = std::string_view(name).substr(i);
      const bool is_slab = rest.starts_with("slab_");
      const bool is_double = rest.starts_with("__");
      coded += is_slab ? '\1' : is_double ? '\2' : name[i];
      i += is_slab ? 5 : is_double ? 2 : 1;
    }
    if (coded.size() >= 128) names += static_cast<char>(0x80U | (coded.size() & 0x7fU));
    names += static_cast<char>(coded.size() >= 128 ? coded.size() >> 7U : coded.size());
    names += coded;
  }
  // The tables have their names in VMCOREINFO.
  add_table("kallsyms_names", names);
  add_table("kallsyms_num_syms", raw_bytes(static_cast<std::uint32_t>(symbols.size())));
  add_table("kallsyms_token_table", tokens);
  add_table("kallsyms_token_index", index);
  add_table("kallsyms_relative_base", raw_bytes(image(0)));
  const std::uint64_t offsets = add_table("kallsyms_offsets", std::string(symbols.size() * 4, '\0'));
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const std::uint64_t address = symbols[i].second;
    const std::uint64_t place = offsets + i * 4;
    std::uint64_t number = address - image(0);
    if (options_.addresses == SymbolAddresses::kPerCpuAbsolute) {
      number = address < kFakePhysical ? address : image(0) - 1 - address;  // a variable of each CPU is small
    }
    if (options_.addresses == SymbolAddresses::kPlace) number = address - image(place);
    put(place, static_cast<std::uint32_t>(number));
  }
  if (options_.hides_symbols) hide_symbols();
}

void FakeLinuxDump::hide_symbols() {
  const auto padded = [](std::string bytes) { return bytes.append((8 - bytes.size() % 8) % 8, '\0'); };
  const std::string names = table("kallsyms_names");
  std::string markers;
  std::uint32_t symbol = 0;
  for (std::size_t at = 0; at < names.size(); ++symbol) {
    if (symbol % 256 == 0) markers += raw_bytes(static_cast<std::uint32_t>(at));
    std::size_t length = static_cast<unsigned char>(names[at++]);
    if ((length & 0x80U) != 0) length = (length & 0x7fU) | std::size_t{static_cast<unsigned char>(names[at++])} << 7U;
    at += length;
  }
  std::string bytes;
  for (const std::string& part : {table("kallsyms_offsets"), table("kallsyms_relative_base"), table("kallsyms_num_syms"),
                                  names, markers, table("kallsyms_token_table"), table("kallsyms_token_index")}) {
    bytes += padded(part);
  }
  for (const char* hidden : {"kallsyms_names", "kallsyms_num_syms", "kallsyms_token_table", "kallsyms_token_index",
                             "kallsyms_offsets", "kallsyms_relative_base"}) {
    const Range& range = tables_.at(hidden);
    memory_.replace(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size),
                    std::string(static_cast<std::size_t>(range.size), '\0'));
  }
  add_table("kallsyms", bytes);
}

void FakeLinuxDump::make_info() {
  std::vector<std::string> lines = {"OSRELEASE=6.1.0-fake", "PAGESIZE=4096", "SYMBOL(_stext)=" + hex_of(symbols_["_stext"])};
  for (const char* table : {"kallsyms_names", "kallsyms_num_syms", "kallsyms_token_table", "kallsyms_token_index",
                            "kallsyms_offsets", "kallsyms_relative_base"}) {
    if (options_.hides_symbols) break;
    if (options_.addresses == SymbolAddresses::kPlace && table == std::string_view("kallsyms_relative_base")) continue;
    lines.push_back("SYMBOL(" + std::string(table) + ")=" + hex_of(image(tables_[table].offset)));
  }
  lines.push_back("SYMBOL(swapper_pg_dir)=" + hex_of(image(root_)));
  if (options_.machine == Machine::kArm64) {
    lines.push_back("NUMBER(kimage_voffset)=0x" + hex_of(image(0) - kFakePhysical));
    lines.push_back("NUMBER(VA_BITS)=48");
    lines.push_back("NUMBER(PHYS_OFFSET)=0x0");
    lines.push_back("NUMBER(TCR_EL1_T1SZ)=0x10");
  } else {
    const auto base = static_cast<std::int64_t>(kFakePhysical - (kX86Image - kX86ImageMap));
    lines.push_back("NUMBER(phys_base)=" + std::to_string(base));
    lines.push_back("NUMBER(pgtable_l5_enabled)=" + std::to_string(options_.has_five_levels ? 1 : 0));
  }
  lines.push_back("SYMBOL(mem_section)=" + hex_of(addresses_["mem_section"]));
  lines.push_back("LENGTH(mem_section)=1");
  lines.push_back("NUMBER(SECTION_SIZE_BITS)=21");
  lines.push_back("CRASHTIME=1763650800");
  for (const std::string& line : lines) {
    if (options_.without.empty() || line.find(options_.without) == std::string::npos) info_ += line + "\n";
  }
}

std::string FakeLinuxDump::headers(std::uint64_t empty_bytes) const {
  const auto padded = [](std::string text) { return text.append((4 - text.size() % 4) % 4, '\0'); };
  std::string notes = raw_bytes(5U, 4U, 1U) + padded(std::string("CORE\0", 5)) + "regs";
  notes +=
      raw_bytes(11U, static_cast<std::uint32_t>(info_.size()), 0U) + padded(std::string("VMCOREINFO\0", 11)) + padded(info_);
  const std::uint64_t load_offset = 0x4000;
  if (notes.size() > load_offset - 0x1000) std::abort();
  std::string file = elf_header(4, options_.machine, empty_bytes == 0 ? 2 : 3);
  const auto program = [&](std::uint32_t type, std::uint64_t offset, std::uint64_t address, std::uint64_t size) {
    file += raw_bytes(type, 7U, offset, std::uint64_t{0}, address, size, size, std::uint64_t{0});
  };
  program(4, 0x1000, 0, notes.size());
  if (empty_bytes != 0) program(1, load_offset + memory_.size(), kFakePhysical + (std::uint64_t{1} << 30U), empty_bytes);
  program(1, load_offset, kFakePhysical, memory_.size());
  file.resize(0x1000);
  file += notes;
  file.resize(load_offset);
  return file;
}

std::string FakeLinuxDump::elf() const { return headers(0) + memory_; }

void FakeLinuxDump::write_sparse(const std::string& path, std::uint64_t empty_bytes) const {
  write_text(path, headers(empty_bytes) + memory_);
  if (::truncate(path.c_str(), static_cast<off_t>(0x4000 + memory_.size() + empty_bytes)) != 0) {
    std::perror(path.c_str());
    std::abort();
  }
}

std::string FakeLinuxDump::table(const std::string& name) const {
  const Range& range = tables_.at(name);
  return memory_.substr(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
}

std::uint64_t FakeLinuxDump::address(const std::string& what) const {
  const auto found = addresses_.find(what);
  return found != addresses_.end() ? found->second : symbols_.at(what);
}

void FakeLinuxDump::poke(std::uint64_t address, std::uint64_t value) {
  const bool is_image = address >= image(0) && address - image(0) < kFakeMemoryBytes;
  put(address - (is_image ? image(0) : direct(0)), value);
}

}  // namespace memstat
