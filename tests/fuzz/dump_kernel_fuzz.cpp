// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: a small kernel whose memory was changed in some places, each given by 12 bytes: the place and its new
// content. Reads lists of caches, zones, counters, areas and modules, and the objects of each cache; an inconsistency is an
// error or a note.
#include <algorithm>
#include <cstring>

#include "core/postmortem/linux/files.h"
#include "core/postmortem/linux/kernel_image.h"
#include "core/postmortem/linux/slab.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_linux_dump.h"

namespace memstat::postmortem {
namespace {

constexpr std::uint64_t kBegin = 0x1000000;     // where the memory of FakeLinuxDump begins
constexpr std::uint64_t kHeaderBytes = 0x4000;  // of its file
constexpr std::size_t kChangedBytes = 0x80000;  // all structures are in the first part of its memory
constexpr std::size_t kChangeBytes = 12;
constexpr std::size_t kMaxChanges = 64;

/// A kernel's memory without changes.
struct Kernel {
  std::string info;
  std::string memory;
};

Kernel make_kernel(SlabKernel slabs) {
  FakeKernelOptions options = small_kernel(slabs);
  options.caches.push_back(tracked_cache());
  const FakeLinuxDump dump(options);
  return {.info = dump.info(), .memory = dump.elf().substr(kHeaderBytes)};
}

/// The objects of every cache that is found, a few one by one.
void walk_objects(KernelImage& image) {
  const auto walk = walk_slab_caches(image, read_linux_machine(image));
  if (!walk) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(walk->caches.size(), 8); ++i) {
    const auto objects = read_slab_objects(image, walk->caches[i], 4);
    MEMSTAT_FUZZ_REQUIRE(objects ? objects->objects.size() <= 4 : !objects.error().detail.empty());
    if (!objects) continue;
    for (const std::string& note : objects->notes) MEMSTAT_FUZZ_REQUIRE(!note.empty());
  }
}

class ChangedMemory final : public PhysicalMemory {
 public:
  ChangedMemory(const Kernel& kernel, std::string_view changes) : info_(kernel.info), bytes_(kernel.memory) {
    for (std::size_t count = 0; changes.size() >= kChangeBytes && count < kMaxChanges; ++count) {
      std::uint32_t at = 0;
      std::memcpy(&at, changes.data(), sizeof at);
      bytes_.replace(at % kChangedBytes, 8, changes.substr(sizeof at, 8));
      changes.remove_prefix(kChangeBytes);
    }
  }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Machine machine() const override { return Machine::kX86; }
  [[nodiscard]] std::string_view vmcoreinfo() const override { return info_; }
  [[nodiscard]] std::int64_t changed_ns() const override { return 0; }
  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    if (address < kBegin || address - kBegin > bytes_.size() || size > bytes_.size() - (address - kBegin)) {
      return missing_memory(name_, "physical", address, "is not in the dump");
    }
    std::copy_n(bytes_.data() + (address - kBegin), size, to);
    return {};
  }

 private:
  std::string name_ = "fuzzed";
  std::string info_;
  std::string bytes_;
};

}  // namespace
}  // namespace memstat::postmortem

void memstat::fuzz(std::string_view changes) {
  using namespace postmortem;
  static const Kernel kernels[] = {make_kernel(SlabKernel::kSlabs), make_kernel(SlabKernel::kSheaves)};
  for (const Kernel& kernel : kernels) {
    auto image = KernelImage::open(std::make_unique<ChangedMemory>(kernel, changes));
    if (!image) {
      MEMSTAT_FUZZ_REQUIRE(!image.error().detail.empty());
      continue;
    }
    std::vector<std::string> notes;
    const auto files = make_linux_files(**image, notes);
    MEMSTAT_FUZZ_REQUIRE(files || !files.error().detail.empty());
    for (const std::string& note : notes) MEMSTAT_FUZZ_REQUIRE(!note.empty());
    walk_objects(**image);
  }
}
