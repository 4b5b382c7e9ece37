// SPDX-License-Identifier: BSD-2-Clause
// Listening sockets and spare descriptors. They are opened first, so that neither the later privilege drop nor sources
// that keep thousands of files open can prevent it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/spare_files.h"
#include "core/base/unique_fd.h"
#include "daemon/http/sockets.h"

namespace memstat {

/// Owner and mode of unix sockets' files. -1: unchanged.
struct UnixSocketFile {
  std::int64_t user = -1;
  std::int64_t group = -1;
  std::uint32_t mode = 0660;
};

/// The file of a unix socket. Removed at the end unless it was replaced. Works within the sandbox if the account may
/// delete files in the directory.
class SocketFile {
 public:
  explicit SocketFile(const std::string& path);
  ~SocketFile();
  SocketFile(SocketFile&&) = default;
  SocketFile& operator=(SocketFile&&) = default;

 private:
  std::string name_;
  UniqueFd directory_;
  ino_t inode_ = 0;
};

/// Listening sockets. New clients wait in the kernel until an HttpServer accepts them. Movable; closes the sockets on
/// destruction.
class HttpListeners {
 public:
  /// Listens on 1 to 64 addresses. Replaces a unix socket that no process listens on. The error's `path` is the failing
  /// address.
  static Result<HttpListeners> open(std::vector<Endpoint> endpoints, const UnixSocketFile& file = {});

  /// In the order of the addresses, with real ports.
  [[nodiscard]] const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  [[nodiscard]] const std::vector<UniqueFd>& descriptors() const { return descriptors_; }
  [[nodiscard]] SpareFiles& spare() { return spare_; }

  void close();

 private:
  std::vector<Endpoint> endpoints_;
  std::vector<UniqueFd> descriptors_;
  std::vector<SocketFile> files_;
  SpareFiles spare_;
};

}  // namespace memstat
