// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the sections of DWARF of a kernel file: the sizes of three of them, then all four in a row.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/kernel/dwarf.h"
#include "tests/fuzz/fuzz_source.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

std::string packed(const DwarfBuilder::Sections& sections) {
  std::string bytes;
  for (const std::string* const part : {&sections.abbreviations, &sections.strings, &sections.string_offsets}) {
    const auto size = static_cast<std::uint16_t>(part->size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  }
  return bytes + sections.abbreviations + sections.strings + sections.string_offsets + sections.info;
}

}  // namespace
}  // namespace memstat::postmortem

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  using namespace memstat;
  const char* const directory = std::getenv("MEMSTAT_SEEDS");
  if (directory == nullptr) return 0;
  for (const unsigned version : {2U, 4U, 5U}) {
    FakeFreeBsdOptions options = small_freebsd();
    options.dwarf_version = version;
    write_text(std::string(directory) + "/dwarf" + std::to_string(version),
               postmortem::packed(FakeFreeBsdDump(options).debug()));
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat::postmortem;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::uint16_t sizes[3] = {};
  if (rest.size() < sizeof sizes) return 0;
  std::memcpy(sizes, rest.data(), sizeof sizes);
  rest.remove_prefix(sizeof sizes);
  std::string parts[3];
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = rest.substr(0, sizes[i]);
    rest.remove_prefix(parts[i].size());
  }
  DwarfSections sections;
  sections.info_bytes = rest.size();
  sections.read_info = [rest](std::uint64_t offset, std::uint64_t bytes) -> memstat::Result<std::string> {
    MEMSTAT_FUZZ_REQUIRE(offset <= rest.size() && bytes <= rest.size() - offset);
    return std::string(rest.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes)));
  };
  sections.abbreviations = parts[0];
  sections.strings = parts[1];
  sections.line_strings = parts[1];
  sections.string_offsets = parts[2];
  const auto types = parse_dwarf(sections, wanted_of_freebsd().types, "fuzzed");
  if (!types) {
    MEMSTAT_FUZZ_REQUIRE(!types.error().detail.empty());
    return 0;
  }
  for (const char* name : {"uma_zone", "uma_keg", "malloc_type", "vmmeter"}) {
    const auto type = types->find_struct(name);
    for (const char* member : {"uz_link.le_next", "uk_domain", "ks_mti.mti_stats", "v_wire_count"}) {
      const auto found = type ? types->find_member(*type, member) : std::nullopt;
      if (!found) continue;
      static_cast<void>(types->size_of(found->type));
      if (const auto array = types->array_of(found->type)) static_cast<void>(types->size_of(array->element));
      static_cast<void>(types->target_of(found->type));
    }
  }
  return 0;
}
