// SPDX-License-Identifier: BSD-2-Clause
// Replaces the service manager's end of NOTIFY_SOCKET.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/base/unique_fd.h"

namespace memstat {

/// A datagram socket below a temporary directory. Thread safety: none.
class NotifySocket {
 public:
  NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    std::array<char, 32> directory{"/tmp/memstat-notify-XXXXXX"};
    if (mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory_ = directory.data();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name().copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot bind the socket");
  }
  ~NotifySocket() {
    unlink(name().c_str());
    rmdir(directory_.c_str());
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  [[nodiscard]] std::string name() const { return directory_ + "/socket"; }
  /// The next message, or nothing if there is none now.
  [[nodiscard]] std::optional<std::string> receive() const {
    std::array<char, 4096> text;
    const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (size < 0) return {};
    return std::string(text.data(), static_cast<std::size_t>(size));
  }

 private:
  UniqueFd socket_;
  std::string directory_;
};

}  // namespace memstat
