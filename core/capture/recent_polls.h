// SPDX-License-Identifier: BSD-2-Clause
// A kernel view that forwards every read to another view and remembers the last polls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/capture/archive_stream.h"
#include "core/capture/manifest.h"
#include "core/capture/poll_ring.h"
#include "core/kernel/forwarding_view.h"

namespace memstat {

/// Unlike a recording, it does not change what is read, and writes nothing until asked. Thread safety: reads as in
/// KernelView; end_poll by the polling thread; copy() by any.
class RecentPolls final : public ForwardingKernelView {
 public:
  /// `clock` must outlive it.
  RecentPolls(std::shared_ptr<KernelView> inner, std::size_t max_bytes, const Clock& clock);

  /// Call after the sources were opened, before the first poll.
  void end_opening();
  /// The reads since the last call were a poll.
  void end_poll(std::string_view label);
  [[nodiscard]] PollRing copy() const;
  /// Of this machine.
  [[nodiscard]] const CaptureManifest& manifest() const { return manifest_; }

  Result<void> read_file(std::string_view path, Buffer& out) override;
  BaseDirectory open_base(std::string_view directory) override { return inner_.open_base(directory); }
  Result<void> read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override;
  Result<void> list_directories(std::string_view path, Buffer& names) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  Result<void> open_table(std::string_view source, TextTableSource& table) override;
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override;
  Result<void> keep_open(std::string_view path) override;

 private:
  using Kind = PollRecord::Kind;
  void add(Kind kind, std::string_view name, std::string_view bytes, const Result<void>& result);

  std::shared_ptr<KernelView> owned_;
  const Clock& clock_;
  const CaptureManifest manifest_;
  Mutex text_mutex_;
  Buffer text_ MEMSTAT_GUARDED_BY(text_mutex_);  // of a listing or a table
  mutable Mutex mutex_;
  PollRing ring_ MEMSTAT_GUARDED_BY(mutex_);
  bool is_in_poll_ MEMSTAT_GUARDED_BY(mutex_) = false;
  PollInfo info_ MEMSTAT_GUARDED_BY(mutex_);
};

/// Writes the polls of `ring` as a capture, after a file NAME with `note`, which a capture's readers ignore.
Result<void> write_polls(const PollRing& ring, const CaptureManifest& manifest, std::string_view note_name,
                         std::string_view note, ArchiveSink& sink);

}  // namespace memstat
