// SPDX-License-Identifier: BSD-2-Clause
// The origin of the figures in reports: a kernel, a capture or a running memstatd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/not_copyable.h"
#include "core/diagnosis/diagnose.h"
#include "core/include/memstat.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/prometheus.h"
#include "daemon/ctl/source/type_figures.h"
#include "daemon/snapshot/growth_report.h"
#include "daemon/snapshot/kernel_events.h"
#include "daemon/snapshot/snapshot.h"

namespace memstat::ctl {

/// Identifies the machine, for display. Unknown members are empty.
struct Machine {
  std::string host;
  std::string os;       ///< "linux", "freebsd"
  std::string release;  ///< the kernel's release
  std::string machine;  ///< "x86_64", "amd64"
  std::string replay;   ///< The capture that is read; empty: a live kernel.
};

/// The machine's memory in bytes: total = used + free + unaccounted.
struct MachineMemory {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::int64_t unaccounted = 0;            ///< Negative if figures changed while they were read.
  std::optional<std::uint64_t> available;  ///< The kernel's estimate.
};

/// The figures at one moment.
struct Sample {
  std::int64_t time_ns = 0;       ///< Time of reading from the kernel, in ns since 1970 (UTC).
  std::int64_t monotonic_ns = 0;  ///< Monotonic time of a selected poll, for intervals.
  std::string label;              ///< Label of a capture's poll; "" for none.
  std::vector<TypeRow> types;
  std::optional<MachineMemory> memory;      ///< Empty: unknown.
  std::string problem;                      ///< Why there are no types at all; "" if there are.
  std::vector<std::string> missing;         ///< Unreadable parts, and the missing permissions, for display.
  std::vector<std::string> unscraped = {};  ///< Figures of types that a server does not have, for display.
  std::vector<std::string> notes;           ///< Damage in the capture, for display.

  /// Whether there is only an error.
  [[nodiscard]] bool is_failed() const { return types.empty() && !problem.empty(); }
};

/// One figure of a type by CPU or by node.
struct Split {
  std::string title;  ///< "free_objects"
  bool is_bytes = false;
  std::vector<std::optional<std::uint64_t>> values;  ///< By CPU or node number; empty: no such CPU or node.
};

/// The figures of one type by CPU and by node.
struct Splits {
  std::vector<Split> cpus;
  std::vector<Split> nodes;
  std::string problem;  ///< Why there are none, for display; "" also if the kernel has none.
};

/// Recorded amounts of one type, oldest first: in bytes, or in objects if bytes are unknown.
using AmountHistory = std::vector<std::optional<std::uint64_t>>;

// Parsers of the documents of /api/v1/growth, events and findings. They return false if the untrusted bytes are not such a
// document.

bool parse_growth_answer(std::string_view json, GrowthAnswer& answer);
bool parse_events_answer(std::string_view json, EventsAnswer& answer);

struct FindingsAnswer {
  Diagnosis diagnosis;
  std::string problem;  ///< Why there is none, for display; "" if there is one.
};
bool parse_findings_answer(std::string_view json, Diagnosis& diagnosis);

/// A source of figures. Errors are in the results, as text for display. Throws std::bad_alloc.
class ReportSource : public Interface {
 public:
  /// Reads the kernel now, the selected poll of a capture, or a daemon's last poll.
  virtual Sample read() = 0;
  /// Call after read().
  [[nodiscard]] virtual Machine machine() = 0;
  /// The figures of a type by CPU and node, as of the last read().
  virtual Splits splits(const TypeRow& type) = 0;

  /// Why a type has no figures by CPU and node.
  [[nodiscard]] virtual std::string why_no_splits(std::string_view type) const {
    return "the kernel does not count " + std::string(type) + " by CPU or by node";
  }

  /// Number of polls in the capture; 0: not a capture, and each read() returns a later state.
  [[nodiscard]] virtual std::size_t poll_count() { return 0; }
  /// The first poll of a capture in the last `seconds` before its last one, or at all, and since the machine was started.
  [[nodiscard]] virtual std::size_t first_poll_since(std::optional<std::int64_t> /*seconds*/) { return 0; }
  /// Selects the poll for read(), below poll_count(). Returns "" or an error.
  virtual std::string select_poll(std::size_t /*poll*/) { return "this is not a capture, so it has no polls to select"; }

  /// The history of each type in the last `seconds`, from a daemon or from the polls of a capture so far: `points` amounts
  /// in the order of the last read()'s types, empty for a type without. Empty if there is no history.
  virtual std::vector<AmountHistory> history(unsigned /*seconds*/, unsigned /*points*/) { return {}; }

  /// Growth within the last `seconds`, in the polls of read() or those that a memstatd remembers.
  virtual GrowthAnswer growth(std::int64_t /*seconds*/) { return {}; }
  /// The events in the kernel's log as of the last read().
  virtual EventsAnswer events() { return {}; }
  /// The findings as of the last read().
  virtual FindingsAnswer findings() { return {.diagnosis = {}, .problem = "there are no findings here"}; }
  /// The most urgent finding, if it is available without another read.
  virtual std::optional<Finding> first_finding() {
    FindingsAnswer answer = findings();
    if (answer.diagnosis.findings.empty()) return std::nullopt;
    return std::move(answer.diagnosis.findings.front());
  }
  /// Whether growth() includes polls from before the first read().
  [[nodiscard]] virtual bool remembers() const { return false; }
};

/// A source, or an error.
struct OpenedSource {
  std::unique_ptr<ReportSource> source;  ///< Null if there is a problem, and only then.
  std::string problem;
};
/// Opens the memstatd at a URL. Does not read yet.
OpenedSource open_daemon(const std::string& url);

/// Opens several memstatds as one source, whose rows have a host. They are read in parallel; one that does not answer
/// is a problem in addition to the others' rows.
OpenedSource open_fleet(const std::vector<std::string>& urls);

/// A memstatd's answer for a path, or an error.
struct DaemonAnswer {
  std::string text;
  std::string problem;  ///< For display, with the URL; "" if there is an answer, and only then.
};
/// Where the memstatd of this machine listens by default.
inline constexpr const char* kThisDaemon = "http://127.0.0.1:8947";
/// Gets `path`, which begins with a slash, from the memstatd at a URL.
DaemonAnswer ask_daemon(const std::string& url, std::string_view path);

/// The default reference: MEMSTAT_CAPTURE if it is set, otherwise live.
std::string reference_or_default(const std::optional<std::string>& reference);

/// Opens a host in a Prometheus-compatible server at prometheus:URL, the only one that the options select.
std::unique_ptr<ReportSource> open_prometheus(const std::string& reference, const ServerOptions& options);

/// Opens a user's reference: "live", CAPTURE, CAPTURE@POLL, a URL or prometheus:URL. Empty: MEMSTAT_CAPTURE if it is set,
/// otherwise live.
OpenedSource open_source(const std::optional<std::string>& reference, const ServerOptions& server = {});

/// All rows in the snapshot's order. Throws std::bad_alloc.
std::vector<TypeRow> rows_of(const Snapshot& snapshot);

/// The values of one type by CPU and by node; empty if the snapshot does not have the type.
Splits splits_of(const Snapshot& snapshot, const TypeRow& type);

}  // namespace memstat::ctl
