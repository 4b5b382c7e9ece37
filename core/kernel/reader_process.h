// SPDX-License-Identifier: BSD-2-Clause
// Reading the kernel for a process that may not: both ends. A process that has shut itself in (FreeBSD's capability mode)
// asks another one, forked before and without a socket to the network, which reads and hands over the raw bytes in shared
// memory.
//
// At first both are trusted: sources are opened through the view, one request after another, and the reader learns which
// names they ask for. Then the view is sealed. From then on the reader reads these names, what lies below the prefixes and
// directories that were listed, and nothing else; and there are several channels, each with a thread and memory of its own,
// so that a read that hangs in the kernel holds up no other.
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
#include <vector>

#include "core/base/mutex.h"
#include "core/base/packet_socket.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/kernel/kernel_view.h"

namespace memstat {

/// Reads at a time, once sealed. As many descriptors go in one message.
inline constexpr std::size_t kReadChannels = kMaxPacketDescriptors;
/// B, of a name in a request.
inline constexpr std::size_t kMaxReadName = 4095;
/// B, of the texts of an error in an answer; what is longer is cut.
inline constexpr std::size_t kMaxReadText = 1024;
/// B, of what is handed over in one piece: more than any KernelView reads.
inline constexpr std::uint64_t kMaxReadMemory = (1ULL << 30) + (1ULL << 28);

/// B, of shared memory that both ends keep from one read to the next. Where more is expected or comes, memory is made for
/// that answer: the reader has the kernel write into it, seals it and keeps nothing, and the other end's buffer is a mapping
/// of it, so that the megabytes of kern.malloc_stats are there once during a poll, and not at all between polls.
inline constexpr std::size_t kMaxKeptMemory = std::size_t{1} << 20U;

/// What goes to the reader: this, and then the name, in one message.
struct ReadRequest {
  enum Word : std::uint32_t {
    kFacts = 1,  ///< What KernelView says of itself, as ReaderFacts. The first request.
    kFile,
    kMayRead,  ///< A byte, 0 or 1.
    kLink,
    kDirectory,    ///< Names, each followed by a NUL.
    kDirectories,  ///< As kDirectory.
    kSysctl,
    kSysctls,    ///< As kDirectory.
    kKeepOpen,   ///< Before the seal only, as the next three.
    kKeptCount,  ///< Eight bytes.
    kCloseKept,  ///< `number`: how many stay.
    kProcess,    ///< ProcessStats of the asking process, whose child the reader is. At any time.
    kSeal,       ///< The answer brings the channels, and this socket takes no more requests.
    kNumbers,    ///< Sysctls: names, each followed by a NUL. For each the size of its bytes (32 bits), and the bytes; or
                 ///< kNoNumber where it is to be asked for by itself, because it is long or was not read.
  };
  std::uint32_t word = 0;
  std::uint32_t name_size = 0;  ///< B
  std::uint64_t number = 0;     ///< Of kSysctl: the size expected, in bytes.
  std::uint64_t memory = 0;     ///< B, of the memory of this channel that the asker has.
};

inline constexpr std::uint32_t kNoNumber = 0xFFFFFFFF;
/// B, of all sysctls of one kNumbers: the others are asked for by themselves.
inline constexpr std::size_t kMaxNumbers = 128U << 10U;

/// What comes back: this, then the path of the error and its detail, in one message. With one descriptor if, and only if,
/// the data is in other memory than the asker has; the answer to kSeal brings kReadChannels of them.
struct ReadAnswer {
  static constexpr std::uint32_t kIsError = 1;
  static constexpr std::uint32_t kHasOffset = 2;
  static constexpr std::uint32_t kIsItsName = 4;  ///< The error's path is the name in the request; none follows.
  std::uint32_t flags = 0;
  std::int32_t code = 0;  ///< ErrorCode
  std::int32_t system_errno = 0;
  std::uint16_t path_size = 0;
  std::uint16_t detail_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;    ///< B, of the data, from the start of the memory.
  std::uint64_t memory = 0;  ///< B, of the memory that comes along; 0: none does.
};

/// See KernelView.
struct ReaderFacts {
  std::uint64_t page_size = 0;
  std::uint32_t cpu_count = 0;
  std::uint32_t os = 0;  ///< OperatingSystem
  std::uint32_t reads_this_machine = 0;
  std::uint32_t reserved = 0;  // no padding, so no uninitialized bytes are sent
  std::array<char, 256> release{};
};

/// Memory and start of another process, as ProcessStats; the rest of them is of no use. Never null.
std::unique_ptr<ProcessStatsReader> make_process_stats_reader_of(pid_t process);

class AnswerMemory;

/// What a reader does for each request. Before the seal one thread uses it; then any number may, each with a socket of its
/// own.
class ReadService {
 public:
  /// `view` must outlive it.
  explicit ReadService(KernelView& view);
  ReadService(const ReadService&) = delete;
  ReadService& operator=(const ReadService&) = delete;

  enum class End {
    kGone,  ///< The other end is closed.
    kSeal,  ///< It asks for the seal, and waits for an answer.
  };
  /// Answers what comes on the socket until it is to end. What is no request is answered with an error and changes nothing.
  /// Allocates nothing in the steady state where the view does not.
  End serve(int socket);
  /// From here on only what was asked for is read.
  void seal() { is_sealed_ = true; }

 private:
  struct Work;

  /// What was asked for by one name, files or sysctls. `largest`: B, of its data.
  using Names = std::map<std::string, std::atomic<std::uint64_t>, std::less<>>;
  void learn(const Work& work);
  [[nodiscard]] bool is_allowed(const Work& work) const;
  [[nodiscard]] std::uint64_t hint_of(const Work& work) const;
  /// What it reads is in the memory that is to be sent, unless there is an error.
  Result<void> answer(const Work& work, AnswerMemory& memory);
  Result<void> read(const Work& work, AnswerMemory& memory);
  Result<void> read_sysctl(const Work& work, AnswerMemory& memory);
  void read_numbers(std::string_view names, AnswerMemory& memory);

  KernelView& view_;
  const std::unique_ptr<ProcessStatsReader> parent_;  // opened now, used by one thread at a time
  Mutex parent_mutex_;
  bool is_sealed_ = false;
  Names files_;
  Names sysctls_;
  Names directories_;  // that were listed
  Names prefixes_;     // of sysctls that were listed
};

/// Serves a ReaderView until the other end of `socket` is closed. At the seal, while there is still one thread, calls
/// `before_threads`, which gives up what is not needed any more; an error of it is the seal's, and the end.
/// When this returns, threads that hang in a read may be left behind, which use `view`: the process must end with _exit.
void serve_reads(int socket, KernelView& view, const std::function<Result<void>()>& before_threads = {});

/// The other end. Errors: those of the view that the reader reads through, in the same words; kPermission for what was not
/// asked for before the seal; kIo when the reader is gone, or answers what it was not asked (its channel is then used no
/// more), or all channels hang. Tables (TextTableSource) are made in this process.
/// Thread safety: as KernelView; seal() before there are threads. Reads allocate nothing in the steady state.
class ReaderView final : public KernelView {
 public:
  /// `socket`: with serve_reads behind it. Errors: kIo.
  static Result<std::unique_ptr<ReaderView>> connect(UniqueFd socket);
  ~ReaderView() override;

  /// No other names from now on. Once, before threads read. Errors: what the reader's before_threads says; kIo.
  Result<void> seal();
  /// Whether the reader is there, as far as the kernel knows; false is for good. Does not wait.
  [[nodiscard]] bool is_alive();

  [[nodiscard]] OperatingSystem os() const override { return os_; }
  [[nodiscard]] std::uint64_t page_size() const override { return page_size_; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }
  [[nodiscard]] std::string os_release() const override { return release_; }
  [[nodiscard]] bool reads_this_machine() const override { return reads_this_machine_; }
  Result<void> read_file(std::string_view path, Buffer& out) override;
  [[nodiscard]] bool may_read(std::string_view path) override;
  Result<std::string> read_link(std::string_view path) override;
  Result<void> list_directory(std::string_view path, std::vector<std::string>& names) override;
  Result<void> list_directories(std::string_view path, Buffer& names) override;
  Result<void> keep_open(std::string_view path) override;
  [[nodiscard]] std::size_t kept_count() const override;
  void close_kept_after(std::size_t count) override;
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override;
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override;
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override;
  Result<void> open_table(std::string_view source, TextTableSource& table) override;
  Result<void> read_table(std::string_view source, TextTableSource& table, Buffer& out) override;

  /// Memory and start of this process, which a sandbox may hide from itself; the rest is of no use. 0: not known any more.
  [[nodiscard]] ProcessStats process_stats() const;

 private:
  class Channel;
  class Lease;

  ReaderView() = default;
  Result<void> learn_facts();
  Result<void> list(ReadRequest::Word word, std::string_view name, std::vector<std::string>& names);
  /// Asks on a free channel. The data comes into `out`.
  Result<void> ask(ReadRequest::Word word, std::string_view name, std::uint64_t number, Buffer& out) const;

  UniqueFd control_;  // once sealed; it says when the reader ends
  std::atomic<bool> is_gone_ = false;
  mutable Mutex mutex_;  // never held while an answer is waited for
  std::vector<std::unique_ptr<Channel>> channels_ MEMSTAT_GUARDED_BY(mutex_);
  OperatingSystem os_ = OperatingSystem::kOther;
  std::uint64_t page_size_ = 1;
  std::uint32_t cpu_count_ = 1;
  bool reads_this_machine_ = false;
  std::string release_;
};

}  // namespace memstat
