// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <string>

namespace memstat {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return spdlog::level::trace;
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string escaped(std::string_view message, LogFormat format) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  text.reserve(message.size() + 8);
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      text += format == LogFormat::kJson ? "\\u00" : "\\x";
      text += kHex[byte >> 4U];
      text += kHex[byte & 15U];
    } else if (format == LogFormat::kJson && (c == '"' || c == '\\')) {
      text += '\\';
      text += c;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

struct Log::Implementation {
  spdlog::logger logger{"memstatd", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<LogFormat> format = LogFormat::kText;
};

Log::Log(const LogConfig& config) : implementation_(std::make_unique<Implementation>()) {
  implementation_->logger.flush_on(spdlog::level::trace);
  configure(config);
}

Log::~Log() = default;

void Log::configure(const LogConfig& config) {
  implementation_->format = config.format;
  implementation_->logger.set_level(to_spdlog(config.level));
  implementation_->logger.set_pattern(config.format == LogFormat::kJson
                                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":"%v"})"
                                          : "%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
}

void Log::write(LogLevel level, std::string_view message) noexcept try {
  if (!implementation_->logger.should_log(to_spdlog(level))) return;
  implementation_->logger.log(to_spdlog(level), escaped(message, implementation_->format));
} catch (...) {  // no memory for a log line must not end the daemon
}

}  // namespace memstat
