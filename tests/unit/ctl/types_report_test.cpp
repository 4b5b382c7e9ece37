// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/types_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>

namespace memstat::ctl {
namespace {

TEST(TypesReport, EveryAllocatorOfTheApiHasAName) {
  std::ifstream header(MEMSTAT_SOURCE_DIR "/core/include/memstat.h");
  const std::regex definition(R"(#define ALLOCATOR_([A-Z0-9]+) (\d+).*)");
  int found = 0;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, definition)) continue;
    const int number = std::stoi(match[2]);
    if (number == ALLOCATOR_UNKNOWN || number == ALLOCATOR_ANY) continue;
    ++found;
    std::string name = match[1];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(allocator_name(number), name);
  }
  EXPECT_GE(found, 3) << "memstat.h was not understood";
  EXPECT_EQ(allocator_name(200), "allocator-200");
}

}  // namespace
}  // namespace memstat::ctl
