// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/oracle.h"

#include "core/base/text.h"
#include "tests/support/fixtures.h"

namespace memstat {
namespace {

bool parse_list(std::string_view text, std::vector<std::uint64_t>& numbers) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto number = parse_u64(text.substr(0, comma));
    if (!number) return false;
    numbers.push_back(*number);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return true;
}

bool parse_line(std::string_view line, OracleType& type) {
  if (!line.starts_with("T\t")) return false;
  line.remove_prefix(2);
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return false;
  type.name = line.substr(0, tab);
  line.remove_prefix(tab + 1);
  for (std::string_view word; next_word(line, word);) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key.starts_with("pcpu_")) {
      if (!parse_list(value, type.cpus[std::string(key.substr(5))])) return false;
    } else {
      const auto number = parse_u64(value);
      if (!number) return false;
      type.figures[std::string(key)] = *number;
    }
  }
  return true;
}

}  // namespace

Result<std::vector<OracleType>> parse_oracle(std::string_view text) {
  std::vector<OracleType> types;
  std::string_view rest = text;
  for (std::string_view line; next_line(rest, line);) {
    if (line.empty() || line.front() == '#') continue;
    OracleType type;
    if (!parse_line(line, type)) {
      return data_error("oracle", static_cast<std::uint64_t>(line.data() - text.data()),
                        "not a line of a dump: " + std::string(line));
    }
    types.push_back(std::move(type));
  }
  return types;
}

std::optional<std::string> read_beside_capture(const std::string& capture_file_name, std::string_view path) {
  for (ArchivedFile& file : members_of_fixture(capture_file_name)) {
    const std::string& name = file.header.path;
    if (name.ends_with(path) && (name.size() == path.size() || name[name.size() - path.size() - 1] == '/'))
      return std::move(file.bytes);
  }
  return std::nullopt;
}

}  // namespace memstat
