// SPDX-License-Identifier: BSD-2-Clause
// Where reports have their figures from: a kernel, a capture or a running memstatd, alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/diagnosis/diagnose.h"
#include "core/include/memstat.h"
#include "daemon/ctl/source/type_row.h"
#include "daemon/ctl/source/url.h"

namespace memstat::ctl {

/// Whose memory it is, for people. Empty members are not known.
struct Machine {
  std::string host;
  std::string os;       ///< "linux", "freebsd"
  std::string release;  ///< of the kernel
  std::string machine;  ///< "x86_64", "amd64"
  std::string replay;   ///< The capture that is read; empty: a live kernel.
};

/// The machine's memory in bytes: total = used + free + unaccounted.
struct MachineMemory {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::int64_t unaccounted = 0;            ///< Below 0 when figures moved while they were read.
  std::optional<std::uint64_t> available;  ///< The kernel's estimate.
};

/// The figures of one moment. Thread safety: a plain value.
struct Sample {
  std::int64_t time_ns = 0;  ///< When they were read from the kernel, since 1970 (UTC).
  std::int64_t monotonic_ns =
      0;              ///< The same, of a poll that was selected, by a clock that is never set: for the time between.
  std::string label;  ///< Of the poll of a capture, for people; "" for none.
  std::vector<TypeRow> types;
  std::optional<MachineMemory> memory;  ///< None: not known.
  std::string problem;                  ///< Why there is no type at all, for people; "" when there are.
  std::vector<std::string> missing;  ///< What of the kernel could not be read, and what would permit it: lines for people.
  std::vector<std::string> notes;    ///< What of the capture is damaged: lines for people.

  /// Whether there is nothing but a problem.
  [[nodiscard]] bool is_failed() const { return types.empty() && !problem.empty(); }
};

/// One figure of a type, apart by CPU or by node.
struct Split {
  std::string title;  ///< "free_objects"
  bool is_bytes = false;
  std::vector<std::optional<std::uint64_t>> values;  ///< By the number of the CPU or node; none: there is no such CPU.
};

/// What is known of one type apart by CPU and by node.
struct Splits {
  std::vector<Split> cpus;
  std::vector<Split> nodes;
  std::string problem;  ///< Why there is nothing, for people; "" also when the kernel has nothing.
};

/// Recorded amounts of one type, oldest first: bytes, or objects where its bytes are not known.
using AmountHistory = std::vector<std::optional<std::uint64_t>>;

// The documents of /api/v1/growth, events and findings, whether a memstatd sent them or this process made them. A parser
// says false when the bytes, which may come from anybody, are no such document.

/// One amount that is larger than at the start of the window.
struct GrowthRow {
  std::string allocator;  ///< "account" for parts of all memory
  std::string name;
  bool is_bytes = true;  ///< false: objects
  std::int64_t now = 0;
  std::int64_t grew = 0;
  double per_second = 0;
  double confidence = 0;  ///< 1 less the probability that chance alone rises as clearly
  double rising = 0;      ///< share of the changes that are rises
  std::optional<double> limit_seconds = {};
  std::optional<double> memory_seconds = {};
  std::string shape;              ///< "steady", "step", ...
  std::string why;                ///< Why it is set aside, as words that follow "it".
  std::vector<std::string> with;  ///< Types that grow by as many objects.
};

/// Thread safety: a plain value, as all here.
struct GrowthAnswer {
  std::size_t polls = 0;
  double seconds = 0;  ///< from the first poll to the last
  bool is_enough = false;
  std::vector<GrowthRow> growing;
  std::vector<GrowthRow> set_aside;
  std::string problem;  ///< Why there is no answer, for people; "" when there is.
};

bool parse_growth_answer(std::string_view json, GrowthAnswer& answer);

/// An event of the kernel's log.
struct EventRow {
  std::optional<double> time;  ///< Seconds since 1970; nothing: the kernel's start is not known.
  double since_boot = 0;       ///< s
  std::string event;           ///< "oom_kill"
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<std::string> lines;
};

/// Thread safety: a plain value.
struct EventsAnswer {
  bool has_log = false;          ///< False: the log was not read.
  std::vector<EventRow> events;  ///< Oldest first.
  std::string problem;           ///< Why there is no answer, for people; "" when there is.
};

bool parse_events_answer(std::string_view json, EventsAnswer& answer);

struct FindingsAnswer {
  Diagnosis diagnosis;
  std::string problem;  ///< Why there is none, for people; "" when there is.
};
bool parse_findings_answer(std::string_view json, Diagnosis& diagnosis);

/// One place to have figures from. Errors are in what is given back, as text for people. Throws std::bad_alloc.
/// Thread safety: none.
class ReportSource {
 public:
  ReportSource() = default;
  ReportSource(const ReportSource&) = delete;
  ReportSource& operator=(const ReportSource&) = delete;
  virtual ~ReportSource() = default;

  /// Reads the kernel now, the selected poll of a capture, or the last poll of a daemon.
  virtual Sample read() = 0;
  /// To be called after read().
  [[nodiscard]] virtual Machine machine() = 0;
  /// Figures of that type apart, as of the last read().
  virtual Splits splits(const TypeRow& type) = 0;

  /// What else than the kernel may be why a type has no figures apart, for the end of a sentence; "" for nothing.
  [[nodiscard]] virtual std::string hint_without_splits() const { return {}; }

  /// How many polls the capture has; 0: it is none, and each read() sees a later moment.
  [[nodiscard]] virtual std::size_t poll_count() { return 0; }
  /// The poll, below poll_count(), that read() reads. "" or why not.
  virtual std::string select_poll(std::size_t /*poll*/) { return "this is no capture, so it has no polls to choose from"; }

  /// What a daemon, or the polls so far of a capture, has of each type in the last `seconds`: `points` amounts in the order
  /// of the last read()'s types, empty for a type without. Nothing where nothing is remembered.
  virtual std::vector<AmountHistory> history(unsigned /*seconds*/, unsigned /*points*/) { return {}; }

  /// What grew within the last `seconds`: of the polls that read() made, or of those that a memstatd remembers.
  virtual GrowthAnswer growth(std::int64_t /*seconds*/) { return {}; }
  /// The events of the kernel's log as of the last read().
  virtual EventsAnswer events() { return {}; }
  /// What is wrong as of the last read().
  virtual FindingsAnswer findings() { return {.diagnosis = {}, .problem = "nothing here looks for causes"}; }
  /// Whether growth() knows of polls from before the first read().
  [[nodiscard]] virtual bool remembers() const { return false; }
};

/// A source, or why there is none.
struct OpenedSource {
  std::unique_ptr<ReportSource> source;  ///< Null exactly when there is a problem.
  std::string problem;
};
/// Opens the memstatd at that URL; reads nothing yet.
OpenedSource open_daemon(const std::string& url);

/// Opens several memstatds as one source, whose rows have a host: each reads at the same time as the others, and one that
/// does not answer is a problem beside the rows of the rest.
OpenedSource open_fleet(const std::vector<std::string>& urls);

/// What a memstatd serves at a path, or why it does not.
struct DaemonAnswer {
  std::string text;
  std::string problem;  ///< For people, with the URL; "" exactly when there is an answer.
};
/// Asks the memstatd at that URL for `path`, which begins with a slash.
DaemonAnswer ask_daemon(const std::string& url, std::string_view path);

/// What is meant where no source was given: MEMSTAT_CAPTURE when it is set, else live.
std::string reference_or_default(const std::optional<std::string>& reference);

/// Opens what users write: "live", CAPTURE, CAPTURE@POLL or a URL. None: MEMSTAT_CAPTURE when it is set, else live.
OpenedSource open_source(const std::optional<std::string>& reference);

}  // namespace memstat::ctl
