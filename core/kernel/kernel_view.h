// SPDX-License-Identifier: BSD-2-Clause
// The only door to the operating system. Sources read kernel figures through a KernelView and through nothing else, which is
// what lets a FreeBSD stream be decoded on Linux, a bug report be replayed, and a test fail the Nth read.
// Implementations: live_linux.cpp, live_freebsd.cpp (this machine), captured.h (a recording), recording.h and
// once_per_poll.h, which stand before another view (forwarding_view.h), and doubles in tests/support.
// Programs get theirs from open_view.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/result.h"

namespace memstat {

/// Which kernel a view shows (for a capture: the captured one, not the one that we run on).
enum class OperatingSystem { kLinux, kFreeBsd, kOther };

/// Ends each name of KernelView::list_directories; no name holds it.
inline constexpr char kEndOfName = '\0';

/// "linux", "freebsd" or "other", as in a capture's manifest.
std::string_view to_string(OperatingSystem os);

/// A data source that is neither a file nor a sysctl (counters, events): a table, which its source makes of descriptors of
/// its own. A view of this machine calls it. A capture has the table as text and never does. Thread safety: none; the kernel
/// view's caller sees to it, one table a reader.
class TextTableSource {
 public:
  TextTableSource() = default;
  TextTableSource(const TextTableSource&) = delete;
  TextTableSource& operator=(const TextTableSource&) = delete;
  virtual ~TextTableSource() = default;

  /// Opens what later reads need, with the privileges that they will not have. Errors: kNotPresent, kPermission, kIo.
  virtual Result<void> open() = 0;
  /// Writes the table as it is now into `out`. Errors: as open.
  virtual Result<void> read(Buffer& out) = 0;
  /// Writes what read() gave as the text of a recording, replacing what `text` held. By default read() gives text.
  virtual void write_text(std::string_view table, Buffer& text) const { text.assign(table); }
  /// Looks after what it has attached to the kernel, between two reads. Returns whether it wants to be asked again soon.
  virtual bool tend() { return false; }
};

/// Read access to one kernel's figures.
///
/// Errors of every read: kNotPresent (the kernel has no such thing), kPermission, kNoMemory, kIo, with path and errno.
/// A view overrides what its kernel has; every read that it does not override is kNotPresent.
/// On an error `out` may hold anything. Paths are absolute; sysctl names are dotted ("kern.malloc_stats").
/// Thread safety: reads may run in several threads at once, of the same path as well (a source that hangs keeps its thread
/// while a fresh one reads the other sources, which may want the same file). keep_open and open_table are called before the
/// first read only.
class KernelView {
 public:
  /// See read_numbers.
  using TakeNumber = std::function<bool(std::string_view name, const Result<std::string_view>& bytes)>;

  KernelView() = default;
  KernelView(const KernelView&) = delete;
  KernelView& operator=(const KernelView&) = delete;
  virtual ~KernelView() = default;

  [[nodiscard]] virtual OperatingSystem os() const = 0;
  /// Bytes in a page of the kernel shown. Never 0.
  [[nodiscard]] virtual std::uint64_t page_size() const = 0;
  /// One more than the highest CPU number present. At least 1. CPU numbers may have holes.
  [[nodiscard]] virtual std::uint32_t cpu_count() const = 0;
  /// Release of the kernel shown as uname(3) has it, such as "6.12.43+deb13-amd64"; "" when it is not known.
  [[nodiscard]] virtual std::string os_release() const { return {}; }

  /// What reads of this view are timed with.
  [[nodiscard]] virtual const Clock& clock() const { return system_clock(); }

  /// The whole file, read to its end in a loop (one read of /proc/slabinfo gives at most 4 KiB whatever the buffer).
  virtual Result<void> read_file(std::string_view path, Buffer& out);
  /// Whether reading the file is worth a try: false means that it cannot be opened now. For files that are mostly absent and
  /// are looked for again and again: the Linux view allocates nothing, a read that fails allocates its error. This one,
  /// which any view has, is true.
  [[nodiscard]] virtual bool may_read(std::string_view path);
  /// Where a symbolic link points, as written in the link.
  virtual Result<std::string> read_link(std::string_view path);
  /// Names in a directory without "." and "..", sorted.
  virtual Result<void> list_directory(std::string_view path, std::vector<std::string>& names);
  /// Names of the directories in a directory of /proc or /sys, in any order, each followed by a NUL, which no name holds.
  /// Links to directories need not be among them. For trees that are walked at every read: the Linux view allocates nothing
  /// in the steady state, and where the kernel counts no sub-directories it does not list the files either. This one, which
  /// any view has, tries each name that list_directory gives.
  virtual Result<void> list_directories(std::string_view path, Buffer& names);
  /// The raw bytes of one sysctl. `size_hint` is the size expected, in bytes (0: not known); a stream that grew meanwhile is
  /// read again with more room, a bounded number of times.
  virtual Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint);
  /// Calls `take` with what read_sysctl brings of each of `names`, numbers that are read together; in that order, until it
  /// gives false. This one, which any view has, reads them one by one into `scratch`. A view that another process reads for
  /// asks once for all of them.
  virtual void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take);
  /// Names of the sysctls below a prefix ("vm.uma"), sorted, complete with the prefix.
  virtual Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names);

  /// Opens the table of a source that reads no files, on this machine; a capture says whether it has it.
  virtual Result<void> open_table(std::string_view source, TextTableSource& table);
  /// The table's text: of this machine, what `table` reads; of a capture, NNNNNN/source/SOURCE.
  virtual Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out);

  /// Whether every poll must be whole: while polls are recorded, since a replay may begin with any of them. Sources then
  /// read again what they know already.
  [[nodiscard]] virtual bool wants_whole_polls() const { return false; }

  /// Whether reads show this machine as it is now, so that what seldom changes need not be read each time. A capture shows
  /// another moment at each poll, and may go back.
  [[nodiscard]] virtual bool reads_this_machine() const { return false; }

  /// Opens a file now and keeps it, so that read_file of it goes on working after privileges are dropped.
  /// Views without descriptors only say whether the file can be read.
  virtual Result<void> keep_open(std::string_view path);
  /// How many files are kept open. Views without descriptors: 0.
  [[nodiscard]] virtual std::size_t kept_count() const { return 0; }
  /// Closes what was kept after the first `count` files: the files of a source that could not be opened. Before the first
  /// read only, as keep_open.
  virtual void close_kept_after(std::size_t count);
};

/// What this process uses itself, for the process_* series. Fields that the system does not report are 0.
struct ProcessStats {
  double cpu_seconds = 0;            ///< User and system time since start.
  std::uint64_t resident_bytes = 0;  ///< Physical memory now.
  std::uint64_t virtual_bytes = 0;   ///< Address space now.
  std::uint64_t open_files = 0;      ///< Open descriptors now.
  std::uint64_t max_files = 0;       ///< Limit on them.
  double start_time_seconds = 0;     ///< Unix time.
};

/// Reads ProcessStats again and again; opens what it needs when it is made, before privileges are dropped.
/// Thread safety: none; one thread at a time.
class ProcessStatsReader {
 public:
  virtual ~ProcessStatsReader() = default;
  virtual ProcessStats read() = 0;
};

/// This machine's kernel, or nothing known of it on systems that we have no view for (kNotPresent).
Result<std::unique_ptr<KernelView>> make_live_kernel_view();
/// This process. Never null.
std::unique_ptr<ProcessStatsReader> make_process_stats_reader();

}  // namespace memstat
