// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/base/text.h"

namespace memstat {
namespace {

/// Returns a variable's value and removes it from the environment; "" if it was not set.
std::string take_variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  std::string taken(value == nullptr ? "" : value);
  unsetenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return taken;
}

/// A path, or an abstract socket name after '@'.
UniqueFd connect_to(std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool is_usable = name.size() > 1 && name.size() < sizeof address.sun_path && (name[0] == '/' || name[0] == '@');
  if (!is_usable) return {};
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
  return socket;
}

}  // namespace

ServiceManager ServiceManager::of_environment() {
  const std::string name = take_variable("NOTIFY_SOCKET");
  const auto microseconds = parse_u64(take_variable("WATCHDOG_USEC"));
  const std::string process = take_variable("WATCHDOG_PID");
  ServiceManager manager;
  manager.socket_ = connect_to(name);
  const bool is_for_us = process.empty() || parse_u64(process) == static_cast<std::uint64_t>(getpid());
  constexpr std::uint64_t kMax = 365ULL * 24 * 3600 * 1'000'000;
  if (manager.is_there() && is_for_us && microseconds && *microseconds > 0 && *microseconds <= kMax) {
    manager.watchdog_ = std::chrono::microseconds(*microseconds);
  }
  return manager;
}

void ServiceManager::notify(std::string_view state) const {
  if (!socket_) return;
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace memstat
