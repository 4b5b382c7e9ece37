// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/base/unique_fd.h"

namespace memstat::ctl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPagesAPiece = 16384;

std::string reason_of(int error) { return std::strerror(error); }  // NOLINT(concurrency-mt-unsafe): one thread

/// -1: it cannot be opened, see errno. Never waits for the other end of what is no file.
int open_to_read(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// mincore takes `const void *` and `char *` on FreeBSD, `void *` and `unsigned char *` on Linux.
template <typename Address, typename Byte>
int ask(int (*call)(Address*, std::size_t, Byte*), void* at, std::size_t size, std::vector<unsigned char>& pages) {
  return call(at, size, reinterpret_cast<Byte*>(pages.data()));
}

/// Adds a piece of the file, from a multiple of a page on. "" or why not.
std::string add_piece(int fd, std::uint64_t offset, std::size_t size, std::size_t page, std::vector<unsigned char>& pages,
                      Residency& residency) {
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return "cannot be mapped: " + reason_of(errno);
  const int result = ask(&::mincore, at, size, pages);
  const int error = errno;
  ::munmap(at, size);
  if (result != 0) return error == ENOMEM ? "shrank while it was measured" : "mincore: " + reason_of(error);
  const std::size_t count = (size + page - 1) / page;
  residency.pages += count;
  for (std::size_t i = 0; i < count; ++i) {
    if ((pages[i] & 1U) == 0) continue;
    ++residency.resident_pages;
    residency.resident += std::min(page, size - i * page);
  }
  return {};
}

}  // namespace

std::string measure(const std::string& path, Residency& residency) {
  residency = {};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return reason_of(errno);
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  const UniqueFd file(open_to_read(path));
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return "cannot be opened: " + reason_of(errno);
  if (!S_ISREG(status.st_mode)) return "is not a regular file";
  residency.bytes = static_cast<std::uint64_t>(status.st_size);
#if defined(__linux__)
  residency.is_told = ::geteuid() == 0 || status.st_uid == ::geteuid() || ::access(path.c_str(), W_OK) == 0;
#endif
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(kPagesAPiece);
  for (std::uint64_t offset = 0; offset < residency.bytes; offset += kPagesAPiece * page) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPagesAPiece * page, residency.bytes - offset));
    if (std::string problem = add_piece(file.get(), offset, size, page, pages, residency); !problem.empty()) return problem;
  }
  return {};
}

void walk(const std::string& path, const std::function<void(const std::string&)>& visit,
          const std::function<void(const std::string&)>& refuse) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    visit(path);
    return;
  }
  // A list of directories yet to be read instead of a call within a call: trees may be deeper than a stack.
  std::vector<fs::path> directories = {path};
  while (!directories.empty()) {
    const fs::path directory = std::move(directories.back());
    directories.pop_back();
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator at(directory, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) entries.push_back(*at);
    if (error) refuse(directory.string() + ": " + error.message());
    std::sort(entries.begin(), entries.end());
    const std::size_t known = directories.size();
    for (const fs::directory_entry& entry : entries) {
      const fs::file_type type = entry.symlink_status(error).type();
      if (type == fs::file_type::regular) visit(entry.path().string());
      if (type == fs::file_type::directory) directories.push_back(entry.path());
    }
    std::reverse(directories.begin() + static_cast<std::ptrdiff_t>(known), directories.end());
  }
}

}  // namespace memstat::ctl
