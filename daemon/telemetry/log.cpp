// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/telemetry/log.h"

#include <poll.h>
#include <spdlog/sinks/base_sink-inl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <utility>

#include "core/base/json_writer.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "daemon/telemetry/log_queue.h"

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

}  // namespace memstat
