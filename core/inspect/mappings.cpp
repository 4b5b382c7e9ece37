// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/mappings.h"

#include "core/base/text.h"

namespace memstat {
namespace {

/// "7f0000000000-7f0000010000 rw-s 00000000 00:0f 1234   anon_inode:[io_uring]"
void visit_line(std::string_view line, const VisitMapping& visit) {
  std::string_view range;
  std::string_view word;
  if (!next_word(line, range)) return;
  for (int place = 1; place < 5; ++place) {
    if (!next_word(line, word)) return;
  }
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return;
  const auto begin = parse_hex_u64(range.substr(0, dash));
  const auto end = parse_hex_u64(range.substr(dash + 1));
  if (begin && end && *end >= *begin) visit(trim(line), *end - *begin);
}

}  // namespace

void read_mappings(Inspector& inspector, const std::vector<Process>& processes,
                   const std::function<void(const Process&, std::string_view)>& use) {
  Buffer text;
  begin_examining(inspector, processes);
  for (const Process& process : processes) {
    if (!inspector.take()) break;
    inspector.see();
    if (auto read = inspector.view().read_file(path_of(process, "maps"), text); !read) {
      note_refusal(inspector, process, read.error());
      continue;
    }
    use(process, text.view());
  }
}

Result<void> walk_mappings(Inspector& inspector, const VisitMapping& visit,
                           const std::function<void(const Process&)>& leave) {
  const auto processes = list_processes(inspector);
  if (!processes) return processes.error();
  read_mappings(inspector, *processes, [&](const Process& process, std::string_view rest) {
    std::string_view line;
    while (next_line(rest, line)) visit_line(line, visit);
    leave(process);
  });
  return {};
}

}  // namespace memstat
