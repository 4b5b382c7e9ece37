// SPDX-License-Identifier: BSD-2-Clause
// Attaching programs again when this process may not any more: the helper process may, and is asked through a socket pair.
//
// At start, while both are still trusted, the daemon hands over each program with its point and gets a number for it; then
// it seals the list. From then on it asks by number alone, and the answer brings the descriptor that keeps the program
// attached, of which the helper keeps no copy: who closes it, or dies, has detached the program.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/events/attach/attach_point.h"

namespace memstat::events {

/// What goes to the helper: one message of SOCK_SEQPACKET each, with the program's descriptor in that of kAdd.
struct AttachRequest {
  enum Word : std::uint32_t { kAdd = 1, kSeal = 2, kAttach = 3 };
  std::uint32_t word = 0;
  std::uint32_t place = 0;  ///< Of kAttach: the number that kAdd gave.
  AttachPoint point = {};   ///< Of kAdd.
};
/// What comes back, with one descriptor if, and only if, something was attached.
struct AttachAnswer {
  std::int32_t error = 0;   ///< 0 or an errno.
  std::uint32_t place = 0;  ///< That of the request; of kAdd, the new one.
};

/// Points that a helper knows at most: programs that are attached on each CPU take one for each.
inline constexpr std::uint32_t kMostAttachPoints = 16'384;

/// Answers requests until the other end is closed. What is no request, has descriptors that it should not have, or names
/// what is not there, is answered with an errno and changes nothing. `attach`: as attach_program(). Allocates nothing once
/// the list is sealed. Thread safety: one thread for a socket.
void serve_attaching(int socket, int (*attach)(int program, const AttachPoint& point) = attach_program);

/// The other end. Thread safety: safe.
class AttachHelper {
 public:
  /// `socket`: SOCK_SEQPACKET, with the helper behind it.
  explicit AttachHelper(UniqueFd socket);

  /// Hands a program over. Returns its number; an error when the helper does not take it.
  Result<std::uint32_t> add(int program, const AttachPoint& point);
  /// No more are handed over. False: there are none, or it is gone; then it has been sent home.
  bool seal();
  /// Attaches a program; it stays so until the descriptor is closed. Errors: kNotPresent when the helper is gone, else with
  /// the errno with which it was refused. Waits for it for seconds at most; a helper that does not answer in time, or
  /// answers what it was not asked, is given up.
  Result<UniqueFd> attach(std::uint32_t place);
  /// Whether it is there, as far as the kernel knows; false is for good. Does not wait.
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

/// The helper of this process, or null. A table uses the helper that was set when it was opened. Thread safety: safe.
std::shared_ptr<AttachHelper> process_helper();
void set_process_helper(std::shared_ptr<AttachHelper> helper);

}  // namespace memstat::events
