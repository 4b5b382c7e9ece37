// SPDX-License-Identifier: BSD-2-Clause
// A channel between the daemon and the process that reads the kernel for it: memory that both have mapped, and two pipes
// that wake the other end. All of it exists before the processes part, so a request needs no descriptor, no socket and
// no network buffer, of which the machine may have none left.
//
// Each end treats the memory as hostile: it copies a number before it checks it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace memstat {

/// Maximum number of simultaneous reads after the seal.
inline constexpr std::size_t kReadChannels = 4;
/// Maximum size of a name in a request, in bytes.
inline constexpr std::size_t kMaxReadName = 4095;
/// Maximum size of each text of an error in an answer, in bytes. Longer texts are truncated.
inline constexpr std::size_t kMaxReadText = 1024;
/// Maximum size of one answer, in bytes: more than any KernelView reads.
inline constexpr std::uint64_t kMaxReadMemory = (1ULL << 30) + (1ULL << 28);
/// Room for one piece of an answer, in bytes. kern.malloc_stats of a machine with few CPUs fits, packed.
inline constexpr std::size_t kMaxReadPiece = std::size_t{1} << 20U;

/// A request. The name is beside it.
struct ReadRequest {
  enum Word : std::uint32_t {
    kFacts = 1,  ///< ReaderFacts; the first request
    kFile,
    kSysctl,
    kSysctls,  ///< names, each followed by a NUL
    kProcess,  ///< ProcessStats of the client, which is the reader's parent; at any time
    kSeal,     ///< from the answer on, all channels are served, and only names that were requested before
    kNumbers,  ///< sysctls: names, each followed by a NUL; the answer has for each the size of its bytes (32 bits) and
               ///< the bytes, or kNoNumber if it must be requested separately: it is long, or reading it failed
  };
  std::uint32_t word = 0;
  std::uint32_t name_size = 0;  ///< in bytes
  std::uint64_t number = 0;     ///< kSysctl: the expected size in bytes
};

inline constexpr std::uint32_t kNoNumber = 0xFFFFFFFF;
/// Maximum size of all values in one answer to kNumbers, in bytes. The rest must be requested separately.
inline constexpr std::size_t kMaxNumbers = 128U << 10U;

/// An answer, or the next piece of one. The path and the detail of an error, or the packed piece, are beside it. The client
/// wakes the reader for the next piece until it has `size` bytes.
struct ReadAnswer {
  static constexpr std::uint32_t kIsError = 1;
  static constexpr std::uint32_t kHasOffset = 2;
  static constexpr std::uint32_t kIsItsName = 4;  ///< the error's path is the name in the request and is not repeated
  std::uint32_t flags = 0;
  std::int32_t code = 0;  ///< ErrorCode
  std::int32_t system_errno = 0;
  std::uint16_t path_size = 0;
  std::uint16_t detail_size = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;   ///< of the whole answer, in bytes
  std::uint64_t piece = 0;  ///< packed size of this piece, in bytes
};

/// What both processes have mapped. The client writes the first two, the reader the rest.
struct ReadMemory {
  ReadRequest request;
  std::array<char, kMaxReadName + 1> name;
  ReadAnswer answer;
  std::array<char, 2 * kMaxReadText> text;
  std::array<char, kMaxReadPiece> piece;
};

/// One end of a channel. Thread safety: one thread at a time, except is_connected().
class ChannelEnd {
 public:
  ChannelEnd(std::shared_ptr<ReadMemory> memory, UniqueFd in, UniqueFd out)
      : memory_(std::move(memory)), in_(std::move(in)), out_(std::move(out)) {}

  [[nodiscard]] ReadMemory& memory() const { return *memory_; }
  /// Wakes the other end. Returns false if it is gone. Raises SIGPIPE then, unless the process ignores it.
  [[nodiscard]] bool wake() const;
  /// Waits to be woken. Returns false if the other end is gone.
  [[nodiscard]] bool wait() const;
  /// Whether the other end is still open. Does not block.
  [[nodiscard]] bool is_connected() const;
  [[nodiscard]] std::array<int, 2> descriptors() const { return {in_.get(), out_.get()}; }

 private:
  std::shared_ptr<ReadMemory> memory_;
  UniqueFd in_;
  UniqueFd out_;
};

/// Both ends of all channels. After the fork, each process clears the ends that are not its own, or it never learns that
/// the other one is gone.
struct ReadChannels {
  std::vector<ChannelEnd> ours;    ///< of the client
  std::vector<ChannelEnd> theirs;  ///< of the reader

  /// Call before the fork. Errors: system_error.
  static Result<ReadChannels> make();
};

/// Packs `bytes` from `at` on without longer runs of zeros, as much as there is room for, and advances `at`. Returns the
/// packed size. FreeBSD reserves room for every CPU that a kernel supports: on a machine with two, kern.malloc_stats is 17
/// MB, of which 30 kB are not zero.
std::size_t pack_piece(std::string_view bytes, std::size_t& at, std::span<char> room);
/// Unpacks a piece into `out` from `at` on, and advances `at`. Zeros are skipped if `is_zeroed`. Returns false if the piece
/// is invalid or empty. `out`: nullptr to check it only.
bool unpack_piece(std::string_view piece, char* out, std::size_t size, bool is_zeroed, std::size_t& at);

}  // namespace memstat
