// SPDX-License-Identifier: BSD-2-Clause
// Resident memory of files.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/amount_text.h"
#include "core/base/unique_fd.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 6> kResidentColumns{{{.key = "resident_bytes", .title = "RESIDENT", .unit = Unit::kBytes},
                                                        {.key = "size_bytes", .title = "SIZE", .unit = Unit::kBytes},
                                                        {.key = "resident_ratio", .title = "SHARE", .unit = Unit::kRatio},
                                                        {.key = "path", .title = "FILE", .least = 16},
                                                        {.key = "pages", .title = "", .unit = Unit::kNumber},
                                                        {.key = "resident_pages", .title = "", .unit = Unit::kNumber}}};

constexpr auto kResidentOptions =
    joined(std::array{argument("PATH", {1, Option::kAny}, "Files, and directories with all files below them",
                               store<&CommandLine::words>)},
           kReportOptions);

/// A file's resident memory according to mincore(2). Momentary: pages may come and go during the call.
struct Residency {
  std::uint64_t bytes = 0;     ///< The file's size.
  std::uint64_t resident = 0;  ///< Resident bytes: whole pages, except at the end of the file.
  std::uint64_t pages = 0;     ///< Pages of the file; the last may be partial.
  std::uint64_t resident_pages = 0;
  /// False: the file is neither owned nor writable by the caller. Since Linux commit 134fca9063ad ("mm/mincore.c: make
  /// mincore() more conservative") (v5.2), such files are reported as fully resident.
  bool is_known = true;
};

namespace fs = std::filesystem;

constexpr std::size_t kPagesAPiece = 16384;

/// Why a file, or the content of a directory, is missing from the answer.
struct Trouble {
  std::string why;          ///< "": it is not missing.
  bool is_refused = false;  ///< The owner, or root, would be permitted.
};
Trouble trouble_of(const char* what, int error) {
  return {.why = what + std::generic_category().message(error), .is_refused = error == EACCES || error == EPERM};
}

/// Returns -1 with errno if it cannot be opened. Does not block on FIFOs and devices.
int open_to_read(const std::string& path) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// mincore() takes `const void *` and `char *` on FreeBSD, `void *` and `unsigned char *` on Linux.
template <typename Address, typename Byte>
int query_pages(int (*call)(Address*, std::size_t, Byte*), void* at, std::size_t size, std::vector<unsigned char>& pages) {
  return call(at, size, reinterpret_cast<Byte*>(pages.data()));
}

/// Adds a piece of the file, which begins at a page boundary.
Trouble add_piece(int fd, std::uint64_t offset, std::size_t size, std::size_t page, std::vector<unsigned char>& pages,
                  Residency& residency) {
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return trouble_of("cannot be mapped: ", errno);
  const int result = query_pages(&::mincore, at, size, pages);
  const int error = errno;
  ::munmap(at, size);
  if (result != 0 && error == ENOMEM) return {.why = "shrank while it was measured"};
  if (result != 0) return trouble_of("mincore: ", error);
  const std::size_t count = (size + page - 1) / page;
  residency.pages += count;
  for (std::size_t i = 0; i < count; ++i) {
    if ((pages[i] & 1U) == 0) continue;
    ++residency.resident_pages;
    residency.resident += std::min(page, size - i * page);
  }
  return {};
}

/// Measures one file in pieces, so that a sparse file of any size needs little memory. Does not read the file.
Trouble measure(const std::string& path, Residency& residency) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return trouble_of("", errno);
  if (!S_ISREG(status.st_mode)) return {.why = "is not a regular file"};
  const UniqueFd file(open_to_read(path));
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return trouble_of("cannot be opened: ", errno);
  if (!S_ISREG(status.st_mode)) return {.why = "is not a regular file"};
  residency.bytes = static_cast<std::uint64_t>(status.st_size);
#if defined(__linux__)
  residency.is_known = ::geteuid() == 0 || status.st_uid == ::geteuid() || ::access(path.c_str(), W_OK) == 0;
#endif
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(kPagesAPiece);
  for (std::uint64_t offset = 0; offset < residency.bytes; offset += kPagesAPiece * page) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPagesAPiece * page, residency.bytes - offset));
    if (Trouble trouble = add_piece(file.get(), offset, size, page, pages, residency); !trouble.why.empty()) return trouble;
  }
  return {};
}

/// Calls `visit` for each regular file below a directory, or for the file itself, sorted by name. In directories, links
/// are not followed, and other kinds of files are skipped. `refuse` is called for unreadable directories.
template <typename Visit, typename Refuse>
void walk(const std::string& path, Visit visit, Refuse refuse) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    visit(path);
    return;
  }
  // A queue of directories instead of recursion: trees may be deeper than the stack.
  std::vector<fs::path> directories = {path};
  while (!directories.empty()) {
    const fs::path directory = std::move(directories.back());
    directories.pop_back();
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator at(directory, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) entries.push_back(*at);
    if (error) refuse(directory.string(), trouble_of("", error.value()));
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

Cell ratio_of(const Residency& file) {
  return file.bytes == 0 ? Cell() : Cell(static_cast<double>(file.resident) / static_cast<double>(file.bytes));
}

class Files {
 public:
  void add(const std::string& path) {
    Residency file;
    if (const Trouble trouble = measure(path, file); !trouble.why.empty()) {
      leave_out(path, trouble);
      return;
    }
    ++count_;
    progress_.show("measured " + std::to_string(count_) + " files");
    total_.bytes += file.bytes;
    if (file.is_known) {
      known_bytes_ += file.bytes;
      total_.resident += file.resident;
      table_.add({file.resident, file.bytes, ratio_of(file), printable_bytes(path), file.pages, file.resident_pages});
    } else {
      ++unknown_;
      table_.add({Cell(), file.bytes, Cell(), printable_bytes(path), file.pages, Cell()});
    }
  }
  void leave_out(const std::string& path, const Trouble& trouble) {
    const std::string line = printable_bytes(path) + ": " + trouble.why;
    if (trouble.is_refused && refused_++ == 0) first_refused_ = line;
    if (!trouble.is_refused) problem_ += (problem_.empty() ? "" : "\nmemstatctl: ") + line;
  }

  Report finish(ReportView view) {
    progress_.finish();
    table_.add_head("files", count_);
    table_.add_head("unknown_files", unknown_);
    table_.add_head("size_bytes", total_.bytes);
    table_.add_head("resident_bytes", total_.resident);
    if (view.sort.empty()) view.sort = "resident_bytes";  // largest first
    std::string total;
    if (view.layout == Layout::kText && count_ > 1) total = total_line(view.is_human);
    Report report = table_.empty() ? Report{} : report_of(std::move(table_), view);
    report.output += total;
    if (!problem_.empty()) report.problem = problem_;
    if (std::string line = missing_line(); !line.empty()) report.missing.push_back(std::move(line));
    return report;
  }

 private:
  [[nodiscard]] std::string total_line(bool is_human) const {
    const ReportColumn& bytes = kResidentColumns[0];
    const std::string share =
        known_bytes_ == 0 ? "-" : percent_cell(static_cast<double>(total_.resident) / static_cast<double>(known_bytes_));
    return text_of(total_.resident, bytes, is_human) + " of " + text_of(total_.bytes, bytes, is_human) + " (" + share +
           ") in " + std::to_string(count_) + " files\n";
  }

  /// The parts of the answer that are missing for lack of permission; "" for none.
  [[nodiscard]] std::string missing_line() const {
    std::string line;
    if (refused_ == 1) line = "not in this answer: " + first_refused_;
    if (refused_ > 1) line = "not in this answer: " + first_refused_ + ", and " + std::to_string(refused_ - 1) + " more";
    if (unknown_ != 0) {
      line += (line.empty() ? "" : "; ") + std::to_string(unknown_) +
              (unknown_ == 1 ? " file: the kernel does" : " files: the kernel does") +
              " not report resident memory for files that you neither own nor may write";
    }
    return line.empty() ? line : line + "; run as their owner, or as root";
  }

  ReportTable table_{"files", kResidentColumns};
  std::string problem_;
  Progress progress_;
  Residency total_;
  std::uint64_t known_bytes_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t unknown_ = 0;
  std::uint64_t refused_ = 0;
  std::string first_refused_;
};

Report run_resident(const CommandLine& options) {
  Files files;
  for (const std::string& path : options.words) {
    walk(
        path, [&](const std::string& file) { files.add(file); },
        [&](const std::string& directory, const Trouble& trouble) { files.leave_out(directory, trouble); });
  }
  return files.finish(options.view);
}

}  // namespace

const Command kResidentCommand{"resident",
                               Group::kMachine,
                               "Resident memory of each file, largest first, and the total",
                               "memstatctl resident /var/lib/postgresql --limit 10\n"
                               "memstatctl resident /var/log --csv",
                               kResidentOptions,
                               run_resident};

}  // namespace memstat::ctl
