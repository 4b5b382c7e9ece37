// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/jail_counts.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "core/base/packet_socket.h"

namespace memstat {
namespace {

constexpr std::string_view kCall = "rctl_get_racct";
constexpr std::size_t kMaxName = 256;
/// A jail has about 700 bytes of counts, and 40 for each rule.
constexpr std::size_t kMaxReply = std::size_t{16} << 10U;

Error lost() {
  return make_error(ErrorCode::kTimeout, kCall, "the process that asks as root does not answer; restart memstatd");
}

}  // namespace

void serve_jail_counts(int socket, KernelView& machine) {
  std::array<char, kMaxName> name{};
  Buffer counts;
  while (true) {
    const Packet request = receive_packet(socket, name);
    if (request.state == Packet::State::kNone) return;
    const std::string_view jail(name.data(), std::min(request.size, name.size()));
    Result<void> read = machine.read_jail_counts(jail, counts);
    if (read && counts.size() > kMaxReply - kMaxName) read = system_error(jail, E2BIG);
    const std::int32_t failure = read ? 0 : read.error().system_errno;  // before the counts
    if (!send_packet(socket, packet_bytes(failure), read ? counts.view() : std::string_view())) return;
  }
}

JailCounts::JailCounts(UniqueFd socket) : socket_(std::move(socket)) {
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    (void)::setsockopt(socket_.get(), SOL_SOCKET, option, &patience, sizeof patience);
  }
}

Result<void> JailCounts::read(std::string_view jail, Buffer& out) {
  const MutexLock lock(mutex_);
  if (is_lost_ || jail.empty() || jail.size() > kMaxName) return lost();
  out.resize(kMaxReply);
  std::int32_t failure = 0;
  const bool is_asked = send_packet(socket_.get(), jail);
  const Packet answer = is_asked ? receive_packet(socket_.get(), packet_room(failure), {out.data(), out.size()}) : Packet();
  is_lost_ = answer.state != Packet::State::kWhole || answer.size < sizeof failure;
  if (is_lost_) return lost();
  out.resize(answer.size - sizeof failure);
  return failure == 0 ? Result<void>() : system_error(kCall, failure);
}

bool JailCounts::is_alive() const {
  pollfd one{.fd = socket_.get(), .events = 0, .revents = 0};
  return ::poll(&one, 1, 0) <= 0 || (one.revents & POLLHUP) == 0;
}

}  // namespace memstat
