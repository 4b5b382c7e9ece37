// SPDX-License-Identifier: BSD-2-Clause
// Calls libkvm; only on FreeBSD.
#include "core/postmortem/freebsd/kvm.h"

#ifdef __FreeBSD__

#include <kvm.h>
#include <nlist.h>

#include <vector>

namespace memstat::postmortem {
namespace {

class LibKvm final : public KvmHandle {
 public:
  explicit LibKvm(kvm_t* kvm) : kvm_(kvm) {}

  std::ptrdiff_t read(std::uint64_t address, char* to, std::size_t size) override {
    return ::kvm_read(kvm_, static_cast<unsigned long>(address), to, size);
  }
  int find(std::span<KvmSymbol> symbols) override {
    std::vector<std::string> names;
    for (const KvmSymbol& symbol : symbols) names.emplace_back(symbol.name);
    std::vector<struct nlist> list(symbols.size() + 1);  // an entry without a name ends the list
    for (std::size_t i = 0; i < names.size(); ++i) list[i].n_name = names[i].data();
    const int missing = ::kvm_nlist(kvm_, list.data());
    for (std::size_t i = 0; i < names.size(); ++i) symbols[i].value = list[i].n_type == 0 ? 0 : list[i].n_value;
    return missing;
  }
  std::string error() override {
    const char* const text = ::kvm_geterr(kvm_);
    return text != nullptr && *text != '\0' ? text : "a symbol was not found";
  }

 private:
  kvm_t* kvm_;
};

}  // namespace

Result<OpenedView> open_libkvm(void* kvm, KvmNeeds needs) {
  LibKvm handle(static_cast<kvm_t*>(kvm));
  return open_kvm_kernel(handle, needs);
}

}  // namespace memstat::postmortem

#endif
