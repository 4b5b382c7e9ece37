// SPDX-License-Identifier: BSD-2-Clause
// A library that is loaded when it is needed, if it is installed.
#pragma once

#include <dlfcn.h>

#include <initializer_list>

namespace memstat {

/// Base of a struct with a member for each function that it uses, such as `decltype(&::pmc_init) init = find("pmc_init")`.
/// The library is never unloaded.
class DynamicLibrary {
 public:
  /// The address of a function, as a pointer of the type that it is assigned to.
  struct Symbol {
    void* address = nullptr;
    template <typename Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor)
      return reinterpret_cast<Function*>(address);
    }
  };

  /// Loads the first of `names` that is installed.
  DynamicLibrary(std::initializer_list<const char*> names) {
    for (const char* const name : names) {
      if (file_ == nullptr) file_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    is_complete_ = file_ != nullptr;
  }
  /// Whether it is loaded and has every function that was looked up.
  [[nodiscard]] bool is_complete() const { return is_complete_; }

 protected:
  Symbol find(const char* name) {
    const Symbol symbol{file_ == nullptr ? nullptr : ::dlsym(file_, name)};
    is_complete_ = is_complete_ && symbol.address != nullptr;
    return symbol;
  }

 private:
  void* file_ = nullptr;
  bool is_complete_ = false;
};

}  // namespace memstat
