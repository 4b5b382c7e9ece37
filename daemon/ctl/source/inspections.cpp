// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/source/inspections.h"

#include <unistd.h>

#include "core/diagnosis/words.h"

namespace memstat::ctl {

namespace {

std::string refused_part(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay) {
  const std::string processes = "at least " + counted(static_cast<double>(answer.refused), "process", "processes");
  if (is_replay) {
    return "not in this capture, because the user who recorded it may not examine them: " + processes +
           "; record it as root";
  }
  const std::string needs(inspection.needs.empty() ? "CAP_SYS_PTRACE" : inspection.needs);  // where /proc hides them
  return "not in this answer, because you may not examine them: " + processes +
         (::geteuid() == 0 ? "; root here lacks " + needs + ", or a container or a security module forbids it"
                           : "; run memstatctl as root (it needs " + needs + ")");
}

}  // namespace

InspectionBounds bounds_with(Progress& progress, const Inspection& inspection, std::int64_t max_wall_ns) {
  InspectionBounds bounds{.max_wall_ns = max_wall_ns};
  bounds.on_object = [&progress, &inspection](const InspectionAnswer& answer) {
    if (!progress.is_due()) return;
    const std::string seen = answer.seen ? std::to_string(*answer.seen) : std::to_string(answer.looked_at);
    const std::string total = answer.total ? " of " + std::to_string(*answer.total) : "";
    progress.show("who " + std::string(inspection.name) + ": examined " + seen + total + " " +
                  std::string(answer.seen && !inspection.parts.empty() ? inspection.parts : "objects"));
  };
  return bounds;
}

std::string missing_of(const InspectionAnswer& answer, const Inspection& inspection, bool is_replay) {
  std::string line;
  if (!answer.view.is_whole()) {
    line = "not in this answer: the rest of the machine, not checked: " + answer.view.words() + "; " +
           (is_replay ? "to record it, " : "") + answer.view.permit();
  }
  if (answer.refused != 0) line += (line.empty() ? "" : "; also ") + refused_part(answer, inspection, is_replay);
  if (answer.is_cut) {
    const std::string seen = seen_text(answer);
    line += (line.empty() ? "not in this answer: " : "; also ") + std::string("everything beyond the first ") +
            (seen.empty() ? counted(static_cast<double>(answer.looked_at), "object") : seen) +
            (is_replay ? ", when the time for the question was up"
                       : ", when the time for the question was up; --for 1m gives it a minute");
  }
  return line;
}

}  // namespace memstat::ctl
