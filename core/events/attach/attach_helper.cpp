// SPDX-License-Identifier: BSD-2-Clause
#include "core/events/attach/attach_helper.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "core/base/packet_socket.h"

namespace memstat::events {
namespace {

constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};  // patching the kernel's code can be slow
constexpr std::int32_t kLastErrno = 4095;

/// Sends one message, with a descriptor unless it is -1.
template <typename Message>
bool send_message(int socket, const Message& message, int descriptor) {
  return send_packet(socket, packet_bytes(message), {}, {&descriptor, descriptor >= 0 ? std::size_t{1} : 0});
}

enum class Got { kMessage, kNoRoom, kWrong, kNothing };

/// Receives one message. kWrong: wrong size, or more than one descriptor. kNoRoom: out of descriptors in this process.
/// kNothing: the peer is gone or silent. `descriptor` receives what was attached to the message.
template <typename Message>
Got receive_message(int socket, Message& message, UniqueFd& descriptor) {
  Packet packet = receive_packet(socket, packet_room(message));
  if (packet.state == Packet::State::kNone) return Got::kNothing;
  if (packet.state == Packet::State::kTooLarge || packet.size != sizeof message) return Got::kWrong;
  if (packet.state == Packet::State::kNoRoom) return Got::kNoRoom;
  descriptor = std::move(packet.descriptors[0]);
  return packet.descriptor_count <= 1 ? Got::kMessage : Got::kWrong;
}

/// The programs that the helper was given.
class Places {
 public:
  explicit Places(int (*attach)(int, const AttachPoint&)) : attach_(attach) {}

  /// Answers one request. `descriptor` holds the request's descriptor on entry, the answer's on return.
  AttachAnswer answer(const AttachRequest& request, UniqueFd& descriptor) {
    UniqueFd program = std::exchange(descriptor, UniqueFd());
    if (static_cast<bool>(program) != (request.word == AttachRequest::kAdd))
      return {.error = EINVAL, .place = request.place};
    switch (request.word) {
      case AttachRequest::kAdd: return add(request.point, std::move(program));
      case AttachRequest::kSeal: is_sealed_ = true; return {.error = 0, .place = request.place};
      case AttachRequest::kAttach: break;
      default: return {.error = EINVAL, .place = request.place};
    }
    if (!is_sealed_ || request.place >= places_.size()) return {.error = EINVAL, .place = request.place};
    const Place& place = places_[request.place];
    const int result = attach_(place.program.get(), place.point);
    if (result >= 0) descriptor = UniqueFd(result);
    return {.error = result < 0 ? -result : 0, .place = request.place};
  }

 private:
  struct Place {
    UniqueFd program;
    AttachPoint point;
  };

  AttachAnswer add(const AttachPoint& point, UniqueFd program) {
    const auto next = static_cast<std::uint32_t>(places_.size());
    const bool has_name_that_ends = std::find(point.name.begin(), point.name.end(), '\0') != point.name.end();
    const bool is_point = point.kind >= AttachPoint::kRawTracepoint && point.kind <= AttachPoint::kPerfEvent;
    if (is_sealed_ || !is_point || !has_name_that_ends) return {.error = EINVAL, .place = next};
    if (next == kMaxAttachPoints) return {.error = ENOSPC, .place = next};
    places_.push_back({.program = std::move(program), .point = point});
    return {.error = 0, .place = next};
  }

  int (*attach_)(int, const AttachPoint&);
  bool is_sealed_ = false;
  std::vector<Place> places_;
};

Mutex helper_mutex;
std::shared_ptr<AttachHelper> helper_of_process MEMSTAT_GUARDED_BY(helper_mutex);

Error gone() { return system_error("the helper process", ENOENT, "is gone: restart memstatd to count events again"); }

}  // namespace

void serve_attaching(int socket, int (*attach)(int program, const AttachPoint& point)) {
  Places places(attach);
  while (true) {
    AttachRequest request;
    UniqueFd descriptor;
    const Got got = receive_message(socket, request, descriptor);
    if (got == Got::kNothing) return;
    AttachAnswer answer{.error = EINVAL, .place = 0};
    if (got == Got::kMessage) {
      answer = places.answer(request, descriptor);
    } else {
      descriptor = UniqueFd();
    }
    if (!send_message(socket, answer, descriptor.get())) return;
  }
}

AttachHelper::AttachHelper(UniqueFd socket) : socket_(std::move(socket)) {
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

void AttachHelper::give_up() {
  is_gone_ = true;
  (void)::shutdown(socket_.get(), SHUT_RDWR);
}

std::optional<AttachHelper::Reply> AttachHelper::ask(const AttachRequest& request, int program) {
  if (is_gone_) return std::nullopt;
  Reply reply;
  Got got = Got::kNothing;
  if (send_message(socket_.get(), request, program)) got = receive_message(socket_.get(), reply.answer, reply.descriptor);
  if (got == Got::kNoRoom) return Reply{.answer = {.error = EMFILE, .place = request.place}, .descriptor = {}};
  const bool is_attached = request.word == AttachRequest::kAttach && reply.answer.error == 0;
  const bool is_right = got == Got::kMessage && reply.answer.error >= 0 && reply.answer.error <= kLastErrno &&
                        reply.answer.place == request.place && static_cast<bool>(reply.descriptor) == is_attached;
  if (is_right) return reply;
  give_up();
  return std::nullopt;
}

Result<std::uint32_t> AttachHelper::add(int program, const AttachPoint& point) {
  const MutexLock lock(mutex_);
  const auto reply = ask({.word = AttachRequest::kAdd, .place = count_, .point = point}, program);
  if (!reply) return gone();
  if (reply->answer.error != 0) return system_error("the helper process", reply->answer.error);
  return count_++;
}

bool AttachHelper::seal() {
  const MutexLock lock(mutex_);
  const auto reply = ask({.word = AttachRequest::kSeal}, -1);
  if (reply && reply->answer.error == 0 && count_ != 0) return true;
  give_up();
  return false;
}

Result<UniqueFd> AttachHelper::attach(std::uint32_t place) {
  const MutexLock lock(mutex_);
  auto reply = ask({.word = AttachRequest::kAttach, .place = place}, -1);
  if (!reply) return gone();
  if (reply->answer.error != 0) return system_error("the helper process", reply->answer.error);
  return std::move(reply->descriptor);
}

bool AttachHelper::is_alive() {
  pollfd end{.fd = socket_.get(), .events = 0, .revents = 0};
  if (!is_gone_ && ::poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) is_gone_ = true;
  return !is_gone_;
}

std::shared_ptr<AttachHelper> process_helper() {
  const MutexLock lock(helper_mutex);
  return helper_of_process;
}

void set_process_helper(std::shared_ptr<AttachHelper> helper) {
  const MutexLock lock(helper_mutex);
  helper_of_process = std::move(helper);
}

}  // namespace memstat::events
