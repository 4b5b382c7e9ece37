// SPDX-License-Identifier: BSD-2-Clause
// Records of reads in one piece of memory, for core/capture/poll_ring.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/capture/poll_plan.h"

namespace memstat {

/// Costs a few bytes for each record beside its name and content, and is searched record by record.
class RecordPack {
 public:
  struct Record {
    PollRecord::Kind kind;
    int system_errno;
    std::string_view name;
    std::string_view bytes;  ///< Of the pack, until it changes.
  };

  /// Bytes that a record with such a name and content takes.
  static std::size_t size_of(std::size_t name, std::size_t bytes) { return sizeof(Header) + name + bytes; }
  [[nodiscard]] std::size_t size() const { return packed_.size(); }
  void reserve(std::size_t size) { packed_.reserve(size); }

  void add(const Record& record) {
    const Header header{.kind = record.kind,
                        .system_errno = record.system_errno,
                        .name = static_cast<std::uint32_t>(record.name.size()),
                        .bytes = static_cast<std::uint32_t>(record.bytes.size())};
    const std::size_t at = packed_.size();
    packed_.resize(at + sizeof header);
    std::memcpy(packed_.data() + at, &header, sizeof header);
    packed_.append(record.name).append(record.bytes);
  }

  [[nodiscard]] std::optional<Record> find(PollRecord::Kind kind, std::string_view name) const {
    std::optional<Record> found;
    for_each([&](const Record& record) {
      if (record.kind == kind && record.name == name) found = record;
      return !found;
    });
    return found;
  }

  /// `record`: of find().
  void remove(const Record& record) {
    const auto at = static_cast<std::size_t>(record.name.data() - packed_.data()) - sizeof(Header);
    packed_.erase(at, size_of(record.name.size(), record.bytes.size()));
  }

  /// Calls take(RECORD) for each, until it returns false.
  template <typename Take>
  void for_each(Take take) const {
    for (std::string_view left = packed_; !left.empty();) {
      Header header{};
      std::memcpy(&header, left.data(), sizeof header);
      left.remove_prefix(sizeof header);
      const Record record{.kind = header.kind,
                          .system_errno = header.system_errno,
                          .name = left.substr(0, header.name),
                          .bytes = left.substr(header.name, header.bytes)};
      left.remove_prefix(std::size_t{header.name} + header.bytes);
      if (!take(record)) return;
    }
  }

 private:
  struct Header {
    PollRecord::Kind kind;
    std::int32_t system_errno;
    std::uint32_t name;   // size
    std::uint32_t bytes;  // size
  };
  std::string packed_;
};

}  // namespace memstat
