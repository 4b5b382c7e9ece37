// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as the table of an answer, as each file of a process, and as each sysctl, with and without the
// sizes with which structures of FreeBSD begin. What is accepted is written and read back as it was.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/inspect/inspection.h"
#include "core/inspect/owners.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

/// A sysctl of structures.
struct Structures {
  std::string_view name;
  std::size_t size;
  std::size_t ends = 0;    ///< Of the structure at both ends.
  std::size_t socket = 0;  ///< Where each has a struct xsocket.
};
constexpr Structures kStructures[] = {{"kern.proc.proc", 1088},
                                      {"kern.file", 128},
                                      {"net.inet.tcp.pcblist", 744, 64, 16},
                                      {"net.inet.udp.pcblist", 400, 64, 8},
                                      {"net.local.stream.pcblist", 904, 32, 664}};

/// The bytes with the sizes that the structures must have.
std::string with_sizes(std::string_view bytes, const Structures& structures) {
  constexpr std::size_t kSocketSize = 240;
  std::string sized(bytes);
  std::size_t at = 0;
  const auto begin = [&](std::size_t where, std::size_t size) {
    const std::size_t written = structures.size == 1088 ? 4 : 8;
    if (sized.size() >= where + written) std::memcpy(sized.data() + where, &size, written);
  };
  for (std::size_t size = structures.ends == 0 ? structures.size : structures.ends; at < sized.size(); at += size) {
    if (at != 0) size = structures.size;
    const bool is_last = structures.ends != 0 && at != 0 && sized.size() - at < structures.size;
    begin(at, at == 0 || !is_last ? size : structures.ends);
    if (structures.socket != 0 && size == structures.size) begin(at + structures.socket, kSocketSize);
  }
  return sized;
}

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
  memstat::Result<void> read_sysctl(std::string_view name, memstat::Buffer& out, std::size_t) override {
    const auto* const found = std::find_if(std::begin(kStructures), std::end(kStructures),
                                           [&](const Structures& one) { return one.name == name; });
    const bool has_sizes = found != std::end(kStructures) && !bytes_.empty() && bytes_.back() % 4 != 0;
    out.assign(has_sizes ? with_sizes(bytes_, *found) : std::string(bytes_));
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

void memstat::fuzz(std::string_view bytes) {
  FuzzedProcess process(bytes);
  for (const Inspection* const inspection : all_inspections()) {
    const auto answer = inspect(process, *inspection);
    InspectionAnswer again;
    if (answer && (!read_answer(write_answer(*answer), again) || again.holders != answer->holders)) std::abort();
  }
  InspectionAnswer read;
  InspectionAnswer again;
  if (!read_answer(bytes, read)) return;
  const std::string text = write_answer(read);
  if (!read_answer(text, again) || again.holders != read.holders || write_answer(again) != text) std::abort();
}
