// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as physical memory with page tables in it; the first 16 say where to begin and what to look
// for.
#include <cstring>

#include "core/postmortem/container/address_space.h"
#include "tests/fuzz/fuzz_target.h"

namespace memstat::postmortem {
namespace {

class FuzzedMemory final : public PhysicalMemory {
 public:
  explicit FuzzedMemory(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Machine machine() const override { return Machine::kX86; }
  [[nodiscard]] std::string_view vmcoreinfo() const override { return {}; }
  [[nodiscard]] std::int64_t changed_ns() const override { return 0; }
  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    MEMSTAT_FUZZ_REQUIRE(++reads_ <= 5);  // one for each level
    if (bytes_.empty()) return missing_memory(name_, "physical", address, "nothing");
    // Every address is mapped, so that a walk goes far.
    for (std::size_t i = 0; i < size; ++i) to[i] = bytes_[(address + i) % bytes_.size()];
    return {};
  }
  void begin() { reads_ = 0; }

 private:
  std::string name_ = "fuzzed";
  std::string_view bytes_;
  int reads_ = 0;
};

}  // namespace
}  // namespace memstat::postmortem

void memstat::fuzz(std::string_view bytes) {
  using namespace postmortem;
  std::uint64_t words[2] = {0x1000, 0xffff888001000000};
  if (bytes.size() >= sizeof words) std::memcpy(words, bytes.data(), sizeof words);
  FuzzedMemory memory(bytes);
  for (const unsigned levels : {4U, 5U}) {
    for (const bool is_arm64 : {false, true}) {
      for (const std::uint64_t address : {words[1], words[1] | 0xff00000000000000U}) {
        memory.begin();
        const PageTables tables{.root = words[0], .levels = levels, .address_bits = 12 + 9 * levels, .is_arm64 = is_arm64};
        const auto found = translate(memory, tables, address);
        MEMSTAT_FUZZ_REQUIRE(!found || (found->bytes > 0 && found->bytes <= std::uint64_t{1} << 48U));
      }
    }
  }
}
