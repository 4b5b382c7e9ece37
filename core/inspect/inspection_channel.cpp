// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/inspection_channel.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/free_heap.h"
#include "core/base/packet_socket.h"
#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxQuestion = 64;
/// Far below the size of a message that any socket accepts.
constexpr std::size_t kMaxReply = std::size_t{64} << 10;
/// More than an inspection may use.
constexpr std::uint64_t kMaxCpuNs = 10'000'000'000;

/// The answer as text. If it is too long for a message, the smallest holders are only counted.
std::string fitting_text(InspectionAnswer& answer) {
  std::string text = write_answer(answer);
  while (text.size() > kMaxReply - kMaxQuestion && !answer.holders.empty()) {
    const std::size_t kept = answer.holders.size() / 2;
    answer.unlisted += answer.holders.size() - kept;
    answer.holders.resize(kept);
    text = write_answer(answer);
  }
  return text;
}

/// "files 5120000\n" with the CPU time in ns, and the answer, or the error's code.
std::string reply_to(const Inspection& inspection, KernelView& machine) {
  const std::int64_t begin_ns = machine.clock().thread_cpu_ns();
  auto answer = inspect(machine, inspection);
  const std::int64_t cpu_ns = machine.clock().thread_cpu_ns() - begin_ns;
  const std::string reply = std::string(inspection.name) + " " + std::to_string(cpu_ns) + "\n";
  if (answer) return reply + fitting_text(*answer);
  return reply + std::to_string(static_cast<unsigned>(answer.error().code));
}

Result<InspectionAnswer> parse_reply(std::string_view text, const Inspection& inspection) {
  InspectionAnswer answer;
  if (read_answer(text, answer)) {
    describe(inspection, answer);
    return answer;
  }
  const bool is_refused = text == std::to_string(static_cast<unsigned>(ErrorCode::kPermission));
  return make_error(is_refused ? ErrorCode::kPermission : ErrorCode::kIo, table_name(inspection), "was not answered");
}

bool has_event(int socket, short events) {
  pollfd one{.fd = socket, .events = events, .revents = 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (events | POLLHUP)) != 0;
}

}  // namespace

void serve_inspections(int socket, KernelView& machine) {
  std::array<char, kMaxQuestion> name{};
  while (true) {
    const Packet request = receive_packet(socket, name);
    if (request.state == Packet::State::kNone) return;
    const std::string_view question(name.data(), std::min(request.size, name.size()));
    const Inspection* const inspection = find_inspection(question, machine.os());
    if (request.state != Packet::State::kWhole || inspection == nullptr) continue;
    if (!send_packet(socket, reply_to(*inspection, machine))) return;
    give_back_free_heap();
  }
}

InspectionChannel::InspectionChannel(UniqueFd socket, OperatingSystem os) : socket_(std::move(socket)), os_(os) {
  (void)::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

bool InspectionChannel::ask(const Inspection& inspection) { return send_packet(socket_.get(), inspection.name); }

std::optional<InspectionChannel::Reply> InspectionChannel::take() {
  if (!has_event(socket_.get(), POLLIN)) return std::nullopt;
  std::string room(kMaxReply, '\0');
  const Packet packet = receive_packet(socket_.get(), room);
  if (packet.state != Packet::State::kWhole) return std::nullopt;
  const std::string_view reply = std::string_view(room).substr(0, packet.size);
  const std::size_t end = std::min(reply.find('\n'), reply.size());
  std::string_view head = reply.substr(0, end);
  std::string_view name;
  if (end == reply.size() || !next_word(head, name)) return std::nullopt;
  const Inspection* const inspection = find_inspection(name, os_);
  if (inspection == nullptr) return std::nullopt;
  const auto cpu_ns = parse_u64(trim(head)).value_or(0);
  return Reply{inspection, parse_reply(reply.substr(end + 1), *inspection),
               static_cast<std::int64_t>(std::min<std::uint64_t>(cpu_ns, kMaxCpuNs))};
}

bool InspectionChannel::is_alive() const { return !has_event(socket_.get(), 0); }

}  // namespace memstat
