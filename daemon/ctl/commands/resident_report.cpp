// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/resident_report.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/include/memstat.h"
#include "daemon/ctl/commands/residency.h"
#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"
#include "daemon/ctl/output/progress.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kWidth = 8;    // of a column
constexpr std::size_t kBefore = 27;  // columns before the name
constexpr std::size_t kLeastName = 16;

std::string size_text(std::uint64_t bytes) {
  std::array<char, 32> text;
  memstat_bytes_to_string(bytes, text.data(), text.size());
  return text.data();
}

/// Whole percents; 100 for all only, and 0 for none only.
std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  if (part == 0) return "0%";
  if (part == whole) return "100%";
  const double share = static_cast<double>(part) / static_cast<double>(whole) * 100;
  return share < 1 ? "<1%" : std::to_string(static_cast<unsigned>(share)) + "%";
}

class Writer {
 public:
  explicit Writer(Layout layout) : layout_(layout), json_("1") {
    if (layout_ == Layout::kJson) {
      json_.open_list("files");
    } else if (layout_ == Layout::kText) {
      report_.output = row("RESIDENT", "SIZE", "SHARE", "FILE");
    }
  }

  void add(const std::string& path) {
    Residency residency;
    if (const std::string problem = measure(path, residency); !problem.empty()) {
      complain(printable_bytes(path) + ": " + problem);
      return;
    }
    ++count_;
    progress_.show("measured " + std::to_string(count_) + " files");
    untold_ += residency.is_told ? 0 : 1;
    total_.bytes += residency.bytes;
    total_.pages += residency.pages;
    if (residency.is_told) {
      told_bytes_ += residency.bytes;
      total_.resident += residency.resident;
      total_.resident_pages += residency.resident_pages;
    }
    if (layout_ == Layout::kCsv) {
      const auto of = [&](std::uint64_t value) { return residency.is_told ? std::to_string(value) : std::string("-"); };
      rows_.push_back({printable_bytes(path), std::to_string(residency.bytes), std::to_string(residency.pages),
                       of(residency.resident), of(residency.resident_pages)});
    } else if (layout_ == Layout::kJson) {
      json_.open_object({});
      json_.field("path", printable_bytes(path));
      fields(residency, residency.is_told);
      json_.close();
    } else {
      report_.output +=
          row(residency.is_told ? size_text(residency.resident) : "?", size_text(residency.bytes),
              residency.is_told ? share_text(residency.resident, residency.bytes) : "?", printable_bytes(path));
    }
  }
  void complain(const std::string& problem) {
    report_.problem += (report_.problem.empty() ? "" : "\nmemstatctl: ") + problem;
  }

  Report finish() {
    progress_.finish();
    if (layout_ == Layout::kCsv) {
      report_.output = table_csv(rows_);
    } else if (layout_ == Layout::kJson) {
      json_.close();
      json_.open_object("total");
      json_.field("files", count_);
      json_.field("untold", untold_);
      fields(total_, true);
      json_.close();
      report_.output = json_.finish();
    } else if (count_ != 1) {
      report_.output += row(size_text(total_.resident), size_text(total_.bytes), share_text(total_.resident, told_bytes_),
                            "total of " + std::to_string(count_) + " files");
    }
    if (untold_ != 0) {
      complain(std::to_string(untold_) + (untold_ == 1 ? " file: the kernel does" : " files: the kernel does") +
               " not say how much is resident of files that you neither own nor may write; run as their owner, or as root");
    }
    return std::move(report_);
  }

 private:
  static std::string row(std::string_view resident, std::string_view size, std::string_view share, std::string_view file) {
    return to_right(resident, kWidth) + "  " + to_right(size, kWidth) + "  " + to_right(share, 5) + "  " +
           column_name(file, std::max<std::size_t>(kLeastName, terminal_width() - std::min(terminal_width(), kBefore))) +
           "\n";
  }
  void fields(const Residency& residency, bool is_told) {
    json_.field("size", residency.bytes);
    json_.field("pages", residency.pages);
    if (!is_told) return;
    json_.field("resident", residency.resident);
    json_.field("resident_pages", residency.resident_pages);
  }

  Layout layout_;
  std::vector<TableRow> rows_{{"FILE", "SIZE", "PAGES", "RESIDENT", "RESIDENT_PAGES"}};
  JsonWriter json_;
  Report report_;
  Progress progress_;
  Residency total_;
  std::uint64_t told_bytes_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t untold_ = 0;
};

}  // namespace

Report resident_report(std::span<const std::string> paths, Layout layout) {
  Writer writer(layout);
  for (const std::string& path : paths) {
    walk(
        path, [&](const std::string& file) { writer.add(file); },
        [&](const std::string& problem) { writer.complain(printable_bytes(problem)); });
  }
  return writer.finish();
}

}  // namespace memstat::ctl
