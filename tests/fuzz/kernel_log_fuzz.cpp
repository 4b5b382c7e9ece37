// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as records of /dev/kmsg, each behind a line of its own "---", as a table of events, and as
// contents of kern.msgbuf, one after the other. The records that were kept form a table that can be read back, and fields
// never outlive their line.
#include <cstdlib>

#include "core/model/freebsd_log.h"
#include "core/model/kernel_log.h"
#include "core/model/kernel_log_book.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void read_fields(const memstat::LogTable& table) {
  for (std::size_t i = 0; i < table.size; ++i) {
    std::size_t size = table.events[i].text.size() + 20;
    for (const std::string_view more : table.events[i].more) size += more.size();
    for (const memstat::LogField& field : memstat::fields_of(table.events[i])) {
      if (field.name.empty() || field.value.size() > size) {
        std::abort();
      }
    }
  }
}

void read_back(const memstat::KernelLogBook& book) {
  memstat::Buffer text;
  book.write(text);
  memstat::LogTable table;
  if (memstat::read_log_table(text.view(), table)) std::abort();
  read_fields(table);
}

}  // namespace

void memstat::fuzz(std::string_view bytes) {
  constexpr std::string_view kSeparator = "---\n";
  LogTable table;
  if (!read_log_table(bytes, table)) read_fields(table);
  KernelLogBook book;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t end = rest.find(kSeparator);
    book.add(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kSeparator.size());
  }
  read_back(book);
  KernelLogBook freebsd(kFreeBsdLogEvents);
  std::string_view known;
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::size_t end = rest.find(kSeparator);
    std::string_view lines = lines_after(known, rest.substr(0, end));
    known = rest.substr(0, end);
    if (!known.ends_with(lines)) std::abort();
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kSeparator.size());
    while (!lines.empty()) {
      const FreeBsdLogLine line = read_freebsd_log_line(lines.substr(0, lines.find('\n')));
      if (const auto event = event_of_line(line)) freebsd.add(*event, line.time_us, line.text);
      lines.remove_prefix(lines.find('\n') == std::string_view::npos ? lines.size() : lines.find('\n') + 1);
    }
  }
  read_back(freebsd);
}
