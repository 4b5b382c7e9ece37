// SPDX-License-Identifier: BSD-2-Clause
// The sockets that listen, and spare descriptors beside them: opened first of all, so that neither a privilege that is given
// up later nor sources that keep thousands of files open can take them away.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "daemon/http/sockets.h"

namespace memstat {

/// Open files that are kept for a moment when none can be had: one is closed, and what takes its place can be opened.
/// Files, not only descriptors, because the table that is full may be the system's. Thread safety: none.
class SpareFiles {
 public:
  static constexpr std::size_t kCount = 4;

  /// Opens what is missing, as far as the system allows.
  void fill();
  /// Closes one. False when there is none.
  bool give();
  void give_all() { files_.clear(); }
  [[nodiscard]] bool full() const { return files_.size() >= kCount; }

 private:
  std::vector<UniqueFd> files_;
};

/// The owner and mode of the files of unix sockets. -1: as they are made. Thread safety: a plain value.
struct UnixSocketFile {
  std::int64_t user = -1;
  std::int64_t group = -1;
  std::uint32_t mode = 0660;
};

/// The file of a unix socket, removed at the end unless another has taken its place. Works behind the sandbox, too, where
/// the account may remove files of the directory. Thread safety: none.
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

/// Sockets that listen. Clients that connect wait in the kernel until an HttpServer takes them. Movable; closes at its end.
/// Thread safety: none.
class HttpListeners {
 public:
  /// Listens there: at least one, at most 64. A unix socket that no process listens on is replaced. The error's `path` names
  /// the address that cannot be had.
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
