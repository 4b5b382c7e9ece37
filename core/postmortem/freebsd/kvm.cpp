// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/kvm.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/capture/replay_view.h"
#include "core/postmortem/freebsd/files.h"
#include "core/postmortem/freebsd/image.h"
#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

Error kvm_failure(ErrorCode code, std::string_view detail) { return make_error(code, "libkvm", detail); }

class KvmKernel final : public FreeBsdKernel {
 public:
  KvmKernel(KvmHandle& handle, KernelFile file) : FreeBsdKernel(std::move(file), "libkvm"), handle_(handle) {}

  Result<void> read(std::uint64_t address, char* to, std::size_t size) override {
    const std::ptrdiff_t got = handle_.read(address, to, size);
    if (got < 0) return kvm_failure(ErrorCode::kKvm, hex(address) + ": " + handle_.error());
    if (static_cast<std::size_t>(got) == size) return {};
    return kvm_failure(ErrorCode::kKvmShortRead,
                       hex(address) + ": " + std::to_string(got) + " of " + std::to_string(size) + " bytes were read");
  }
  void read_page_size() {
    const auto symbol = file().symbol("vm_cnt");
    StructReader counts(*this, "vmmeter");
    const StructField size = counts.field("v_page_size");
    if (symbol && size && counts.load(symbol->address) && counts.get(size) == 16384) page_bytes_ = 16384;
  }

 private:
  KvmHandle& handle_;
};

/// Both symbols are heads of lists. Other symbols are looked up in the kernel file.
Result<void> check_symbols(KvmHandle& handle, KvmNeeds needs) {
  std::vector<KvmSymbol> symbols;
  if (needs.malloc) symbols.push_back({.name = "kmemstatistics"});
  if (needs.uma) symbols.push_back({.name = "uma_kegs"});
  if (handle.find(symbols) != 0) return kvm_failure(ErrorCode::kKvm, handle.error());
  for (const KvmSymbol& symbol : symbols) {
    if (symbol.value == 0) return kvm_failure(ErrorCode::kKvmNoSymbol, std::string(symbol.name) + " has no value");
  }
  return {};
}

}  // namespace

Result<OpenedView> open_kvm_kernel(KvmHandle& handle, KvmNeeds needs) {
  if (auto found = check_symbols(handle, needs); !found) return found.error();
  const auto open = [&handle](KernelFile file) -> Result<std::unique_ptr<FreeBsdKernel>> {
    auto kernel = std::make_unique<KvmKernel>(handle, std::move(file));
    if (auto same = kernel->check_version(); !same) return same.error();
    kernel->read_page_size();
    return std::unique_ptr<FreeBsdKernel>(std::move(kernel));
  };
  auto kernel = open_with_kernel({}, open);
  if (!kernel) {
    const bool has_no_file = kernel.error().code == ErrorCode::kNotPresent;
    return has_no_file ? kvm_failure(ErrorCode::kKvmNoSymbol, kernel.error().detail) : std::move(kernel.error());
  }
  std::vector<std::string> notes;
  auto files = make_freebsd_files(**kernel, notes, needs);
  if (!files) return std::move(files.error());
  auto capture = ReplayKernelView::open(*std::move(files));
  if (!capture) return std::move(capture.error());
  ReplayKernelView* const view = capture->get();
  return OpenedView{.view = *std::move(capture), .capture = view, .notes = std::move(notes)};
}

}  // namespace memstat::postmortem
