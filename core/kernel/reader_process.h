// SPDX-License-Identifier: BSD-2-Clause
// Reads the kernel on behalf of a sandboxed process: client and server. A process in a sandbox (FreeBSD's capability mode)
// sends requests to a process that was forked before and has no network socket. That process reads the kernel and passes the
// raw bytes in shared memory (read_channel.h).
//
// Before the seal both processes are trusted: sources are opened through the view, one request after another on the first
// channel, and the reader records the requested names. After the seal the reader reads only these names, and what is below
// the listed prefixes, and serves every channel in a thread, so that a read that hangs in the kernel does not block the
// others.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/kernel/jail_counts.h"
#include "core/kernel/kernel_view.h"
#include "core/kernel/read_channel.h"

namespace memstat {

/// Constant properties of the reader's KernelView.
struct ReaderFacts {
  std::uint64_t page_size = 0;
  std::uint32_t cpu_count = 0;
  std::uint32_t os = 0;  ///< OperatingSystem
  std::uint32_t reads_this_machine = 0;
  std::uint32_t reserved = 0;  // no padding, so no uninitialized bytes are sent
  std::array<char, 256> release{};
};

/// Memory and start time of another process. The other fields are meaningless. Never null.
std::unique_ptr<ProcessStatsReader> make_process_stats_reader_of(pid_t process);

/// Serves read requests. Before the seal it is used by one thread, afterwards by any number, each with its own channel.
class ReadService {
 public:
  /// `view` must outlive it.
  explicit ReadService(KernelView& view);
  ReadService(const ReadService&) = delete;
  ReadService& operator=(const ReadService&) = delete;

  enum class End {
    kGone,  ///< the client is gone
    kSeal,  ///< the client requests the seal and waits for an answer
  };
  /// Answers requests until the channel ends. An invalid request is answered with an error and changes nothing.
  /// Allocates nothing in the steady state if the view does not.
  End serve(const ChannelEnd& channel);
  /// Allows only names that were requested before.
  void seal() { is_sealed_ = true; }

 private:
  struct Work;
  struct Answer;

  /// Requested names of files or sysctls. The value is the largest size read so far, in bytes.
  using Names = std::map<std::string, std::atomic<std::uint64_t>, std::less<>>;
  void record_name(const Work& work);
  [[nodiscard]] bool is_allowed(const Work& work) const;
  [[nodiscard]] std::uint64_t hint_of(const Work& work) const;
  Result<void> answer(const Work& work, Answer& into);
  Result<void> read(const Work& work, Answer& into);
  Result<void> read_sysctl(const Work& work, Answer& into);
  void read_numbers(std::string_view names, Answer& into);

  KernelView& view_;
  const std::unique_ptr<ProcessStatsReader> parent_;  // opened in the constructor, used by one thread at a time
  Mutex parent_mutex_;
  bool is_sealed_ = false;
  Names files_;
  Names sysctls_;
  Names prefixes_;  // prefixes of listed sysctls
};

/// Serves a ReaderView through the reader's ends of the channels until the client is gone. At the seal, while the process
/// has one thread, calls `before_threads`, which drops what is no longer needed; its error is returned to the client and
/// ends the service. On return, threads that hang in a read may still use `view`, so the process must end with _exit.
void serve_reads(std::vector<ChannelEnd> channels, KernelView& view,
                 const std::function<Result<void>()>& before_threads = {});

/// The client. Errors: those of the reader's view, unchanged; kPermission for a name that was not requested before the seal;
/// kIo if the reader is gone or violated the protocol (its channel is then abandoned); kTimeout if all channels hang. Tables
/// (TextTableSource) are made in this process. FreeBSD has no directories and links of statistics, so it shows none.
/// Thread safety: as KernelView; call seal() before there are threads. Reads allocate nothing in the steady state.
class ReaderView final : public KernelView {
 public:
  /// `channels`: the client's ends, whose other ends serve_reads has. From then on the process ignores SIGPIPE.
  /// Errors: kIo.
  static Result<std::unique_ptr<ReaderView>> connect(std::vector<ChannelEnd> channels);
  ~ReaderView() override;

  /// Forbids other names. Call once, before other threads read. Errors: that of the reader's before_threads; kIo.
  Result<void> seal();
  /// Whether the reader is still running, as far as the kernel reports. Once false, it stays false. Does not block.
  [[nodiscard]] bool is_alive();

  [[nodiscard]] OperatingSystem os() const override { return static_cast<OperatingSystem>(facts_.os); }
  [[nodiscard]] std::uint64_t page_size() const override { return facts_.page_size; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return facts_.cpu_count; }
  [[nodiscard]] std::string os_release() const override { return release_; }
  [[nodiscard]] bool reads_this_machine() const override { return facts_.reads_this_machine != 0; }
  Result<void> read_file(std::string_view path, Buffer& out) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override;
  Result<void> read_jail_counts(std::string_view jail, Buffer& out) override;
  Result<void> open_table(std::string_view source, TextTableSource& table) override;
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override;

  /// Counts of jails come through `counts`, if the kernel has any for them. Call before other threads read.
  void get_jail_counts_from(std::shared_ptr<JailCounts> counts) { jail_counts_ = std::move(counts); }

  /// Memory and start time of this process, which a sandbox may hide. The other fields are meaningless. 0: no longer known.
  [[nodiscard]] ProcessStats process_stats() const;

 private:
  class Channel;
  class Lease;

  ReaderView() = default;
  Result<void> request_facts();
  /// Sends a request on a free channel. The answer is in `out`.
  Result<void> request(ReadRequest::Word word, std::string_view name, std::uint64_t number, Buffer& out) const;

  std::atomic<bool> is_gone_ = false;
  mutable Mutex mutex_;  // never held while waiting for an answer
  std::vector<std::unique_ptr<Channel>> channels_;
  std::size_t served_ MEMSTAT_GUARDED_BY(mutex_) = 1;  // channels in use, from the first
  ReaderFacts facts_;
  std::string release_;
  std::shared_ptr<JailCounts> jail_counts_;
};

}  // namespace memstat
