// SPDX-License-Identifier: BSD-2-Clause
// Inspections by another process, which may examine what the daemon may not. A request is the name of a question, so a
// daemon that was taken over can learn what the inspections show, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/not_copyable.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/inspect/inspection.h"

namespace memstat {

/// Answers the peer's questions about `machine`, one after the other, until it closes its end. Ignores what is not a
/// question. `socket`: a SOCK_SEQPACKET socket. Thread safety: one thread per socket.
void serve_inspections(int socket, KernelView& machine);

/// The asking end. Thread safety: one thread; is_alive() is safe.
class InspectionChannel : NotCopyable {
 public:
  struct Reply {
    const Inspection* inspection = nullptr;
    Result<InspectionAnswer> answer;
    std::int64_t cpu_ns = 0;  ///< CPU time that the peer spent; 0: not reported
  };

  /// `socket`: a SOCK_SEQPACKET socket whose peer runs serve_inspections() on a machine of that system.
  explicit InspectionChannel(UniqueFd socket, OperatingSystem os = OperatingSystem::kLinux);

  /// Sends a question. Does not wait. Returns false if the peer is gone, or has too many questions.
  [[nodiscard]] bool ask(const Inspection& inspection);
  /// A reply, if one has arrived. Does not wait. Ignores replies to nothing, and unreadable ones.
  std::optional<Reply> take();
  /// Whether the peer is alive, as far as the kernel reports.
  [[nodiscard]] bool is_alive() const;

 private:
  const UniqueFd socket_;
  const OperatingSystem os_;
};

}  // namespace memstat
