// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/front.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "core/base/mutex.h"
#include "daemon/http/rules.h"
#include "daemon/http/sockets.h"

namespace memstat {
namespace {

using State = ConnectionState;
using std::chrono::milliseconds;

constexpr int kAcceptsInARow = 64;
// A client whose request waits so long for a thread has given up.
constexpr milliseconds kReadyDeadline{10'000};
constexpr milliseconds kPauseWithoutFiles{20};
constexpr milliseconds kRefillPause{500};
constexpr milliseconds kLookPause{1};
// Answers that clients have not taken are looked at so often, and whenever their number has doubled.
constexpr milliseconds kUntakenPause{1000};
constexpr std::size_t kUntakenAtOnce = 32;
// A client that has taken nothing for so long is gone, whatever its kernel acknowledges.
constexpr milliseconds kUntakenDeadline{60'000};
// And so often while requests of narrow clients wait for others to take their answers.
constexpr milliseconds kNarrowPause{50};
// No system's default is so small: with a smaller window a client has asked for a buffer that no page fits into.
constexpr std::size_t kNarrowWindow = 8192;
// Threads that are being freed for requests at the same time.
constexpr std::size_t kYielding = 4;

constexpr std::string_view kLate =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 54\r\n"
    "Connection: close\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\r\n"
    "Request Timeout: the header was not complete in time.\n";

void close_if_open(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

HttpFront::HttpFront(Options options, AccessList access, HttpListeners listeners)
    : options_(std::move(options)),
      access_(std::move(access)),
      listeners_(std::move(listeners)),
      connections_(options_.connections, options_.per_address, options_.threads, options_.untaken_bytes / 2),
      look_at_count_(kUntakenAtOnce) {
  polled_.reserve(options_.connections + listeners_.descriptors().size() + 1);
  polled_connections_.reserve(options_.connections);
  header_.resize(options_.header_bytes);
}

HttpFront::~HttpFront() {
  close();
  close_if_open(bell_);
  for (int& end : wake_pipe_) close_if_open(end);
}

Result<void> HttpFront::open() {
  int bell[2];
  if (::pipe(wake_pipe_) != 0) return system_error("HTTP server", errno, "cannot make a pipe");
  for (const int end : wake_pipe_) {
    ::fcntl(end, F_SETFD, FD_CLOEXEC);
    ::fcntl(end, F_SETFL, O_NONBLOCK);
  }
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, bell) != 0) {
    return system_error("HTTP server", errno, "cannot make a pair of sockets");
  }
  ::close(bell[1]);  // the end of the other's bytes is always there to be read
  bell_ = bell[0];
  ::fcntl(bell_, F_SETFD, FD_CLOEXEC);
  return {};
}

bool HttpFront::take_listener(int descriptor) {
  if (listener_ >= 0) {
    errno = EINVAL;
    return false;
  }
  listener_ = descriptor;
  return true;
}

void HttpFront::ring_at_listener() const {
  if (listener_ >= 0) ::dup2(bell_, listener_);
}

// ---- for the worker threads
// ------------------------------------------------------------------------------------------------

HttpConnection* HttpFront::claim() {
  const MutexLock lock(mutex_);
  HttpConnection* const connection = handed_over_;
  handed_over_ = nullptr;
  if (connection != nullptr) {
    connections_.change(*connection, State::kReading, options_.clock.now());
    if (stopping_) shut_down(*connection);
  }
  wake_if_waiting();
  return connection;
}

void HttpFront::change(HttpConnection& connection, ConnectionState state) {
  const MutexLock lock(mutex_);
  connections_.change(connection, state, options_.clock.now());
  if (stopping_) shut_down(connection);
  if (state != State::kAnswering) wake_if_waiting();
}

void HttpFront::reset(HttpConnection& connection) {
  const MutexLock lock(mutex_);
  connection.reset = true;
  reset_on_close(connection.descriptor);
}

void HttpFront::end(HttpConnection& connection) {
  const MutexLock lock(mutex_);
  const std::size_t untaken = connection.reset || stopping_ ? 0 : untaken_bytes(connection.descriptor);
  // Where no descriptor is left for it the kernel alone has it, as that of any program that ends.
  const int own = untaken == 0 ? -1 : ::fcntl(connection.descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    connections_.remove(connection);
  } else {
    const TimePoint now = options_.clock.now();
    connection.descriptor = own;
    connection.shut_down = false;  // it is yielding its thread no more
    connections_.change(connection, State::kUntaken, now);
    connections_.note_untaken(connection, untaken, now);
    // next() may be waiting for ever.
    const bool too_much = connections_.untaken_bytes() > options_.untaken_bytes;
    if (too_much || look_again_ == TimePoint::max()) wake();
  }
  wake_if_waiting();
}

bool HttpFront::may_keep(const HttpConnection& connection) {
  const MutexLock lock(mutex_);
  return !stopping_ && !connection.shut_down && connections_.may_keep(connection);
}

void HttpFront::shut_down(HttpConnection& connection) {
  if (connection.shut_down) return;
  ::shutdown(connection.descriptor, SHUT_RDWR);
  connection.shut_down = true;
}

void HttpFront::wake_if_waiting() {
  if (!wants_thread_) return;
  wants_thread_ = false;
  wake();
}

void HttpFront::wake() const {
  [[maybe_unused]] const ssize_t ignored = ::write(wake_pipe_[1], "", 1);  // full pipe: awake anyway
}

bool HttpFront::adopt(UniqueFd& connection, Endpoint peer) {
  const MutexLock lock(mutex_);
  if (stopping_ || adopted_) return false;
  adopted_ = std::move(connection);
  adopted_peer_ = peer;
  wake();
  return true;
}

void HttpFront::stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  for (HttpConnection* const connection : connections_.all()) shut_down(*connection);
  wake();
}

void HttpFront::close() {
  const MutexLock lock(mutex_);
  // A connection that was handed over and not taken is forgotten by civetweb without being closed.
  for (HttpConnection* const connection : connections_.all()) {
    if (connection->state <= State::kHandedOver) close_if_open(connection->descriptor);
  }
  listeners_.close();
  listener_ = -1;
}

// ---- inside civetweb's accept
// ----------------------------------------------------------------------------------------------

int HttpFront::next(sockaddr* address, socklen_t* length) {
  // In a flood the newest request is answered first, so it must not wait long behind the others in the kernel's queue.
  for (;;) {
    const auto now = options_.clock.now();
    auto wake = TimePoint::max();
    {
      const MutexLock lock(mutex_);
      if (stopping_) {
        errno = ECONNABORTED;
        return -1;
      }
      look_at_untaken(now);
      const bool flood = connections_.ready() > 1;
      if (flood && now >= looked_ + kLookPause) {
        wake = now;
      } else if (HttpConnection* const given = give_or_yield(now, wake); given != nullptr) {
        const sockaddr_in from = to_sockaddr(given->peer);
        const auto room = std::min<std::size_t>(*length, sizeof from);
        std::copy_n(reinterpret_cast<const char*>(&from), room, reinterpret_cast<char*>(address));
        *length = sizeof from;
        return given->descriptor;
      }
      collect_descriptors(now, wake);
      looked_ = now;
    }
    wait_until(wake);
    for (std::size_t i = 0; i < polled_connections_.size(); ++i) {
      if (polled_[i].revents != 0) examine(*polled_connections_[i]);
    }
    for (std::size_t i = polled_connections_.size() + 1; i < polled_.size(); ++i) {
      if (polled_[i].revents != 0) accept_from(i - polled_connections_.size() - 1);
    }
    take_adopted();
    refuse_late(options_.clock.now());
  }
}

HttpConnection* HttpFront::give_or_yield(TimePoint now, TimePoint& wake) {
  wants_thread_ = false;
  if (connections_.ready() == 0) return nullptr;
  wants_thread_ = true;
  if (handed_over_ != nullptr) return nullptr;  // which thread has which would be unknown if there were two
  HttpConnection* const request = connections_.next_request();
  if (request == nullptr) {
    look_again_ = std::min(look_again_, now + kNarrowPause);
    return nullptr;
  }
  if (connections_.held_threads() < options_.threads) {
    connections_.change(*request, State::kHandedOver, now);
    handed_over_ = request;
    wants_thread_ = connections_.ready() != 0;
    return request;
  }
  std::size_t yielding = 0;
  for (const HttpConnection* const connection : connections_.all()) yielding += connection->shut_down ? 1 : 0;
  while (yielding < std::min(kYielding, connections_.ready())) {
    const HttpConnections::Yield yield = connections_.yield_thread(now);
    wake = std::min(wake, yield.next);
    if (yield.connection == nullptr) break;
    if (yield.connection->state != State::kStalled && has_unread_bytes(yield.connection->descriptor)) {
      // Its thread has bytes to read and is only short of processor time.
      connections_.change(*yield.connection, State::kReading, now);
      continue;
    }
    if (yield.connection->state == State::kStalled) {
      yield.connection->reset = true;
      reset_on_close(yield.connection->descriptor);
    }
    shut_down(*yield.connection);
    ++evictions_;
    ++yielding;
  }
  return nullptr;
}

// Order: connections, the pipe, listeners.
void HttpFront::collect_descriptors(TimePoint now, TimePoint& wake) {
  polled_.clear();
  polled_connections_.clear();
  for (HttpConnection* const connection : connections_.all()) {
    if (connection->holds_thread() || connection->state == State::kUntaken) continue;
    const bool waiting = connection->state == State::kWaiting;
    wake = std::min(wake, connection->since + (waiting ? options_.header_deadline : kReadyDeadline));
    if (!waiting) continue;
    polled_connections_.push_back(connection);
    polled_.push_back({connection->descriptor, POLLIN, 0});
  }
  polled_.push_back({wake_pipe_[0], POLLIN, 0});
  wake = std::min(wake, look_again_);
  if (now < listening_again_) {
    wake = std::min(wake, listening_again_);
    return;
  }
  for (const int listener : listeners_.descriptors()) polled_.push_back({listener, POLLIN, 0});
}

void HttpFront::wait_until(TimePoint wake) {
  int wait = -1;
  if (wake != TimePoint::max()) {
    const auto left = std::chrono::ceil<milliseconds>(wake - options_.clock.now()).count();
    wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (::poll(polled_.data(), static_cast<nfds_t>(polled_.size()), wait) < 0) {
    for (pollfd& entry : polled_) entry.revents = 0;
  }
  std::array<char, 64> drained;
  if (polled_[polled_connections_.size()].revents != 0) {
    while (::read(wake_pipe_[0], drained.data(), drained.size()) == static_cast<ssize_t>(drained.size())) {
    }
  }
  const auto now = options_.clock.now();
  if (now >= refill_ && !listeners_.spare().full()) {
    listeners_.spare().fill();
    refill_ = now + kRefillPause;
  }
}

void HttpFront::accept_from(std::size_t listener) {
  for (int i = 0; i < kAcceptsInARow; ++i) {
    sockaddr_in from{};
    socklen_t length = sizeof from;
    const int descriptor = ::accept4(listeners_.descriptors()[listener], reinterpret_cast<sockaddr*>(&from), &length,
                                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
      take(descriptor, from, listener);
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno != EMFILE && errno != ENFILE) return;
    refill_ = options_.clock.now() + kRefillPause;
    if (!make_room_for_a_file()) {
      listening_again_ = options_.clock.now() + kPauseWithoutFiles;
      return;
    }
  }
}

void HttpFront::take_adopted() {
  UniqueFd connection;
  Endpoint peer;
  {
    const MutexLock lock(mutex_);
    if (!adopted_) return;
    connection = std::move(adopted_);
    peer = adopted_peer_;
  }
  take(connection.release(), to_sockaddr(peer), 0, true);
}

// No file can be had. A spare one, a client that has not sent its request or a connection that is only kept goes for it.
bool HttpFront::make_room_for_a_file() {
  if (listeners_.spare().give()) return true;
  HttpConnection* waiting = nullptr;
  {
    const MutexLock lock(mutex_);
    const std::size_t before = connections_.untaken_answers();
    look_at_count_ = 0;
    look_at_untaken(options_.clock.now());
    if (connections_.untaken_answers() < before) return true;
    waiting = connections_.longest_waiting();
  }
  if (waiting == nullptr) return false;
  drop(*waiting);
  return true;
}

void HttpFront::take(int descriptor, const sockaddr_in& from, std::size_t listener, bool is_own) {
  const Endpoint peer{ntohl(from.sin_addr.s_addr), ntohs(from.sin_port)};
  if (!access_.admits(peer.address)) {
    ::close(descriptor);
    if (options_.log) options_.log(format_ipv4(peer.address) + " is not allowed to connect");
    return;
  }
  HttpConnection* connection = nullptr;
  {
    const MutexLock lock(mutex_);
    // While there is a thread for each connection none stands in another's way.
    const bool narrow =
        !is_own && connections_.all().size() >= options_.threads && window_of_client(descriptor) < kNarrowWindow;
    if (make_room_for_a_client(peer.address, narrow)) {
      connection = &connections_.add(descriptor, peer, listener, options_.clock.now());
      connection->narrow = narrow;
      connection->is_own = is_own;
    }
  }
  if (connection == nullptr) {
    reset_on_close(descriptor);
    ::close(descriptor);
    return;
  }
  examine(*connection);
}

// False when this client is the one that has to go.
bool HttpFront::make_room_for_a_client(std::uint32_t address, bool narrow) {
  HttpConnection* const excess = connections_.too_many(address);
  if (excess == nullptr) return !connections_.full();
  const bool is_untaken = excess->state == State::kUntaken;
  if (is_untaken && look_at(*excess, options_.clock.now())) return true;
  // One narrow client is worth as much as the next, and the newest costs least: nothing of it has been read.
  if (narrow && excess->narrow) {
    ++evictions_;
    return false;
  }
  if (is_untaken) {
    give_up(*excess);
    return true;
  }
  ::close(excess->descriptor);
  connections_.remove(*excess);
  ++evictions_;
  return true;
}

void HttpFront::examine(HttpConnection& connection) {
  const ssize_t got = ::recv(connection.descriptor, header_.data(), header_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const auto size = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  if (size > connection.seen && (size == header_.size() || is_whole_header({header_.data(), size}))) {
    if (connection.seen != 0) report_from(connection.descriptor, 1);
    connection.is_blank_first = std::string_view(" \t\r\n\v\f").find(header_[0]) != std::string_view::npos;
    const MutexLock lock(mutex_);
    connections_.change(connection, State::kReady, options_.clock.now());
    return;
  }
  // Gone, or it ended its half before the header was whole.
  if (size <= connection.seen) {
    drop(connection);
    return;
  }
  // The bytes stay in the kernel for civetweb to read, which would make poll return at once from now on.
  connection.seen = size;
  report_from(connection.descriptor, static_cast<int>(size) + 1);
}

void HttpFront::refuse_late(TimePoint now) {
  for (HttpConnection* const connection : polled_connections_) {
    if (connection->descriptor < 0 || connection->state != State::kWaiting) continue;
    if (now < connection->since + options_.header_deadline) continue;
    refuse_now(connection->descriptor, kLate);
    drop(*connection);
  }
  for (;;) {
    HttpConnection* late = nullptr;
    {
      const MutexLock lock(mutex_);
      if (connections_.ready() != 0) {
        for (HttpConnection* const connection : connections_.all()) {
          if (connection->state == State::kReady && now >= connection->since + kReadyDeadline) late = connection;
        }
      }
    }
    if (late == nullptr) return;
    drop(*late);
  }
}

// Closes what is taken, and gives up what no client takes and what is more than the kernel is to hold for clients.
void HttpFront::look_at_untaken(TimePoint now) {
  if (now >= look_again_ || connections_.untaken_answers() >= look_at_count_) {
    // Removing puts the last in the place of the removed, and the last has been looked at.
    for (std::size_t i = connections_.all().size(); i-- > 0;) {
      HttpConnection& connection = *connections_.all()[i];
      if (connection.state != State::kUntaken || look_at(connection, now)) continue;
      if (now >= connection.since + kUntakenDeadline) give_up(connection);
    }
    look_again_ = TimePoint::max();
    look_at_count_ = std::max(kUntakenAtOnce, 2 * connections_.untaken_answers());
  }
  while (connections_.untaken_bytes() > options_.untaken_bytes) {
    HttpConnection& connection = *connections_.longest_untaken();
    const TimePoint since = connection.since;
    // A client that reads goes to the end of the line.
    if (!look_at(connection, now) && connection.since == since) give_up(connection);
  }
  if (connections_.untaken_answers() == 0) {
    look_again_ = TimePoint::max();
  } else if (look_again_ == TimePoint::max()) {
    look_again_ = now + kUntakenPause;
  }
}

// True when its client has taken everything: then it is closed.
bool HttpFront::look_at(HttpConnection& connection, TimePoint now) {
  const std::size_t untaken = untaken_bytes(connection.descriptor);
  if (untaken != 0) {
    connections_.note_untaken(connection, untaken, now);
    return false;
  }
  ::close(connection.descriptor);
  connections_.remove(connection);
  return true;
}

void HttpFront::give_up(HttpConnection& connection) {
  reset_on_close(connection.descriptor);
  ::close(connection.descriptor);
  connections_.remove(connection);
  ++evictions_;
}

void HttpFront::drop(HttpConnection& connection) {
  int descriptor = connection.descriptor;
  {
    const MutexLock lock(mutex_);
    connections_.remove(connection);
  }
  close_if_open(descriptor);
}

}  // namespace memstat
