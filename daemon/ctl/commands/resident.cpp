// SPDX-License-Identifier: BSD-2-Clause
// How much of files is in memory.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/residency.h"
#include "daemon/ctl/output/progress.h"
#include "daemon/ctl/output/report_table.h"

namespace memstat::ctl {
namespace {

constexpr std::array<ReportColumn, 6> kResidentColumns{{{.key = "resident_bytes", .title = "RESIDENT", .unit = Unit::kBytes},
                                                        {.key = "size_bytes", .title = "SIZE", .unit = Unit::kBytes},
                                                        {.key = "resident_ratio", .title = "SHARE", .unit = Unit::kRatio},
                                                        {.key = "path", .title = "FILE", .least = 16},
                                                        {.key = "pages", .title = "", .unit = Unit::kNumber},
                                                        {.key = "resident_pages", .title = "", .unit = Unit::kNumber}}};

void add_resident(OptionAdder& add) {
  add.paths();
  add.report(OptionAdder::Patterns::kNone);
}

Cell ratio_of(const Residency& file) {
  return file.bytes == 0 ? Cell() : Cell(static_cast<double>(file.resident) / static_cast<double>(file.bytes));
}

class Files {
 public:
  void add(const std::string& path) {
    Residency file;
    if (const std::string why = measure(path, file); !why.empty()) {
      complain(printable_bytes(path) + ": " + why);
      return;
    }
    ++count_;
    progress_.show("measured " + std::to_string(count_) + " files");
    total_.bytes += file.bytes;
    if (file.is_told) {
      told_bytes_ += file.bytes;
      total_.resident += file.resident;
      table_.add({file.resident, file.bytes, ratio_of(file), printable_bytes(path), file.pages, file.resident_pages});
    } else {
      ++untold_;
      table_.add({Cell(), file.bytes, Cell(), printable_bytes(path), file.pages, Cell()});
    }
  }
  void complain(const std::string& problem) { problem_ += (problem_.empty() ? "" : "\nmemstatctl: ") + problem; }

  Report finish(ReportView view) {
    progress_.finish();
    if (untold_ != 0) {
      complain(std::to_string(untold_) + (untold_ == 1 ? " file: the kernel does" : " files: the kernel does") +
               " not say how much is resident of files that you neither own nor may write; run as their owner, or as root");
    }
    table_.add_head("files", count_);
    table_.add_head("untold_files", untold_);
    table_.add_head("size_bytes", total_.bytes);
    table_.add_head("resident_bytes", total_.resident);
    if (view.sort.empty()) view.sort = "resident_bytes";  // what takes most first
    std::string total;
    if (view.layout == Layout::kText && count_ > 1) total = total_line(view.is_human);
    Report report = table_.empty() ? Report{} : report_of(std::move(table_), view);
    report.output += total;
    if (!problem_.empty()) report.problem = problem_;
    return report;
  }

 private:
  [[nodiscard]] std::string total_line(bool is_human) const {
    const ReportColumn& bytes = kResidentColumns[0];
    const std::string share =
        told_bytes_ == 0 ? "-" : percent(static_cast<double>(total_.resident) / static_cast<double>(told_bytes_));
    return text_of(total_.resident, bytes, is_human) + " of " + text_of(total_.bytes, bytes, is_human) + " (" + share +
           ") in " + std::to_string(count_) + " files\n";
  }

  ReportTable table_{"files", kResidentColumns};
  std::string problem_;
  Progress progress_;
  Residency total_;
  std::uint64_t told_bytes_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t untold_ = 0;
};

Report run_resident(const CommandLine& options) {
  Files files;
  for (const std::string& path : options.words) {
    walk(
        path, [&](const std::string& file) { files.add(file); },
        [&](const std::string& problem) { files.complain(printable_bytes(problem)); });
  }
  return files.finish(options.view);
}

}  // namespace

const Command kResidentCommand{"resident",
                               Group::kMachine,
                               "How much of each file is in this machine's memory, the most first, and of all",
                               "memstatctl resident /var/lib/postgresql --limit 10\n"
                               "memstatctl resident /var/log --csv",
                               add_resident,
                               run_resident};

}  // namespace memstat::ctl
