// SPDX-License-Identifier: BSD-2-Clause
// Loaded modules: "name size references users state address" (kernel/module/procfs.c). The count is the number of
// references.
#include "core/base/text.h"
#include "core/inspect/processes.h"

namespace memstat::inspections::modules {
namespace {

Result<void> look(Inspector& inspector) {
  Buffer text;
  if (auto read = inspector.view().read_file("/proc/modules", text); !read) return read;
  std::string_view rest = text.view();
  std::string_view line;
  while (next_line(rest, line) && inspector.take()) {
    std::string_view name;
    std::string_view size;
    std::string_view references;
    if (!next_word(line, name) || !next_word(line, size) || !next_word(line, references)) continue;
    Holder holder;
    holder.name = name;
    holder.bytes = parse_u64(size);
    holder.count = parse_u64(references);  // "-" if modules cannot be unloaded
    if (holder.bytes) inspector.add(std::move(holder));
  }
  return {};
}

}  // namespace

extern const Inspection inspection{.name = "modules",
                                   .question = "Which kernel modules are loaded; in a recording: since its first poll",
                                   .kind = "module",
                                   .things = "references",
                                   .sees = {},
                                   .is_about_new = true,
                                   .look = look};

}  // namespace memstat::inspections::modules
