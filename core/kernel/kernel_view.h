// SPDX-License-Identifier: BSD-2-Clause
// The only access to the operating system. Sources read kernel statistics only through a KernelView. So a FreeBSD
// stream can be decoded on Linux, a bug report can be replayed, and a test can make the Nth read fail. Implementations:
// live_linux.cpp, live_freebsd.cpp (this machine), core/capture/replay_view.h (a recording), core/capture/recording_view.h
// and once_per_poll.h, which wrap another view (forwarding_view.h), and test doubles in tests/support. Programs get theirs
// from open_view.h.
#pragma once

#include <cerrno>
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
#include "core/base/unique_fd.h"

namespace memstat {

/// The kernel that a view shows; for a capture, the captured one.
enum class OperatingSystem { kLinux, kFreeBsd, kOther };

/// Terminates each name in KernelView::list_directories; no name contains it.
inline constexpr char kEndOfName = '\0';

/// "linux", "freebsd" or "other", as in the manifest of a capture.
std::string_view to_string(OperatingSystem os);

class KernelView;

/// A data source that is neither a file nor a sysctl (counters, events): a table, which its source makes from its own
/// descriptors. Live views call it; captures have the table as text. Thread safety: none; the view's caller ensures one
/// reader per table.
class TextTableSource {
 public:
  TextTableSource() = default;
  TextTableSource(const TextTableSource&) = delete;
  TextTableSource& operator=(const TextTableSource&) = delete;
  virtual ~TextTableSource() = default;

  /// Acquires what later reads need, while privileges are available. Errors: kNotPresent, kPermission, kIo.
  virtual Result<void> open() = 0;
  /// Writes the current table to `out`. Errors: those of open().
  virtual Result<void> read(Buffer& out) = 0;
  /// open() and read() of a table that is made from reads of the calling live view; a recording stores only the table.
  /// open_on() reads everything that read_on() will, because a reader process allows no other names later. The defaults are
  /// for tables with descriptors of their own.
  virtual Result<void> open_on(KernelView& /*machine*/) { return open(); }
  virtual Result<void> read_on(KernelView& /*machine*/, Buffer& out) { return read(out); }
  /// Converts the result of read() to text for a recording, replacing `text`. May be called when the table is gone.
  using WriteText = std::function<void(std::string_view table, Buffer& text)>;
  /// nullptr: read() returns text.
  [[nodiscard]] virtual WriteText text_writer() const { return nullptr; }
  /// Maintains what is attached to the kernel, between two reads. Returns whether it should be called again soon.
  virtual bool tend() { return false; }
};

/// A directory below which many files are about to be read. Do not keep it: while it is open, its file system cannot be
/// unmounted.
struct BaseDirectory {
  std::size_t path_size = 0;
  UniqueFd descriptor;  ///< None: files are looked up by their whole path.
};

/// Read access to the statistics of one kernel.
///
/// Errors of every read: kNotPresent (the kernel has no such thing), kPermission, kNoMemory, kIo, with path and errno.
/// A view overrides the reads that its kernel supports; the others return kNotPresent.
/// On error the content of `out` is unspecified. Paths are absolute; sysctl names are dotted ("kern.malloc_stats").
/// Thread safety: reads may run in several threads at once, even of the same path: a hanging source keeps its thread while
/// a new thread reads the other sources, which may need the same file. keep_open and open_table are called before the first
/// read only.
class KernelView {
 public:
  /// See read_numbers.
  using TakeNumber = std::function<bool(std::string_view name, const Result<std::string_view>& bytes)>;

  KernelView() = default;
  KernelView(const KernelView&) = delete;
  KernelView& operator=(const KernelView&) = delete;
  virtual ~KernelView() = default;

  [[nodiscard]] virtual OperatingSystem os() const = 0;
  /// Page size of this kernel in bytes. Never 0.
  [[nodiscard]] virtual std::uint64_t page_size() const = 0;
  /// The highest present CPU number plus one; at least 1. CPU numbers may have gaps.
  [[nodiscard]] virtual std::uint32_t cpu_count() const = 0;
  /// The kernel's release as in uname(3), such as "6.12.43+deb13-amd64"; "" if unknown.
  [[nodiscard]] virtual std::string os_release() const { return {}; }

  /// The clock for timing reads.
  [[nodiscard]] virtual const Clock& clock() const { return system_clock(); }

  /// Reads the whole file in a loop (one read of /proc/slabinfo returns at most 4 KiB, whatever the buffer).
  virtual Result<void> read_file(std::string_view path, Buffer& /*out*/) { return system_error(path, ENOENT); }
  /// Opens a directory for read_at_base(). Views that have nothing to gain return one without a descriptor, as by default.
  virtual BaseDirectory open_base(std::string_view /*directory*/) { return {}; }
  /// As read_file(), for a file below that directory; faster on Linux. `path` is the whole path. The default is read_file().
  virtual Result<void> read_at_base(const BaseDirectory& /*directory*/, std::string_view path, Buffer& out) {
    return read_file(path, out);
  }
  /// Whether the file may be readable; false means that it cannot be opened now. For files that are usually absent and
  /// looked for repeatedly: on Linux this does not allocate, whereas a failed read allocates its error. The default is
  /// true.
  [[nodiscard]] virtual bool may_read(std::string_view /*path*/) { return true; }
  /// The target of a symbolic link, as stored in the link.
  virtual Result<std::string> read_link(std::string_view path) { return system_error(path, ENOENT); }
  /// st_size of a file or directory.
  virtual Result<std::uint64_t> file_size(std::string_view path) { return system_error(path, ENOENT); }
  /// Names in a directory without "." and "..", sorted.
  virtual Result<void> list_directory(std::string_view path, std::vector<std::string>& /*names*/) {
    return system_error(path, ENOENT);
  }
  /// Names of the directories within a directory of /proc or /sys, in any order, each followed by a NUL. May omit links
  /// to directories. For trees that are walked at every read: on Linux it does not allocate in the steady state, and it
  /// skips directories whose link count shows no sub-directories. The default tries each name from list_directory().
  virtual Result<void> list_directories(std::string_view path, Buffer& names);
  /// A number that changes when a control group comes or goes; 0 if that is not known now, as by default.
  [[nodiscard]] virtual std::uint64_t group_generation() { return 0; }
  /// The raw bytes of a sysctl. `size_hint`: the expected size in bytes (0: unknown). If it has grown, it is read again
  /// with more room, a bounded number of times.
  virtual Result<void> read_sysctl(std::string_view name, Buffer& /*out*/, std::size_t /*size_hint*/) {
    return system_error(name, ENOENT);
  }
  /// Reads sysctls that are numbers and calls `take` for each, in the order of `names`, until it returns false. The
  /// default reads them one by one into `scratch`. A view with a reader process requests all of them at once.
  virtual void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take);
  /// The full names of all sysctls below a prefix ("vm.uma"), sorted.
  virtual Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& /*names*/) {
    return system_error(prefix, ENOENT);
  }

  /// What the kernel counts for a jail and its limits, with the kernel's words: a line "cputime=0,memoryuse=4096,..."
  /// (rctl_get_racct(2)), then one for each rule, "maxproc:deny=20" (rctl_get_rules(2)). FreeBSD only. Errors: kNotPresent
  /// if it does not count (kern.racct.enable), kPermission for all but root, kIo if there is no such jail.
  virtual Result<void> read_jail_counts(std::string_view jail, Buffer& /*out*/) { return system_error(jail, ENOENT); }

  /// Opens a source's table on this machine. For a capture: checks that it has the table.
  virtual Result<void> open_table(std::string_view source, TextTableSource& /*table*/) {
    return system_error(source, ENOENT);
  }
  /// Reads a table: from `table` on this machine, from NNNNNN/source/SOURCE in a capture.
  virtual Result<void> read_table(std::string_view source, TextTableSource& /*table*/, Buffer& /*out*/) {
    return system_error(source, ENOENT);
  }

  /// Whether each poll must be complete, because polls are being recorded and a replay may start with any of them.
  /// Sources then read even data that they have already.
  [[nodiscard]] virtual bool wants_whole_polls() const { return false; }

  /// Whether reads show this machine now, so that slowly changing data can be skipped. A capture shows another moment
  /// at each poll, and may go back in time.
  [[nodiscard]] virtual bool reads_this_machine() const { return false; }

  /// Opens a file now and keeps it open, so that read_file() works after privileges are dropped. Views without
  /// descriptors only check that the file is readable.
  virtual Result<void> keep_open(std::string_view path) { return system_error(path, ENOENT); }
  /// Number of files kept open; 0 for views without descriptors.
  [[nodiscard]] virtual std::size_t kept_count() const { return 0; }
  /// Closes all kept files after the first `count`: those of a source that could not be opened. Call before the first
  /// read only, like keep_open.
  virtual void close_kept_after(std::size_t /*count*/) {}
};

/// Resource usage of this process, for the process_* series. Unavailable fields are 0.
struct ProcessStats {
  double cpu_seconds = 0;            ///< User and system time since the start.
  std::uint64_t resident_bytes = 0;  ///< Physical memory now.
  std::uint64_t virtual_bytes = 0;   ///< Address space now.
  std::uint64_t open_files = 0;      ///< Open descriptors now.
  std::uint64_t max_files = 0;       ///< Maximum number of open descriptors.
  double start_time_seconds = 0;     ///< Unix time.
};

/// Reads ProcessStats repeatedly. The constructor opens what is needed, before privileges are dropped.
class ProcessStatsReader {
 public:
  virtual ~ProcessStatsReader() = default;
  virtual ProcessStats read() = 0;
};

/// A view of this machine. Its reads return kNotPresent on unsupported operating systems.
Result<std::unique_ptr<KernelView>> make_live_kernel_view();
/// For this process. Never null.
std::unique_ptr<ProcessStatsReader> make_process_stats_reader();

}  // namespace memstat
