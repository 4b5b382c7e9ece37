// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/jail_table.h"

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/ascii.h"
#include "core/base/text.h"
#include "core/parse/freebsd_exports.h"

namespace memstat {
namespace {

/// Whether "outer.inner" is within "outer". Each is within itself.
bool is_within(std::string_view inner, std::string_view outer) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
}

/// A jail's root names the jails within it as it likes.
void append_name(std::string_view name, Buffer& out) {
  out.append(" ");
  out.append(make_label_text(name));
  out.append("\n");
}

}  // namespace

Result<void> JailTable::open() { return system_error(kList, ENOENT); }
Result<void> JailTable::read(Buffer&) { return system_error(kList, ENOENT); }

Result<void> JailTable::open_on(KernelView& machine) {
  if (auto read = machine.read_sysctl(kList, list_, 0); !read) return read;
  return machine.read_sysctl(kProcesses, scratch_, 0);
}

Result<void> JailTable::read_jails(KernelView& machine) {
  jails_.clear();
  if (auto read = machine.read_sysctl(kList, list_, list_.size()); !read) return read;
  return for_each_jail(kList, list_.view(), [&](const ExportedJail& jail) {
    if (jail.is_alive) jails_.push_back({.number = jail.number, .name = jail.name});
    return true;
  });
}

Result<void> JailTable::add_processes(KernelView& machine) {
  if (auto read = machine.read_sysctl(kProcesses, scratch_, scratch_.size()); !read) return read;
  return for_each_process(kProcesses, scratch_.view(), [&](const ExportedProcess& process) {
    if (process.jail == 0) return true;
    const auto own =
        std::find_if(jails_.begin(), jails_.end(), [&](const Jail& jail) { return jail.number == process.jail; });
    if (own == jails_.end()) return true;
    for (Jail& jail : jails_) {
      if (!is_within(own->name, jail.name)) continue;
      jail.resident_pages = saturating_sum(jail.resident_pages, process.resident);
      jail.address_space = saturating_sum(jail.address_space, process.address_space);
      jail.threads = saturating_sum(jail.threads, std::uint64_t{process.threads});
      ++jail.processes;
    }
    return true;
  });
}

void JailTable::add_sums(const Jail& jail, std::uint64_t page_size, Buffer& out) const {
  out.append("jail processes ");
  std::string_view separator;
  for (const auto& [word, amount] : std::initializer_list<std::pair<std::string_view, std::uint64_t>>{
           {"memoryuse=", saturating_product(jail.resident_pages, page_size)},
           {"vmemoryuse=", jail.address_space},
           {"maxproc=", jail.processes},
           {"nthr=", jail.threads}}) {
    out.append(std::exchange(separator, ","));
    out.append(word);
    out.append(NumberDigits(amount).view());
  }
  append_name(jail.name, out);
}

Result<void> JailTable::read_on(KernelView& machine, Buffer& out) {
  if (auto read = read_jails(machine); !read) return read;
  out.assign(kHead);
  out.append("\n");
  bool is_counted = true;
  bool has_sums = false;
  for (const Jail& jail : jails_) {
    const Result<void> counted = is_counted ? machine.read_jail_counts(jail.name, scratch_) : Result<void>();
    if (!counted && counted.error().code == ErrorCode::kIo) continue;  // gone just now
    is_counted = is_counted && counted;
    if (!is_counted) {
      if (auto added = has_sums ? Result<void>() : add_processes(machine); !added) return added;
      has_sums = true;
      add_sums(jail, machine.page_size(), out);
      continue;
    }
    std::string_view rest = scratch_.view();
    std::string_view counts;
    next_line(rest, counts);
    out.append("jail racct ");
    out.append(counts);
    append_name(jail.name, out);
    for (std::string_view rule; next_line(rest, rule);) {
      out.append("rule ");
      out.append(rule);
      out.append("\n");
    }
  }
  out.append("end\n");
  return {};
}

}  // namespace memstat
