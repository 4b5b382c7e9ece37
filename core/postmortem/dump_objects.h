// SPDX-License-Identifier: BSD-2-Clause
// Memory types in a crash dump and their individual objects, which captures do not have.
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

/// A Linux slab cache, or a FreeBSD uma zone.
struct DumpType {
  std::string name;
  std::uint64_t object_size = 0;  ///< B usable by the caller.
  std::string damage;             ///< What could not be read, for display; usually "".
};

/// The allocated objects in a dump.
class DumpObjects {
 public:
  /// `dump`: PATH, or PATH@0. Errors: kNotPresent if it is not a dump; those of open_dump_file, open_dump_kernel,
  /// walk_slab_caches and walk_uma_zones.
  static Result<std::unique_ptr<DumpObjects>> open(const std::string& dump);
  DumpObjects(const DumpObjects&) = delete;
  DumpObjects& operator=(const DumpObjects&) = delete;
  virtual ~DumpObjects() = default;

  /// "slab" or "uma".
  [[nodiscard]] virtual std::string_view allocator() const = 0;
  /// In the kernel's order. Names may repeat.
  [[nodiscard]] const std::vector<DumpType>& types() const { return types_; }
  /// Damage that does not belong to one type, for display.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// The objects of types()[number], at most `most` of them listed. Errors: those of read_slab_objects and
  /// read_uma_objects.
  virtual Result<SlabObjects> objects_of(std::size_t number, std::uint64_t most) = 0;

 protected:
  DumpObjects(std::vector<DumpType> types, std::vector<std::string> notes)
      : types_(std::move(types)), notes_(std::move(notes)) {}

 private:
  std::vector<DumpType> types_;
  std::vector<std::string> notes_;
};

}  // namespace memstat::postmortem
