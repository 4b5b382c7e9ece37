// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/socket_holders.h"

#include <utility>

#include "core/base/text.h"
#include "core/parse/header_table.h"

namespace memstat {

Result<void> SocketHolders::find(Inspector& inspector) {
  if (const auto own = inspector.view().read_link("/proc/self/ns/net")) own_space_ = *own;
  const HalfOfTheRest half(inspector);
  auto walked = walk_descriptors(
      inspector,
      [&](const Process& process, std::string_view, std::string_view target) {
        if (const auto inode = inode_of(target, "socket")) holders_.try_emplace(*inode, process);
      },
      [&](const Process& process) {
        const auto space = inspector.view().read_link(path_of(process, "ns/net"));
        if (space) spaces_.try_emplace(*space, process);
      });
  if (walked) spaces_.try_emplace(own_space_, Process{});
  return walked;
}

void SocketHolders::visit_tables(Inspector& inspector, std::initializer_list<std::string_view> files,
                                 const VisitTable& visit) const {
  for (const auto& [space, process] : spaces_) {
    const bool is_own = space == own_space_;
    const std::string directory = is_own ? "/proc/self" : "/proc/" + std::to_string(process.pid);
    for (const std::string_view file : files) {
      visit(file, inspector.read(directory + "/net/" + std::string(file)), is_own ? "" : " in " + space);
    }
  }
}

Holder& SocketHolders::row(std::uint64_t inode, std::string_view uid, const std::string& name) {
  const auto process = holders_.find(inode);
  Holder holder = process == holders_.end() ? Holder{} : holder_of(process->second);
  if (holder.pid == 0) holder.user = uid;
  holder.name = name;
  return rows_.try_emplace({holder.pid, name}, holder).first->second;
}

void SocketHolders::add_rows(Inspector& inspector) {
  for (auto& [key, holder] : rows_) inspector.add(std::move(holder));
}

void for_each_row(std::string_view table, std::initializer_list<std::string_view> columns, const VisitColumns& visit) {
  std::string_view line;
  if (!next_line(table, line)) return;
  std::vector<std::size_t> places;
  for (const std::string_view column : columns) {
    const auto place = column_of(line, column);
    if (!place) return;
    places.push_back(*place);
  }
  std::vector<std::string_view> words;
  std::vector<std::uint64_t> numbers;
  while (next_line(table, line)) {
    words.clear();
    numbers.clear();
    for (std::string_view word; next_word(line, word);) words.push_back(word);
    for (const std::size_t place : places) {
      const auto number = place < words.size() ? parse_u64(words[place]) : std::nullopt;
      if (number) numbers.push_back(*number);
    }
    if (numbers.size() == places.size()) visit(numbers);
  }
}

}  // namespace memstat
