// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/log.h"

#include <poll.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "core/base/json_writer.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/base/thread_name.h"

namespace memstat {

namespace {

// spdlog has our levels, in our order.
static_assert(static_cast<int>(LogLevel::kTrace) == spdlog::level::trace &&
              static_cast<int>(LogLevel::kError) == spdlog::level::err);
spdlog::level::level_enum to_spdlog(LogLevel level) { return static_cast<spdlog::level::level_enum>(level); }

/// Passes spdlog's formatted lines to the queue. Thread safety: safe.
class QueueSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  explicit QueueSink(LogQueue& queue) : queue_(queue) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    queue_.push({line.data(), line.size()});
  }
  void flush_() override {}

  LogQueue& queue_;
};

}  // namespace

struct Log::Implementation {
  explicit Implementation(int descriptor) : queue(descriptor, kCapacityBytes) {}

  LogQueue queue;
  spdlog::logger logger{"memstatd", std::make_shared<QueueSink>(queue)};
  std::atomic<LogFormat> format = LogFormat::kText;
  std::atomic<std::uint64_t> dropped_reported = 0;

  void write(LogLevel level, std::string_view message) {
    logger.log(to_spdlog(level), format == LogFormat::kJson ? json_string(message) : make_label_text(message));
  }
};

Log::Log(const LogConfig& config, int descriptor) : implementation_(std::make_unique<Implementation>(descriptor)) {
  implementation_->logger.set_error_handler([this](const std::string&) { implementation_->queue.count_dropped(); });
  configure(config);
}

Log::~Log() = default;

void Log::start_thread() { implementation_->queue.start_thread(); }

void Log::configure(const LogConfig& config) {
  implementation_->format = config.format;
  implementation_->logger.set_level(to_spdlog(config.level));
  implementation_->logger.set_pattern(config.format == LogFormat::kJson
                                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})"
                                          : "%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
}

void Log::write(LogLevel level, std::string_view message) noexcept {
  Implementation& log = *implementation_;
  if (!log.logger.should_log(to_spdlog(level))) return;
  try {
    const std::uint64_t dropped = log.queue.dropped();
    if (const std::uint64_t reported = log.dropped_reported; dropped != reported) {
      log.write(LogLevel::kWarning,
                std::to_string(dropped - reported) + " lines before this one were dropped: the log reader was too slow");
      if (log.queue.dropped() != dropped) {  // still no room
        log.queue.count_dropped();
        return;
      }
      log.dropped_reported = dropped;
    }
    log.write(level, message);
  } catch (...) {  // no memory for a log line must not end the daemon
    log.queue.count_dropped();
  }
}

bool Log::flush(std::chrono::milliseconds longest) noexcept { return implementation_->queue.flush(longest); }

std::uint64_t Log::dropped() const noexcept { return implementation_->queue.dropped(); }

void complain(std::string_view message) noexcept {
  constexpr std::string_view kBegin = "memstatd: ";
  std::array<char, PIPE_BUF> line;  // written at once, because a pipe takes PIPE_BUF bytes atomically
  std::size_t size = kBegin.copy(line.data(), kBegin.size());
  size += message.copy(line.data() + size, line.size() - size - 1);
  line[size++] = '\n';
  pollfd wanted = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (poll(&wanted, 1, 1000) != 1 || (wanted.revents & POLLOUT) == 0) return;
  while (::write(STDERR_FILENO, line.data(), size) < 0 && errno == EINTR) {
  }
}

namespace {

using std::chrono::milliseconds;

// A writable pipe accepts at least this many bytes without blocking.
constexpr std::size_t kPieceBytes = PIPE_BUF;
// Interval at which a thread that waits for the descriptor checks whether to stop.
constexpr milliseconds kBetweenLooks{50};

/// Whether the descriptor accepts a piece, or fails at once, within `longest`.
bool is_writable(int descriptor, milliseconds longest) {
  pollfd wanted = {.fd = descriptor, .events = POLLOUT, .revents = 0};
  return poll(&wanted, 1, static_cast<int>(longest.count())) == 1;
}

}  // namespace

struct LogQueue::State {
  State(int to, std::size_t room, const Clock& its_clock) : descriptor(to), clock(its_clock), capacity(room) {
    pending.reserve(capacity);
  }

  const int descriptor;
  const Clock& clock;
  const std::size_t capacity;
  std::atomic<std::uint64_t> dropped{0};

  Mutex mutex;
  CondVar has_lines;                              // for the thread
  CondVar has_moved;                              // for flush() and the destructor
  std::string pending MEMSTAT_GUARDED_BY(mutex);  // never more than `capacity`, so that it allocates once
  /// A piece is being written, or a thread is about to take one.
  bool is_writing MEMSTAT_GUARDED_BY(mutex) = false;
  bool has_thread MEMSTAT_GUARDED_BY(mutex) = false;
  bool must_end MEMSTAT_GUARDED_BY(mutex) = false;
  bool has_ended MEMSTAT_GUARDED_BY(mutex) = false;
  std::thread thread;  // belongs to the owner once has_thread is set

  /// Writes one piece with the lock released. Requires pending bytes and that no other thread is writing.
  void write_piece() MEMSTAT_REQUIRES(mutex) {
    std::array<char, kPieceBytes> piece;
    const std::size_t size = pending.copy(piece.data(), piece.size());
    is_writing = true;
    mutex.unlock();
    const ssize_t written = ::write(descriptor, piece.data(), size);
    const int failure = written < 0 ? errno : 0;
    mutex.lock();
    is_writing = false;
    if (written >= 0) {
      pending.erase(0, static_cast<std::size_t>(written));
    } else if (failure != EINTR && failure != EAGAIN) {  // a log that is closed takes nothing, now or later
      dropped +=
          static_cast<std::uint64_t>(std::count(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
      pending.erase(0, size);
    }
    has_moved.notify_all();
  }

  void run() {
    name_thread("memstatd-log");
    MutexLock lock(mutex);
    while (!must_end) {
      if (pending.empty()) {
        has_lines.wait(mutex);
        continue;
      }
      lock.unlock();
      const bool takes = is_writable(descriptor, kBetweenLooks);
      lock.lock();
      if (takes && !pending.empty() && !must_end) write_piece();
    }
    has_ended = true;
    has_moved.notify_all();
  }
};

LogQueue::LogQueue(int descriptor, std::size_t capacity_bytes, const Clock& clock)
    : state_(std::make_shared<State>(descriptor, capacity_bytes, clock)) {}

LogQueue::~LogQueue() {
  flush(kLastWait);
  MutexLock lock(state_->mutex);
  if (!state_->has_thread) return;
  state_->must_end = true;
  state_->has_lines.notify_all();
  const bool has_ended = state_->has_moved.wait_for(state_->mutex, kLastWait,
                                                    [this]() MEMSTAT_REQUIRES(state_->mutex) { return state_->has_ended; });
  lock.unlock();
  if (has_ended) {
    state_->thread.join();
  } else {
    state_->thread.detach();
  }
}

void LogQueue::push(std::string_view line) noexcept {
  MutexLock lock(state_->mutex);
  if (line.size() > state_->capacity - state_->pending.size()) {
    ++state_->dropped;
    return;
  }
  state_->pending += line;
  if (state_->has_thread) {
    state_->has_lines.notify_one();
    return;
  }
  while (!state_->pending.empty() && !state_->is_writing && is_writable(state_->descriptor, milliseconds(0))) {
    state_->write_piece();
  }
}

void LogQueue::start_thread() {
  const SignalsBlocked blocked;  // SIGPIPE from a closed log must not end the process
  std::thread thread([state = state_] { state->run(); });
  const MutexLock lock(state_->mutex);
  state_->thread = std::move(thread);
  state_->has_thread = true;
}

bool LogQueue::flush(milliseconds longest) noexcept {
  const TimePoint due = state_->clock.now() + longest;
  MutexLock lock(state_->mutex);
  if (state_->has_thread) {
    state_->has_lines.notify_one();
    return state_->has_moved.wait_until(state_->mutex, due,
                                        [this]() MEMSTAT_REQUIRES(state_->mutex) { return state_->pending.empty(); });
  }
  while (!state_->pending.empty()) {
    const auto left = std::chrono::duration_cast<milliseconds>(due - state_->clock.now());
    if (left.count() <= 0) return false;
    lock.unlock();
    const bool takes = is_writable(state_->descriptor, std::min(left, kBetweenLooks));
    lock.lock();
    if (takes && !state_->pending.empty() && !state_->is_writing) state_->write_piece();
  }
  return true;
}

std::uint64_t LogQueue::dropped() const noexcept { return state_->dropped; }

void LogQueue::count_dropped() noexcept { ++state_->dropped; }

}  // namespace memstat
