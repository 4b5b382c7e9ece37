// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the table of an answer, and as each file of a process. What is accepted is written and
// read back as it was.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/inspect/inspection.h"
#include "core/inspect/owners.h"

namespace {

/// One process, each file and link of which has these bytes.
class FuzzedProcess final : public memstat::KernelView {
 public:
  explicit FuzzedProcess(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] memstat::OperatingSystem os() const override { return memstat::OperatingSystem::kLinux; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  memstat::Result<void> read_file(std::string_view path, memstat::Buffer& out) override {
    constexpr std::string_view kStatus = "Name:\tx\nUid:\t0\nFDSize:\t64\nVmSize:\t 1 kB\n";
    out.assign(path.ends_with("/status") ? kStatus : std::string_view());
    out.append(bytes_);
    return {};
  }
  memstat::Result<std::string> read_link(std::string_view path) override {
    constexpr std::string_view kTargets[] = {"anon_inode:inotify",
                                             "anon_inode:bpf-map",
                                             "anon_inode:bpf-prog",
                                             "socket:[1]",
                                             "anon_inode:[eventpoll]",
                                             "anon_inode:[fanotify]",
                                             "pipe:[1]"};
    const std::size_t number = static_cast<std::size_t>(path.back() - '0');
    return std::string(number < std::size(kTargets) ? kTargets[number] : bytes_);
  }
  memstat::Result<void> list_directory(std::string_view, std::vector<std::string>& names) override {
    names = {"0", "1", "2", "3", "4", "5", "6", "7"};
    return {};
  }
  memstat::Result<void> list_directories(std::string_view, memstat::Buffer& names) override {
    names.assign(std::string_view("1\0", 2));
    return {};
  }
  memstat::Result<void> read_table(std::string_view, memstat::TextTableSource&, memstat::Buffer& out) override {
    out.assign(bytes_);
    return {};
  }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FuzzedProcess process(bytes);
  for (const Inspection* const inspection : all_inspections()) {
    const auto answer = inspect(process, *inspection);
    InspectionAnswer again;
    if (answer && (!read_answer(write_answer(*answer), again) || again.holders != answer->holders)) std::abort();
  }
  InspectionAnswer read;
  InspectionAnswer again;
  if (!read_answer(bytes, read)) return 0;
  const std::string text = write_answer(read);
  if (!read_answer(text, again) || again.holders != read.holders || write_answer(again) != text) std::abort();
  return 0;
}
