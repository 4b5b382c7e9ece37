// SPDX-License-Identifier: BSD-2-Clause
// The reader process's end of the memory for answers: small answers are copied to permanent shared memory, large ones
// are written into memory of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/base/shared_memory.h"
#include "core/kernel/reader_process.h"

namespace memstat {

/// Memory for a channel's answers: `out`, then shared memory for the peer.
class AnswerMemory {
 public:
  Buffer out;
  Buffer scratch;

  /// Prepares for an answer of about this size. For a large one, `out` becomes the shared memory.
  void expect(std::uint64_t bytes) {
    out.clear();
    if (bytes < kMaxKeptMemory) return;
    auto made = SharedMemory::make_for_one(static_cast<std::size_t>(bytes));
    if (!made) return;  // put() will make it, or report the error
    once_ = *std::move(made);
    place_ = once_.take_mapping();
    out.adopt(place_, once_.size(), 0);
  }

  /// Moves the content of `out` to shared memory. Call done() after sending the answer.
  Result<void> put() {
    size_ = out.size();
    if (size_ > kMaxKeptMemory / 2) return put_once();
    if (size_ > kept_.size()) {
      auto grown = SharedMemory::make(size_ + size_ / 8);  // with reserve, so that it rarely grows
      if (!grown) return grown.error();
      kept_ = *std::move(grown);
    }
    if (size_ != 0) std::memcpy(kept_.data(), out.data(), size_);
    sent_ = &kept_;
    return {};
  }
  void done() {
    out.give_back_if_large();
    once_ = SharedMemory();
    place_ = nullptr;
    sent_ = nullptr;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const SharedMemory& sent() const { return *sent_; }

 private:
  /// Uses separate memory, without a copy if the kernel wrote into it.
  Result<void> put_once() {
    if (out.data() != place_) {
      auto made = SharedMemory::make_for_one(size_);
      if (!made) return made.error();
      once_ = *std::move(made);
      std::memcpy(once_.data(), out.data(), size_);
      unmap_memory(once_.take_mapping(), once_.size());
    }
    out.give_back_if_large();  // so that no writable mapping remains
    sent_ = &once_;
    return once_.seal_content();
  }

  SharedMemory kept_;
  SharedMemory once_;
  char* place_ = nullptr;  // mapping of once_, which `out` uses
  const SharedMemory* sent_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace memstat
