// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/front.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/thread_name.h"
#include "daemon/http/rules.h"
#include "daemon/http/sockets.h"

namespace memstat {
namespace {

using State = ConnectionState;
using std::chrono::milliseconds;

constexpr int kAcceptsInARow = 64;
constexpr std::size_t kFilesAtOnce = 4;  // given up for one connection
// A client whose request waits this long for a worker has given up.
constexpr milliseconds kReadyDeadline{10'000};
constexpr milliseconds kRefillPause{500};
// Acknowledgements cause no event, so check at this interval.
constexpr milliseconds kAcknowledgedPause{1000};
// When the memory for all sockets is used up, the kernel reports room in the send buffer but accepts nothing.
constexpr milliseconds kNoMemoryPause{50};
constexpr std::size_t kMaxDropped = 64 * 1024;

constexpr std::string_view kLate =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 54\r\n"
    "Connection: close\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n\r\n"
    "Request Timeout: the header was not complete in time.\n";

bool would_block(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

}  // namespace

HttpFront::HttpFront(HttpServerOptions options, HttpListeners listeners)
    : options_(std::move(options)),
      listeners_(std::move(listeners)),
      connections_(std::max<std::size_t>(options_.connections, 1),
                   std::max<std::size_t>(options_.connections_per_address, 1)) {
  polled_.reserve(options_.connections + listeners_.descriptors().size() + 1);
  polled_connections_.reserve(options_.connections);
  received_.resize(kMaxHeaderBytes);
}

Result<void> HttpFront::start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return system_error("HTTP server", errno, "cannot make a pipe");
  wake_read_ = UniqueFd(ends[0]);
  wake_write_ = UniqueFd(ends[1]);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    return system_error("HTTP server", error.code().value(), "cannot start a thread");
  }
  return {};
}

void HttpFront::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (std::size_t i = connections_.all().size(); i-- > 0;) {
      HttpConnection& connection = *connections_.all()[i];
      if (connection.state != State::kAnswering) drop(connection);
    }
  }
  request_ready_.notify_all();
  if (thread_.joinable()) {
    wake();
    thread_.join();
  }
  listeners_.close();
}

bool HttpFront::adopt(UniqueFd connection, Endpoint peer) {
  const MutexLock lock(mutex_);
  HttpConnection* const added = add(std::move(connection), peer, 0);
  if (added == nullptr) return false;
  added->is_own = true;
  wake();
  return true;
}

HttpConnection* HttpFront::add(UniqueFd descriptor, Endpoint peer, std::size_t listener) {
  if (HttpConnection* const excess = connections_.too_many(client_of(peer.address)); excess != nullptr) {
    // Clients that do not read are all alike, and rejecting the newest costs least.
    if (has_small_window(descriptor.get())) {
      ++evictions_;
      reset_on_close(descriptor.get());
      return nullptr;
    }
    evict(*excess);
  }
  if (stopping_ || connections_.full()) return nullptr;
  if (is_crowded()) use_small_send_buffer(descriptor.get());
  return &connections_.add(descriptor.release(), peer, listener, options_.clock.now());
}

void HttpFront::log(std::string_view line) const noexcept {
  try {
    if (options_.log) options_.log(line);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no one is left to report to
  }
}

void HttpFront::wake() const {
  [[maybe_unused]] const ssize_t ignored = ::write(wake_write_.get(), "", 1);  // a full pipe also wakes it
}

// ---- for workers --------------------------------------------------------------------------------------------------------

HttpConnection* HttpFront::next_request() {
  MutexLock lock(mutex_);
  HttpConnection* found = nullptr;
  request_ready_.wait(mutex_, [&]() MEMSTAT_REQUIRES(mutex_) {
    found = connections_.next_request();
    return found != nullptr || stopping_;
  });
  if (stopping_) return nullptr;
  connections_.change(*found, State::kAnswering, options_.clock.now());
  return found;
}

void HttpFront::respond(HttpConnection& connection, bool head_only) {
  connection.outgoing.clear();
  connection.outgoing.add(connection.head);
  if (!head_only) {
    for (const std::string_view piece : connection.response.pieces) connection.outgoing.add(piece);
    connection.outgoing.add(connection.response.text);
  }
  const Outgoing::Status status = connection.outgoing.send(connection.descriptor);
  HttpResponse finished;  // outlives the lock: releasing it may free a page
  MutexLock lock(mutex_);
  if (status == Outgoing::Status::kFailed || stopping_) {
    finished = std::move(connection.response);
    if (connection.is_polled) wake();
    drop(connection, true);
  } else if (status == Outgoing::Status::kDone) {
    finished = std::exchange(connection.response, {});
    if (finish(connection)) wake();
    lock.unlock();
    call_workers();
  } else {
    connections_.change(connection, State::kWriting, options_.clock.now());
    connection.retry = {};
    // A page that is shared with other connections costs no memory of its own.
    if (connection.response.owner.use_count() <= 1) connections_.note_unsent(connection, connection.outgoing.left());
    limit_unsent();
    wake();
  }
}

void HttpFront::abandon(HttpConnection& connection) {
  const MutexLock lock(mutex_);
  if (connection.is_polled) wake();
  drop(connection);
}

// ---- the front's own thread ---------------------------------------------------------------------------------------------

void HttpFront::run() {
  name_thread("memstatd-listen");
  for (;;) {
    TimePoint wake = TimePoint::max();
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      const TimePoint now = options_.clock.now();
      expire(now);
      wake = collect_descriptors(now);
    }
    wait_until(wake);
    const std::size_t first = polled_.size() - polled_connections_.size();
    for (std::size_t i = first; i < polled_.size(); ++i) {
      if (polled_[i].revents == 0) continue;
      {
        const MutexLock lock(mutex_);
        if (stopping_) return;
        serve(*polled_connections_[i - first]);
      }
      call_workers();
    }
    for (std::size_t i = 1; i < first; ++i) {
      if (polled_[i].revents != 0) accept_from(i - 1);
    }
  }
}

// Order: the pipe, listeners, connections. Returns the time to wake up without an event.
TimePoint HttpFront::collect_descriptors(TimePoint now) {
  TimePoint wake = TimePoint::max();
  polled_.clear();
  polled_connections_.clear();
  connections_.shrink();
  polled_.push_back({wake_read_.get(), POLLIN, 0});
  const bool listens = now >= listening_again_;
  if (!listens) wake = listening_again_;
  if (!listeners_.spare().full()) wake = std::min(wake, std::max(refill_, now));
  for (const UniqueFd& listener : listeners_.descriptors()) polled_.push_back({listens ? listener.get() : -1, POLLIN, 0});
  for (const auto& connection : connections_.all()) {
    const bool is_answered = connection->state == State::kAnswering || connection->state == State::kReady;
    connection->is_polled = false;
    wake = std::min(wake, is_answered ? now + kAcknowledgedPause : deadline(*connection));
    if ((is_answered && !(connection->was_kept && !connection->has_more)) || connection->ended) continue;
    const bool writes = connection->state == State::kWriting;
    if (writes && connection->retry > now) {
      wake = std::min(wake, connection->retry);
      continue;
    }
    connection->is_polled = true;
    polled_connections_.push_back(connection.get());
    polled_.push_back({connection->descriptor, static_cast<short>(writes ? POLLOUT : POLLIN), 0});
  }
  return wake;
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
  if (polled_[0].revents != 0) {
    [[maybe_unused]] const ssize_t ignored = ::read(wake_read_.get(), received_.data(), received_.size());
  }
  const TimePoint now = options_.clock.now();
  if (now < refill_) return;
  const MutexLock lock(mutex_);
  if (listeners_.spare().full()) return;
  listeners_.spare().fill();
  refill_ = now + kRefillPause;
}

void HttpFront::serve(HttpConnection& connection) {
  if (connection.descriptor < 0) return;  // closed since it was polled
  switch (connection.state) {
    case State::kWriting: send(connection); break;
    case State::kSent:
    case State::kReading:
    case State::kIdle: receive(connection); break;
    case State::kReady:
    case State::kAnswering: connection.has_more = true; break;  // look at it after the response is sent
  }
}

void HttpFront::accept_from(std::size_t listener) {
  std::size_t wanted_files = kFilesAtOnce;
  for (int i = 0; i < kAcceptsInARow; ++i) {
    SocketAddress from;
    const int descriptor =
        ::accept4(listeners_.descriptors()[listener].get(), from.get(), &from.length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor >= 0) {
      take(UniqueFd(descriptor), from.endpoint(), listener);
      const MutexLock lock(mutex_);
      if (!is_crowded()) return;
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno != EMFILE && errno != ENFILE) return;
    if (!release_files(wanted_files)) {
      listening_again_ = options_.clock.now() + kPauseWithoutDescriptors;
      return;
    }
    wanted_files *= 2;  // other programs were faster, or the table is more than full
  }
}

// Out of descriptors: give up some of the reserve. Without one, close the connection that has waited longest for its header.
bool HttpFront::release_files(std::size_t count) {
  const MutexLock lock(mutex_);
  if (listeners_.spare().give(count)) return true;
  HttpConnection* const waiting = connections_.oldest(State::kReading);
  if (waiting == nullptr) return false;
  evict(*waiting);  // its file becomes the reserve, unless another program has it
  listeners_.spare().give(count);
  return true;
}

void HttpFront::take(UniqueFd descriptor, Endpoint peer, std::size_t listener) {
  if (endpoints()[listener].is_unix()) {
    peer.address = peer_process(descriptor.get());
  } else if (!may_connect(peer.address, options_.allow)) {
    log(format_ip(peer.address) + " is not allowed to connect");
    return;
  }
  {
    const MutexLock lock(mutex_);
    HttpConnection* const added = add(std::move(descriptor), peer, listener);
    listeners_.spare().fill();  // take back at once what this connection did not need
    if (added != nullptr) receive(*added);
  }
  call_workers();
}

// ---- one connection -----------------------------------------------------------------------------------------------------

// Discards what a client sends while it gets its last response.
void HttpFront::receive(HttpConnection& connection) {
  const bool discards = connection.state == State::kSent && connection.closes;
  const std::size_t seen = discards ? 0 : connection.input.size();
  const ssize_t got = ::recv(connection.descriptor, received_.data(), kMaxHeaderBytes - seen, MSG_DONTWAIT);
  if (would_block(got)) return;
  if (got == 0 && connection.state == State::kSent && unacknowledged_bytes(connection.descriptor) != 0) {
    // Only the acknowledgement of the response ends the connection.
    ::shutdown(connection.descriptor, SHUT_WR);
    connection.closes = connection.ended = true;
  } else if (got <= 0) {
    drop(connection);
  } else if (discards) {
    connection.dropped += static_cast<std::size_t>(got);
    if (connection.dropped > kMaxDropped) drop(connection, true);
  } else {
    connection.input.append(received_.data(), static_cast<std::size_t>(got));
    if (connection.state != State::kReading) connections_.change(connection, State::kReading, options_.clock.now());
    examine(connection, seen);
  }
}

// Searches the received bytes for a complete header; the first `seen` bytes contain no end.
void HttpFront::examine(HttpConnection& connection, std::size_t seen) {
  const std::string& input = connection.input;
  std::size_t length = header_length(input, seen);
  if (length == 0 && input.size() >= kMaxHeaderBytes) length = input.size();  // the worker will reject it
  if (length == 0) return;
  connection.header_bytes = length;
  connections_.change(connection, State::kReady, options_.clock.now());
  ++new_requests_;
}

// Called without the mutex, which the worker needs next.
void HttpFront::call_workers() {
  for (unsigned count = new_requests_.exchange(0); count > 0; --count) request_ready_.notify_one();
}

void HttpFront::send(HttpConnection& connection) {
  const std::size_t before = connection.outgoing.left();
  const Outgoing::Status status = connection.outgoing.send(connection.descriptor);
  if (connection.unsent != 0) connections_.note_unsent(connection, connection.outgoing.left());
  if (status == Outgoing::Status::kFailed) {
    drop(connection, true);
  } else if (status == Outgoing::Status::kDone) {
    connection.response = {};
    connections_.note_unsent(connection, 0);
    finish(connection);
  } else if (connection.outgoing.left() == before) {
    connection.retry = options_.clock.now() + kNoMemoryPause;
  }
}

// Called when the kernel has the whole response. Returns true if the front must look at the connection at once: to start
// polling it, or to stop, because polling keeps a closed connection open. A connection that only awaits its client's
// acknowledgement can wait for the front's next look; there is one while a worker has a connection.
bool HttpFront::finish(HttpConnection& connection) {
  const TimePoint now = options_.clock.now();
  connection.outgoing.clear();
  connection.input.erase(0, connection.header_bytes);
  connection.header_bytes = 0;
  connection.has_more = false;
  const bool is_polled = connection.is_polled;
  const bool is_acknowledged = unacknowledged_bytes(connection.descriptor) == 0;
  if (connection.closes && is_acknowledged && !connection.drains && connection.input.empty()) {
    drop(connection);
    return is_polled;
  }
  connection.was_kept = true;
  if (!connection.closes && !connection.input.empty()) {
    connections_.change(connection, State::kReading, now);
    examine(connection, 0);
    return connection.state == State::kReading;
  }
  if (connection.closes) ::shutdown(connection.descriptor, SHUT_WR);
  connections_.change(connection, is_acknowledged && !connection.closes ? State::kIdle : State::kSent, now);
  connection.retry = now + kAcknowledgedPause;
  return !connection.closes && !is_polled;
}

TimePoint HttpFront::deadline(const HttpConnection& connection) const {
  switch (connection.state) {
    case State::kReading: return connection.since + options_.header_deadline;
    case State::kReady: return connection.since + kReadyDeadline;
    case State::kWriting: return connection.since + options_.write_deadline;
    case State::kSent: return std::min(connection.retry, connection.since + options_.write_deadline);
    case State::kIdle: return connection.since + options_.keep_alive_idle;
    case State::kAnswering: break;
  }
  return TimePoint::max();
}

void HttpFront::expire(TimePoint now) {
  // Backwards, because removal moves the last connection into the gap.
  for (std::size_t i = connections_.all().size(); i-- > 0;) {
    HttpConnection& connection = *connections_.all()[i];
    if (now >= deadline(connection)) expire(connection, now);
  }
}

void HttpFront::expire(HttpConnection& connection, TimePoint now) {
  switch (connection.state) {
    case State::kReading:
      // The client's bytes have been read, so closing does not discard this response.
      (void)::send(connection.descriptor, kLate.data(), kLate.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      drop(connection);
      break;
    case State::kSent:
      if (const bool is_acknowledged = unacknowledged_bytes(connection.descriptor) == 0;
          is_acknowledged && !connection.closes) {
        connections_.change(connection, State::kIdle, connection.since);
      } else if (is_acknowledged || now >= connection.since + options_.write_deadline) {
        drop(connection, !is_acknowledged);
      } else {
        connection.retry = now + kAcknowledgedPause;
      }
      break;
    case State::kReady:
    case State::kIdle: drop(connection); break;
    case State::kWriting: drop(connection, true); break;
    case State::kAnswering: break;
  }
}

// Limits the memory held by responses to slow clients.
void HttpFront::limit_unsent() {
  while (connections_.unsent_bytes() > options_.unsent_bytes) {
    HttpConnection* const largest = connections_.largest_unsent();
    if (largest == nullptr || largest->unsent == connections_.unsent_bytes())
      return;  // a single response may exceed the limit
    evict(*largest);
  }
}

void HttpFront::evict(HttpConnection& connection) {
  ++evictions_;
  drop(connection, true);
}

void HttpFront::drop(HttpConnection& connection, bool reset) {
  if (reset) reset_on_close(connection.descriptor);
  ::close(connection.descriptor);
  listeners_.spare().fill();  // before another program takes the file
  connections_.remove(connection);
}

}  // namespace memstat
