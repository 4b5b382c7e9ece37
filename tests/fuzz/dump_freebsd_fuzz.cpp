// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: a small FreeBSD kernel's minidump, changed in some places, each given by 12 bytes: the place and its new
// content. Reads headers, page tables, lists of types and zones, counters and the objects of zones; an inconsistency is an
// error or a note.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/postmortem/container/freebsd_minidump.h"
#include "core/postmortem/freebsd/files.h"
#include "core/postmortem/freebsd/objects.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fixtures.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kPlaceBytes = 12;
constexpr std::size_t kMaxPlaces = 64;

/// The kernel's file, read once.
const KernelFile& kernel_file(const FakeFreeBsdDump& dump) {
  static const KernelFile file = [&dump] {
    const TemporaryDirectory directory;
    write_text(directory.file("kernel"), dump.kernel());
    auto opened = KernelFile::open(directory.file("kernel"), symbols_of_freebsd());
    MEMSTAT_FUZZ_REQUIRE(opened.has_value());
    return *std::move(opened);
  }();
  return file;
}

/// The objects of every zone that is found, a few one by one.
void walk_items(FreeBsdKernel& kernel) {
  const FreeBsdMachine machine = read_freebsd_machine(kernel);
  const auto walk = walk_uma_zones(kernel);
  if (!walk) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(walk->zones.size(), 16); ++i) {
    const auto objects = read_uma_objects(kernel, machine, walk->zones[i], 4);
    MEMSTAT_FUZZ_REQUIRE(objects ? objects->objects.size() <= 4 : !objects.error().detail.empty());
    if (!objects) continue;
    for (const std::string& note : objects->notes) MEMSTAT_FUZZ_REQUIRE(!note.empty());
  }
}

BlockFile changed(const std::string& whole, std::string_view changes) {
  std::string bytes = whole;
  for (std::size_t count = 0; changes.size() >= kPlaceBytes && count < kMaxPlaces; ++count) {
    std::uint32_t at = 0;
    std::memcpy(&at, changes.data(), sizeof at);
    bytes.replace(at % (bytes.size() - 8), 8, changes.substr(sizeof at, 8));
    changes.remove_prefix(kPlaceBytes);
  }
  UniqueFd file(::memfd_create("fuzzed", MFD_CLOEXEC));
  MEMSTAT_FUZZ_REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  auto adopted = BlockFile::adopt("fuzzed", std::move(file));
  MEMSTAT_FUZZ_REQUIRE(adopted.has_value());
  return *std::move(adopted);
}

}  // namespace
}  // namespace memstat::postmortem

void memstat::fuzz(std::string_view bytes) {
  using namespace postmortem;
  static const FakeFreeBsdDump dump(freebsd_with_slabs());
  static const std::string whole = dump.dump();
  auto memory = FreeBsdMinidump::open(changed(whole, bytes));
  if (!memory) {
    MEMSTAT_FUZZ_REQUIRE(!memory.error().detail.empty());
    return;
  }
  auto kernel = open_freebsd_image(*std::move(memory), kernel_file(dump));
  if (!kernel) {
    MEMSTAT_FUZZ_REQUIRE(!kernel.error().detail.empty());
    return;
  }
  std::vector<std::string> notes;
  const auto files = make_freebsd_files(**kernel, notes);
  MEMSTAT_FUZZ_REQUIRE(files || !files.error().detail.empty());
  for (const std::string& note : notes) MEMSTAT_FUZZ_REQUIRE(!note.empty());
  walk_items(**kernel);
}
