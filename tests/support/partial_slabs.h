// SPDX-License-Identifier: BSD-2-Clause
// Makes the list of partial slabs of one of Linux's slab caches long, without privileges: with messages of System V queues.
// Each is an object of 64 B, 64 per slab. Many are sent, and all but one in 64 are received again.
#pragma once

#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace memstat {

/// The caches of these messages: since Linux 6.11 (if configured), since 5.14, and before.
inline constexpr const char* kMessageCaches[] = {"msg_msg-64", "kmalloc-cg-64", "kmalloc-64"};

/// Queues that are removed, with their messages, by the destructor. Thread safety: none.
class PartialSlabs {
 public:
  /// As root in its own namespace, so that nothing remains even if the program is killed.
  PartialSlabs() {
#ifdef CLONE_NEWIPC
    (void)::unshare(CLONE_NEWIPC);
#endif
  }
  PartialSlabs(const PartialSlabs&) = delete;
  PartialSlabs& operator=(const PartialSlabs&) = delete;
  ~PartialSlabs() {
    for (const int queue : queues_) ::msgctl(queue, IPC_RMID, nullptr);
  }

  /// Makes about N slabs, 4 KiB each, partial. False if the system's limits prevent it.
  bool make(std::size_t slabs) {
    for (std::size_t left = slabs * kPerSlab; left > 0;) {
      const int queue = ::msgget(IPC_PRIVATE, 0600);
      if (queue < 0) return false;
      queues_.push_back(queue);
      std::size_t sent = 0;
      for (; sent < left; ++sent) {
        const Message message{sent % kPerSlab == 0 ? kStays : kGoes, 0};
        if (::msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0) continue;
        if (errno != EAGAIN) return false;
        break;  // full
      }
      if (sent == 0) return false;
      left -= sent;
    }
    // Receive at the end: objects freed earlier would be reused.
    Message message{};
    for (const int queue : queues_) {
      while (::msgrcv(queue, &message, sizeof message.text, kGoes, IPC_NOWAIT) >= 0) continue;
    }
    return true;
  }

 private:
  static constexpr std::size_t kPerSlab = 64;
  static constexpr long kStays = 2;
  static constexpr long kGoes = 1;
  struct Message {
    long type;
    char text;
  };

  std::vector<int> queues_;
};

}  // namespace memstat
