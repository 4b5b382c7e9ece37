// SPDX-License-Identifier: BSD-2-Clause
// A value or an Error. std::expected needs C++23, and clang 14 does not support it even there. The interface is a subset of
// std::expected's, so that switching changes one file.
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "core/base/error.h"

namespace memstat {

/// Holds a T, or the Error that prevented it. Ignoring a Result is a warning.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// Requires has_value().
  T& value() & { return assert(has_value()), *std::get_if<0>(&state_); }
  const T& value() const& { return assert(has_value()), *std::get_if<0>(&state_); }
  T&& value() && { return assert(has_value()), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Requires !has_value().
  [[nodiscard]] const Error& error() const { return assert(!has_value()), *std::get_if<1>(&state_); }
  [[nodiscard]] Error& error() { return assert(!has_value()), *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success, or the Error. `return {};` means success.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return !failed_; }
  explicit operator bool() const { return !failed_; }

  /// Requires !has_value().
  [[nodiscard]] const Error& error() const { return assert(failed_), error_; }
  [[nodiscard]] Error& error() { return assert(failed_), error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace memstat
