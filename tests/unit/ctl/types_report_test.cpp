// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/types_report.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

namespace memstat::ctl {
namespace {

TEST(TypesReport, EveryAllocatorOfTheApiHasAName) {
  std::ifstream header(MEMSTAT_SOURCE_DIR "/core/include/memstat.h");
  const std::string prefix = "ALLOCATOR_";
  int found = 0;
  for (std::string line; std::getline(header, line);) {
    std::istringstream words(line);
    std::string define;
    std::string macro;
    int number = 0;
    if (!(words >> define >> macro >> number) || define != "#define" || macro.rfind(prefix, 0) != 0) continue;
    if (number == ALLOCATOR_UNKNOWN || number == ALLOCATOR_ANY) continue;
    ++found;
    std::string name = macro.substr(prefix.size());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(allocator_name(number), name);
  }
  EXPECT_GE(found, 3) << "memstat.h was not understood";
  EXPECT_EQ(allocator_name(200), "allocator-200");
}

}  // namespace
}  // namespace memstat::ctl
