// SPDX-License-Identifier: BSD-2-Clause
// Indexes into a list of names, written as the names.
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace memstat {

/// The place of a name in `kNames`. A name that the list lacks does not compile.
template <const auto& kNames>
class ListedName {
 public:
  consteval ListedName() : place_(std::size(kNames)) {}  ///< None.
  consteval ListedName(const char* name) {               // NOLINT(google-explicit-constructor)
    while (kNames[place_] != std::string_view(name)) ++place_;
  }
  constexpr operator std::size_t() const { return place_; }  // NOLINT(google-explicit-constructor)

 private:
  std::size_t place_ = 0;
};

}  // namespace memstat
