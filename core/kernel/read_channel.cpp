// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/read_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace memstat {
namespace {

constexpr std::size_t kShortRun = 32;  // fewer zeros are not worth a head of their own

/// Before each run of a piece.
struct RunHead {
  std::uint32_t zeros;
  std::uint32_t literals;
};

bool is_zero(std::string_view bytes) {
  static constexpr std::array<char, kShortRun> kZeros{};
  return std::memcmp(bytes.data(), kZeros.data(), bytes.size()) == 0;
}

std::size_t zeros_at(std::string_view bytes, std::size_t at) {
  const std::size_t from = at;
  while (bytes.size() - at >= kShortRun && is_zero(bytes.substr(at, kShortRun))) at += kShortRun;
  while (at < bytes.size() && bytes[at] == '\0') ++at;
  return at - from;
}

/// Bytes from `at` on before the next longer run of zeros, at most `room`.
std::size_t literals_at(std::string_view bytes, std::size_t at, std::size_t room) {
  const std::size_t limit = std::min(room, bytes.size() - at);
  std::size_t count = 0;
  while (count < limit && !is_zero(bytes.substr(at + count, kShortRun))) count += std::min(kShortRun, limit - count);
  return count;
}

struct Pipe {
  UniqueFd out;
  UniqueFd in;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe(ends.data()) != 0) return system_error("reader process", errno, "cannot make the pipes of its channels");
  for (const int end : ends) (void)::fcntl(end, F_SETFD, FD_CLOEXEC);
  return Pipe{.out = UniqueFd(ends[0]), .in = UniqueFd(ends[1])};
}

}  // namespace

bool ChannelEnd::wake() const {
  const char byte = 0;
  ssize_t written = 0;
  do {
    written = ::write(out_.get(), &byte, sizeof byte);
  } while (written < 0 && errno == EINTR);
  return written == sizeof byte;
}

bool ChannelEnd::wait() const {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(in_.get(), &byte, sizeof byte);
  } while (got < 0 && errno == EINTR);
  return got == sizeof byte;
}

bool ChannelEnd::is_connected() const {
  pollfd end{.fd = in_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) <= 0 || (end.revents & (POLLHUP | POLLERR | POLLNVAL)) == 0;
}

Result<ReadChannels> ReadChannels::make() {
  ReadChannels channels;
  for (std::size_t i = 0; i < kReadChannels; ++i) {
    void* const mapped = ::mmap(nullptr, sizeof(ReadMemory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return system_error("reader process", errno, "cannot map the memory of its channels");
    const std::shared_ptr<ReadMemory> memory(static_cast<ReadMemory*>(mapped),
                                             [](ReadMemory* each) { ::munmap(each, sizeof *each); });
    auto requests = make_pipe();
    if (!requests) return requests.error();
    auto answers = make_pipe();
    if (!answers) return answers.error();
    channels.ours.emplace_back(memory, std::move(answers->out), std::move(requests->in));
    channels.theirs.emplace_back(memory, std::move(requests->out), std::move(answers->in));
  }
  return channels;
}

std::size_t pack_piece(std::string_view bytes, std::size_t& at, std::span<char> room) {
  std::size_t used = 0;
  while (at < bytes.size() && room.size() - used > sizeof(RunHead)) {
    const std::size_t zeros = zeros_at(bytes, at);
    const std::size_t literals = literals_at(bytes, at + zeros, room.size() - used - sizeof(RunHead));
    const RunHead head{.zeros = static_cast<std::uint32_t>(zeros), .literals = static_cast<std::uint32_t>(literals)};
    std::memcpy(room.data() + used, &head, sizeof head);
    used += sizeof head;
    at += zeros;
    if (literals != 0) std::memcpy(room.data() + used, bytes.data() + at, literals);
    used += literals;
    at += literals;
  }
  return used;
}

bool unpack_piece(std::string_view piece, char* out, std::size_t size, bool is_zeroed, std::size_t& at) {
  if (at > size) return false;
  const std::size_t before = at;
  while (!piece.empty()) {
    RunHead head{};
    if (piece.size() < sizeof head) return false;
    std::memcpy(&head, piece.data(), sizeof head);
    piece.remove_prefix(sizeof head);
    if (head.zeros > size - at || head.literals > size - at - head.zeros || head.literals > piece.size()) return false;
    if (out != nullptr && !is_zeroed && head.zeros != 0) std::memset(out + at, 0, head.zeros);
    at += head.zeros;
    if (out != nullptr && head.literals != 0) std::memcpy(out + at, piece.data(), head.literals);
    at += head.literals;
    piece.remove_prefix(head.literals);
  }
  return at != before;
}

}  // namespace memstat
