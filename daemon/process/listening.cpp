// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/process/listening.h"

#include <unistd.h>

#include <filesystem>

#include "daemon/privileges/account.h"

namespace memstat {

Result<HttpListeners> open_listeners(const Config& config) {
  UnixSocketFile file{.user = -1, .group = -1, .mode = config.unix_socket.mode};
  if (!socket_directories(config).empty()) {
    if (::geteuid() == 0 && !config.user.empty()) {
      const AccountNumbers account = account_numbers(account_for(config.user, kOwnUser));
      file.user = account.user;
      file.group = account.group;
    }
    if (const std::string& name = config.unix_socket.group; !name.empty()) {
      file.group = group_number(name);
      if (file.group < 0)
        return make_error(ErrorCode::kData, "unix_socket.group: " + name, "this machine has no such group");
    }
  }
  return HttpListeners::open(config.listen, file);
}

std::vector<std::string> socket_directories(const Config& config) {
  std::vector<std::string> directories;
  for (const Endpoint& endpoint : config.listen) {
    if (endpoint.is_unix()) directories.push_back(std::filesystem::path(endpoint.path).parent_path().string());
  }
  return directories;
}

}  // namespace memstat
