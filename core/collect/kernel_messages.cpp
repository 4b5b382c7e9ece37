// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/kernel_messages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "core/kernel/spared_open.h"

namespace memstat {

Result<void> KernelMessages::open() {
  file_ = UniqueFd(spared_open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file_) return {};
  if (errno == ENOENT)
    return system_error(kPath, EACCES, "is hidden here, for example by systemd's ProtectKernelLogs= or PrivateDevices=");
  return system_error(kPath, errno);
}

Result<std::string_view> KernelMessages::next() {
  if (!file_) {
    if (auto opened = open(); !opened) return opened.error();
  }
  // EPIPE: the kernel has overwritten records and continues with the oldest. The gap in the sequence numbers shows it.
  for (int tries = 0; tries < 16; ++tries) {
    const ssize_t size = ::read(file_.get(), record_.data(), record_.size());
    if (size >= 0) return std::string_view(record_.data(), static_cast<std::size_t>(size));
    if (errno == EAGAIN) return std::string_view();
    if (errno != EPIPE && errno != EINTR) return system_error(kPath, errno);
  }
  return std::string_view();
}

}  // namespace memstat
