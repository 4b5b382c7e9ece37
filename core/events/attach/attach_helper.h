// SPDX-License-Identifier: BSD-2-Clause
// Re-attaches programs after this process has lost the privilege. The helper process still has it, and receives requests
// through a socket pair.
//
// At start, while both processes are trusted, the daemon hands over each program with its attach point and gets a number for
// it; then it seals the list. From then on it can only request numbers. The answer carries the descriptor that keeps the
// program attached. The helper keeps no copy, so the program is detached when the daemon closes the descriptor or dies.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat::events {

/// The place at which a program is attached.
struct AttachPoint {
  enum Kind : std::uint32_t {
    kRawTracepoint = 1,  ///< `name`
    kTracing = 2,        ///< The function that the program was loaded for.
    kPerfEvent =
        3,  ///< A perf_event_open(2) event: `type`, `config`, `period`, `cpu` and, for a probe, the function in `name`.
  };
  std::uint32_t kind = 0;
  std::int32_t cpu = 0;
  std::uint32_t type = 0;
  std::uint32_t period = 0;
  std::uint64_t config = 0;
  std::array<char, 64> name{};  ///< NUL-terminated; "" if unused.
};

/// Attaches a loaded program. Needs CAP_BPF and CAP_PERFMON. Returns a descriptor, which the caller closes to detach,
/// or a negative errno: EINVAL for an invalid point. Does not allocate. Thread safety: safe.
int attach_program(int program, const AttachPoint& point);

/// A request: one SOCK_SEQPACKET message. kAdd carries the program's descriptor.
struct AttachRequest {
  enum Word : std::uint32_t { kAdd = 1, kSeal = 2, kAttach = 3 };
  std::uint32_t word = 0;
  std::uint32_t place = 0;  ///< For kAttach: the number that kAdd returned.
  AttachPoint point = {};   ///< For kAdd.
};
/// An answer. It carries a descriptor if and only if a program was attached.
struct AttachAnswer {
  std::int32_t error = 0;   ///< 0 or an errno.
  std::uint32_t place = 0;  ///< The number in the request; for kAdd, the new one.
};

/// Maximum number of attach points of a helper. A program attached per CPU takes one for each CPU.
inline constexpr std::uint32_t kMaxAttachPoints = 16'384;

/// Answers requests until the peer closes its end. Malformed requests, unexpected descriptors and unknown numbers are
/// answered with an errno and change nothing. `attach` is attach_program() except in tests. Does not allocate after
/// kSeal. Thread safety: one thread per socket.
void serve_attaching(int socket, int (*attach)(int program, const AttachPoint& point) = attach_program);

/// The client side of the helper. Thread safety: safe.
class AttachHelper {
 public:
  /// `socket`: a SOCK_SEQPACKET socket whose peer is the helper.
  explicit AttachHelper(UniqueFd socket);

  /// Hands a program over and returns its number. Fails when the helper rejects it.
  Result<std::uint32_t> add(int program, const AttachPoint& point);
  /// Ends the hand-over. Returns false when the helper has no programs or is gone; it has then been shut down.
  bool seal();
  /// Attaches a program until the descriptor is closed. Errors: kNotPresent when the helper is gone, otherwise the errno of
  /// the attempt. Waits for a few seconds at most. A helper that times out, or sends an answer to something else, is
  /// abandoned.
  Result<UniqueFd> attach(std::uint32_t place);
  /// Whether the helper is alive, as far as the kernel reports. Once false, always false. Does not wait.
  [[nodiscard]] bool is_alive();

 private:
  struct Reply {
    AttachAnswer answer;
    UniqueFd descriptor;
  };
  std::optional<Reply> ask(const AttachRequest& request, int program) MEMSTAT_REQUIRES(mutex_);
  void give_up();

  const UniqueFd socket_;
  std::atomic<bool> is_gone_ = false;
  Mutex mutex_;
  std::uint32_t count_ MEMSTAT_GUARDED_BY(mutex_) = 0;
};

/// The helper of this process, or null. A table uses the one that is set when the table is opened. Thread safety: safe.
std::shared_ptr<AttachHelper> process_helper();
void set_process_helper(std::shared_ptr<AttachHelper> helper);

}  // namespace memstat::events
