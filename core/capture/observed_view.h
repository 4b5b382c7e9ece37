// SPDX-License-Identifier: BSD-2-Clause
// Base of views that forward every read to another view and keep what it returned.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/capture/poll_plan.h"
#include "core/kernel/forwarding_view.h"

namespace memstat {

/// How tables become text, by source.
using TableTexts = std::map<std::string, TextTableSource::WriteText, std::less<>>;

/// Converts the tables among the records.
void write_tables(const TableTexts& texts, std::span<PollRecord> records);

/// Shows the result of every read to `observe`, or `observe_standing` if a whole capture has it. Thread safety: as
/// KernelView; both may be called by several threads at once.
class ObservedKernelView : public ForwardingKernelView {
 public:
  explicit ObservedKernelView(KernelView& inner) : ForwardingKernelView(inner) {}

  Result<void> read_file(std::string_view path, Buffer& out) override;
  BaseDirectory open_base(std::string_view directory) override { return inner_.open_base(directory); }
  Result<void> read_at_base(const BaseDirectory& directory, std::string_view path, Buffer& out) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override;
  Result<void> list_directories(std::string_view path, Buffer& names) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override;
  Result<void> open_table(std::string_view source, TextTableSource& table) override;
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override;
  Result<void> keep_open(std::string_view path) override;

 protected:
  using Kind = PollRecord::Kind;

  /// Called when a read begins; `observe` gets what it returned.
  virtual std::uint64_t begin_read() { return 0; }
  /// A read has ended. `kind`: not an error. `system_errno` 0: it succeeded, with these bytes (a PollRecord's, but a table
  /// is not yet text); else it failed with what replays as the same error. Not called for something that is no link.
  virtual void observe(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes, int system_errno) = 0;
  /// A file (kFile) cannot be kept open, or a table (kTable) be opened, for as long as the view lives.
  virtual void observe_standing(Kind kind, std::string_view name, int system_errno) = 0;
  /// Of the tables that were opened.
  [[nodiscard]] TableTexts table_texts() const;

 private:
  void observe_result(std::uint64_t begun, Kind kind, std::string_view name, std::string_view bytes,
                      const Result<void>& result);

  Mutex listing_mutex_;
  Buffer listing_ MEMSTAT_GUARDED_BY(listing_mutex_);
  mutable Mutex texts_mutex_;
  TableTexts texts_ MEMSTAT_GUARDED_BY(texts_mutex_);
};

}  // namespace memstat
