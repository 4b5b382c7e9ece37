// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/linux_reports.h"

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "daemon/ctl/output/cells.h"
#include "daemon/ctl/output/json_writer.h"

namespace memstat::ctl {
namespace {

std::string hex(std::uint64_t number) {
  std::array<char, 16> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return std::string("0x").append(digits.data(), end);
}

void add_problem(Report& report, const memory_type_list* list) {
  report.problem += (report.problem.empty() ? "" : "\nmemstatctl: ") + std::string(memstat_mtl_get_message(list));
}

std::string memory_of(const memstat_process& process) {
  std::array<char, 128> text;
  memstat_process_to_string(&process, text.data(), text.size());
  return text.data();
}

}  // namespace

Report process_report(memory_type_list* list, std::span<const int> pids, Layout layout) {
  constexpr std::array<int, 1> kSelf = {0};
  Report report;
  JsonWriter writer("1");
  writer.open_list("processes");
  std::vector<TableRow> rows(1, {"PID", "NAME", "SIZE", "RESIDENT", "SHARED", "TEXT", "DATA"});
  for (const int pid : pids.empty() ? std::span<const int>(kSelf) : pids) {
    memstat_process process;
    if (memstat_get_process(list, pid, &process) != 0) {
      add_problem(report, list);
      continue;
    }
    if (layout == Layout::kCsv) {
      rows.push_back({pid == 0 ? "self" : std::to_string(pid), printable_bytes(process.name), std::to_string(process.size),
                      std::to_string(process.resident), std::to_string(process.shared), std::to_string(process.text),
                      std::to_string(process.data)});
    } else if (layout == Layout::kJson) {
      writer.open_object({});
      if (pid != 0) writer.field("pid", static_cast<std::uint64_t>(pid));
      writer.field("name", printable_bytes(process.name));
      writer.field("size", process.size);
      writer.field("resident", process.resident);
      writer.field("shared", process.shared);
      writer.field("text", process.text);
      writer.field("data", process.data);
      writer.close();
    } else {
      report.output +=
          (pid == 0 ? "self" : std::to_string(pid)) + " " + printable_bytes(process.name) + " " + memory_of(process) + "\n";
    }
  }
  if (layout == Layout::kJson) report.output = writer.finish();
  if (layout == Layout::kCsv) report.output = table_csv(rows);
  return report;
}

Report node_report(memory_type_list* list, std::span<const std::uint64_t> addresses, Layout layout) {
  Report report;
  JsonWriter writer("1");
  writer.open_list("addresses");
  std::vector<TableRow> rows(1, {"ADDRESS", "NODE", "KIND", "FIRST", "LAST", "STATE"});
  for (const std::uint64_t address : addresses) {
    memstat_memory_block block;
    if (memstat_find_memory_block(list, address, &block) != 0) {
      add_problem(report, list);
      continue;
    }
    const char* const kind = block.is_block != 0 ? "block" : "zone";
    const char* const state = block.is_online != 0 ? "online" : "offline";
    if (layout == Layout::kCsv) {
      rows.push_back({std::to_string(address), std::to_string(block.node), kind, std::to_string(block.first),
                      std::to_string(block.last), state});
    } else if (layout == Layout::kJson) {
      writer.open_object({});
      writer.field("address", address);
      writer.field("node", static_cast<std::uint64_t>(block.node));
      writer.field("kind", kind);
      writer.field("first", block.first);
      writer.field("last", block.last);
      writer.field("state", state);
      writer.close();
    } else {
      report.output += hex(address) + ": node " + std::to_string(block.node) + " (" + kind + " " + hex(block.first) + "-" +
                       hex(block.last) + (block.is_online != 0 ? ")\n" : ", offline)\n");
    }
  }
  if (layout == Layout::kJson) report.output = writer.finish();
  if (layout == Layout::kCsv) report.output = table_csv(rows);
  return report;
}

}  // namespace memstat::ctl
