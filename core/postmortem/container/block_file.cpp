// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/container/block_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace memstat::postmortem {

Result<BlockFile> BlockFile::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error(path, errno);
  return adopt(path, std::move(fd));
}

Result<BlockFile> BlockFile::adopt(std::string name, UniqueFd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return system_error(name, errno);
  if (!S_ISREG(status.st_mode)) return data_error(name, 0, "is not a regular file");
  BlockFile file(std::move(name), std::move(fd));
  file.size_ = static_cast<std::uint64_t>(status.st_size);
  file.changed_ns_ = static_cast<std::int64_t>(status.st_mtime) * 1'000'000'000;
  return file;
}

Result<std::size_t> BlockFile::read_some(std::uint64_t offset, char* to, std::size_t size) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_.get(), to + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(name_, errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<void> BlockFile::read(std::uint64_t offset, char* to, std::size_t size) {
  constexpr std::uint64_t kMaxOffset = std::uint64_t{1} << 62U;  // far below the maximum of off_t
  const auto cut_short = [this] {
    return data_error(name_, size_, "is cut short: the file ends before the data that its headers describe",
                      ErrorCode::kKvmShortRead);
  };
  if (offset > kMaxOffset || size > kMaxOffset) return cut_short();
  while (size > 0) {
    const std::uint64_t number = offset / kBlockBytes;
    const auto in_block = static_cast<std::size_t>(offset % kBlockBytes);
    Block& block = blocks_[number % kBlocks];
    char* const bytes = bytes_.get() + (number % kBlocks) * kBlockBytes;
    if (block.number != number) {
      block.number = ~std::uint64_t{0};
      const auto got = read_some(number * kBlockBytes, bytes, kBlockBytes);
      if (!got) return got.error();
      block = {.number = number, .size = *got};
    }
    const std::size_t wanted = std::min(size, kBlockBytes - in_block);
    if (in_block + wanted > block.size) return cut_short();
    std::memcpy(to, bytes + in_block, wanted);
    offset += wanted;
    to += wanted;
    size -= wanted;
  }
  return {};
}

Result<std::string> BlockFile::read_bytes(std::uint64_t offset, std::uint64_t size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (auto done = read(offset, bytes.data(), bytes.size()); !done) return done.error();
  return bytes;
}

}  // namespace memstat::postmortem
