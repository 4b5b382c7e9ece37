// SPDX-License-Identifier: BSD-2-Clause
// Which files a source reads, one after the other in a buffer that stays with the source: finding them out takes more calls
// than reading them, and may need privileges that are gone by then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/buffer.h"

namespace memstat {

/// What a record begins with; `size` bytes of text follow. What `kind` means is the source's own business.
struct FilePlanRecord {
  std::uint32_t size;
  std::uint8_t kind;
  bool is_gone;  ///< The file was not there any more when last read.
};

/// Appends a record, whose text is a path or whatever goes with the kind. At most 2^32 - 1 bytes.
inline void append_to_plan(Buffer& plan, std::uint8_t kind, std::string_view text) {
  FilePlanRecord record{};
  record.size = static_cast<std::uint32_t>(text.size());
  record.kind = kind;
  plan.append({reinterpret_cast<const char*>(&record), sizeof record});
  plan.append(text);
}

/// Walks the records of a plan, which must not be appended to meanwhile. Thread safety: none.
class FilePlanWalk {
 public:
  /// The records begin at `begin`: what is before them is the source's own.
  FilePlanWalk(Buffer& plan, std::size_t begin) : plan_(plan), next_(std::min(begin, plan.size())) {}

  /// Goes on to the next record; false after the last, and where one is cut short.
  bool next() {
    const std::size_t left = plan_.size() - next_;
    if (left < sizeof record_) return false;
    std::memcpy(&record_, plan_.data() + next_, sizeof record_);
    if (left - sizeof record_ < record_.size) return false;
    at_ = next_;
    next_ += sizeof record_ + record_.size;
    return true;
  }
  [[nodiscard]] std::uint8_t kind() const { return record_.kind; }
  [[nodiscard]] std::string_view text() const { return plan_.view().substr(at_ + sizeof record_, record_.size); }
  [[nodiscard]] bool is_gone() const { return record_.is_gone; }
  void set_gone(bool is_gone) {
    record_.is_gone = is_gone;
    std::memcpy(plan_.data() + at_, &record_, sizeof record_);
  }

 private:
  Buffer& plan_;
  std::size_t next_;
  std::size_t at_ = 0;
  FilePlanRecord record_{};
};

}  // namespace memstat
