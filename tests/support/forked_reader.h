// SPDX-License-Identifier: BSD-2-Clause
// A reader process over a copy of the test's view, taken when this is made.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernel/reader_process.h"

namespace memstat {

/// Thread safety: none. Make it while the test has no thread.
class ForkedReader {
 public:
  explicit ForkedReader(KernelView& inside, const std::function<Result<void>()>& before_threads = {}) {
    auto made = ReadChannels::make();
    if (!made) std::abort();
    ReadChannels channels = *std::move(made);
    number_ = ::fork();
    if (number_ == 0) {
      channels.ours.clear();
      serve_reads(std::move(channels.theirs), inside, before_threads);
      ::_exit(0);
    }
    channels_ = std::move(channels.ours);
  }
  ~ForkedReader() { kill(); }
  ForkedReader(const ForkedReader&) = delete;
  ForkedReader& operator=(const ForkedReader&) = delete;

  [[nodiscard]] pid_t number() const { return number_; }
  /// The daemon's ends. Call once.
  std::vector<ChannelEnd> take_channels() { return std::move(channels_); }
  /// The view at this end. Call once.
  std::unique_ptr<ReaderView> connect() {
    auto view = ReaderView::connect(take_channels());
    if (!view) std::abort();
    return *std::move(view);
  }
  void kill() {
    if (number_ <= 0) return;
    ::kill(number_, SIGKILL);
    wait();
  }
  /// Waits until it ends by itself.
  void wait() { ::waitpid(std::exchange(number_, -1), nullptr, 0); }

 private:
  pid_t number_ = -1;
  std::vector<ChannelEnd> channels_;
};

}  // namespace memstat
