// SPDX-License-Identifier: BSD-2-Clause
// Everything visible of a memory type list, as text, to show that it did not change.
#pragma once

#include <optional>
#include <string>

#include "core/model/memory_type_list.h"

namespace memstat {

struct DumpOptions {
  bool identity = true;                     ///< Addresses and generations, which two equal polls do not share.
  bool slots = true;                        ///< All caller slots.
  std::optional<Allocator> allocator = {};  ///< Only types of this allocator.
};

/// A line a type, in the order of the list.
std::string dump(const MemoryTypeList& list, const DumpOptions& options = {});

/// The first lines in which two dumps differ, for a message; "" if there are none.
std::string first_difference(const std::string& before, const std::string& after);

/// Writes a different value into every slot of every type and of its CPUs; others for another `seed`.
void fill_slots(MemoryTypeList& list, std::uint64_t seed);

}  // namespace memstat
