// SPDX-License-Identifier: BSD-2-Clause
// What the sources of logs have in common: a table of events (core/model/kernel_log.h), made from the records that were
// added since the last read.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/base/buffer.h"
#include "core/base/result.h"
#include "core/kernel/kernel_view.h"
#include "core/model/kernel_log.h"
#include "core/model/staging.h"
#include "core/source.h"

namespace memstat::sources {

/// A log, and how its errors name it: views name a table after its source, people know its path.
struct EventLog {
  std::string_view source;
  std::string_view path;
};

/// A table that is written again only if records were added. It stays in the buffer that the caller passes at each read.
class EventLogReader : public TextTableSource {
 public:
  Result<void> read(Buffer& out) final {
    bool has_new = false;
    auto added = add_records(has_new);
    if (has_new) size_ = 0;
    if (!added) return added;
    if (size_ != 0 && out.size() == size_) return {};
    write(out);
    size_ = out.size();
    return {};
  }

 protected:
  /// Adds new records to the book. Sets `has_new` once it has added one, also if an error follows.
  virtual Result<void> add_records(bool& has_new) = 0;
  /// Replaces `out` with the book's table.
  virtual void write(Buffer& out) = 0;

 private:
  std::size_t size_ = 0;  // of the table as last written; 0: a record was added since
};

inline Result<void> under_its_path(const EventLog& log, Result<void> result) {
  if (!result && result.error().path == log.source) result.error().path = log.path;
  return result;
}

template <typename Reader>
struct EventLogState final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<Reader>();
};

/// Steps of a source. Errors: those of KernelView, under the log's path.
template <const EventLog& kLog, typename State>
Result<void> open_event_log(KernelView& view, RawBytes&, State& state) {
  return under_its_path(kLog, view.open_table(kLog.source, *state.table));
}
template <const EventLog& kLog, typename State>
Result<void> read_event_log(KernelView& view, RawBytes& raw, State& state) {
  return under_its_path(kLog, view.read_table(kLog.source, *state.table, raw.parts[0]));
}

/// Fills `table`, and keeps `text` as the log of an otherwise empty `staging`. Errors: kData.
inline Result<void> parse_event_log(const EventLog& log, std::string_view text, LogTable& table, Staging& staging) {
  staging.reset({}, 0);
  if (const auto offset = read_log_table(text, table))
    return data_error(log.path, *offset, "the table of events is truncated or malformed");
  staging.set_kernel_log(text);
  return {};
}

}  // namespace memstat::sources
