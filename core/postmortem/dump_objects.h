// SPDX-License-Identifier: BSD-2-Clause
// The memory types of a crash dump that have objects one by one, and these: what programs ask beyond what captures have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/postmortem/kernel/slab_objects.h"

namespace memstat::postmortem {

/// A slab cache of Linux, or a zone of FreeBSD's uma. Thread safety: a plain value.
struct DumpType {
  std::string name;
  std::uint64_t object_size = 0;  ///< B that a caller gets.
  std::string damage;             ///< What of it is missing, for people; "" as a rule.
};

/// One dump. Thread safety: none; one thread at a time.
class DumpObjects {
 public:
  /// `dump`: PATH, or PATH@0. Errors: kNotPresent for what is no dump; those of open_dump_file, open_dump_kernel,
  /// walk_slab_caches and walk_uma_zones.
  static Result<std::unique_ptr<DumpObjects>> open(const std::string& dump);
  DumpObjects(const DumpObjects&) = delete;
  DumpObjects& operator=(const DumpObjects&) = delete;
  virtual ~DumpObjects() = default;

  /// "slab" or "uma".
  [[nodiscard]] virtual std::string_view allocator() const = 0;
  /// In the kernel's order; names may be there twice.
  [[nodiscard]] const std::vector<DumpType>& types() const { return types_; }
  /// What of the dump is damaged and does not belong to one type, for people.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Those of types()[number], at most `most` of them one by one. Errors: those of read_slab_objects and read_uma_objects.
  virtual Result<SlabObjects> objects_of(std::size_t number, std::uint64_t most) = 0;

 protected:
  DumpObjects(std::vector<DumpType> types, std::vector<std::string> notes)
      : types_(std::move(types)), notes_(std::move(notes)) {}

 private:
  std::vector<DumpType> types_;
  std::vector<std::string> notes_;
};

}  // namespace memstat::postmortem
