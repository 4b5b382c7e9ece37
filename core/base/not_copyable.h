// SPDX-License-Identifier: BSD-2-Clause
// Bases of classes whose objects have an identity.
#pragma once

namespace memstat {

/// Base of classes that can be neither copied nor moved.
class NotCopyable {
 public:
  NotCopyable(const NotCopyable&) = delete;
  NotCopyable& operator=(const NotCopyable&) = delete;

 protected:
  NotCopyable() = default;
  ~NotCopyable() = default;
};

/// Base of interfaces: owned and deleted through a pointer to the interface.
class Interface : NotCopyable {
 public:
  virtual ~Interface() = default;

 protected:
  Interface() = default;
};

}  // namespace memstat
