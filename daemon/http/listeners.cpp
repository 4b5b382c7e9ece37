// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/http/listeners.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace memstat {
namespace {

constexpr std::size_t kMaxAddresses = 64;
// The kernel takes the smaller of this and its own limit (net.core.somaxconn, kern.ipc.soacceptqueue).
constexpr int kBacklog = 4096;

std::string_view bind_advice(bool is_unix, int system_errno) {
  switch (system_errno) {
    case EADDRINUSE:
      return is_unix ? "; stop the program that listens there (ss -xlp or sockstat -ul names it), or choose another path"
                     : "; stop the program that uses this address (ss -ltnp or sockstat -l names it) or choose another port";
    case EADDRNOTAVAIL: return "; no interface of this host has this address";
    case EAFNOSUPPORT: return "; this kernel has no IPv6";
    case EACCES:
      return is_unix ? "; the account may not create files in this directory"
                     : "; a port below 1024 needs root: start memstatd as root or choose a higher one";
    case ENOTSOCK: return "; the file there is not a socket: move it, or choose another path";
    default: return "";
  }
}

// Removes a unix socket that no process listens on. Returns 0, or an errno if it is still there.
int remove_stale(const Endpoint& endpoint) {
  struct stat file {};
  if (::lstat(endpoint.path.c_str(), &file) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(file.st_mode)) return ENOTSOCK;
  const SocketAddress address(endpoint);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return errno;
  if (::connect(probe.get(), address.get(), address.length) == 0 || errno != ECONNREFUSED) return EADDRINUSE;
  return ::unlink(endpoint.path.c_str()) == 0 ? 0 : errno;
}

// bind(2) for a unix socket. Creates a missing directory, for the owner only, and sets the file's owner and mode before
// anyone can listen on it.
int bind_unix(int descriptor, const Endpoint& endpoint, const UnixSocketFile& file) {
  const std::string directory = endpoint.path.substr(0, std::max<std::size_t>(endpoint.path.rfind('/'), 1));
  const auto user = static_cast<uid_t>(file.user);  // -1: unchanged
  const auto group = static_cast<gid_t>(file.group);
  if (::mkdir(directory.c_str(), 0755) == 0 && file.user >= 0 && ::chown(directory.c_str(), user, group) != 0) return errno;
  if (const int status = remove_stale(endpoint); status != 0) return status;
  const SocketAddress address(endpoint);
  const mode_t mask = ::umask(0777);
  const int status = ::bind(descriptor, address.get(), address.length) == 0 ? 0 : errno;
  ::umask(mask);
  if (status != 0) return status;
  if ((file.user >= 0 || file.group >= 0) && ::lchown(endpoint.path.c_str(), user, group) != 0) return errno;
  return ::chmod(endpoint.path.c_str(), static_cast<mode_t>(file.mode)) == 0 ? 0 : errno;
}

// Returns 0 or an errno. Sets the real port.
int open_listener(Endpoint& endpoint, const UnixSocketFile& file, std::vector<UniqueFd>& descriptors) {
  SocketAddress address(endpoint);
  const int descriptor = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return errno;
  descriptors.emplace_back(descriptor);
  if (endpoint.is_unix()) {
    const int status = bind_unix(descriptor, endpoint, file);
    return status == 0 && ::listen(descriptor, kBacklog) != 0 ? errno : status;
  }
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // inherited by accepted connections
  // IPv4 clients have their own addresses in the access list, so [::] must not accept them.
  if (!endpoint.address.is_v4()) ::setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(descriptor, address.get(), address.length) != 0 || ::listen(descriptor, kBacklog) != 0 ||
      ::getsockname(descriptor, address.get(), &address.length) != 0) {
    return errno;
  }
  endpoint.port = address.endpoint().port;
  return 0;
}

}  // namespace

Result<HttpListeners> HttpListeners::open(std::vector<Endpoint> endpoints, const UnixSocketFile& file) {
  if (endpoints.empty()) return make_error(ErrorCode::kData, "listen", "no address; write one as 127.0.0.1:8947");
  if (endpoints.size() > kMaxAddresses) return make_error(ErrorCode::kData, "listen", "more than 64 addresses");
  HttpListeners listeners;
  listeners.endpoints_ = std::move(endpoints);
  for (Endpoint& endpoint : listeners.endpoints_) {
    const Endpoint wanted = endpoint;
    if (const int status = open_listener(endpoint, file, listeners.descriptors_); status != 0)
      return system_error(format_endpoint(wanted), status,
                          std::string("cannot listen").append(bind_advice(wanted.is_unix(), status)));
    if (endpoint.is_unix()) listeners.files_.emplace_back(endpoint.path);
  }
  listeners.spare_.fill();
  return listeners;
}

void HttpListeners::close() {
  descriptors_.clear();
  files_.clear();
}

SocketFile::SocketFile(const std::string& path) : name_(path.substr(path.rfind('/') + 1)) {
  const std::string directory = path.substr(0, path.size() - name_.size());
  directory_ = UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat file {};
  if (::fstatat(directory_.get(), name_.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0) inode_ = file.st_ino;
}

SocketFile::~SocketFile() {
  struct stat file {};
  if (!directory_ || ::fstatat(directory_.get(), name_.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (file.st_ino == inode_) ::unlinkat(directory_.get(), name_.c_str(), 0);  // unless another memstatd has replaced it
}

}  // namespace memstat
