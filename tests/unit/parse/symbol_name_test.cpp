// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/symbol_name.h"

#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(SymbolName, IsTheFunctionAndItsModule) {
  EXPECT_EQ(SymbolName("f").view(), "f");
  EXPECT_EQ(SymbolName("f", "m").view(), "f [m]");
  EXPECT_EQ(SymbolName("").view(), "");
  SymbolName name("f", "m");
  name.append(" (");
  name.append("kind)");
  EXPECT_EQ(name.view(), "f [m] (kind)");
}

TEST(SymbolName, CutsNamesThatAreTooLong) {
  const std::string endless(4096, 'x');
  SymbolName name(endless, endless);
  EXPECT_EQ(name.view(),
            endless.substr(0, SymbolName::kMaxFunctionSize) + " [" + endless.substr(0, SymbolName::kMaxModuleSize) + "]");
  const std::size_t size = name.view().size();
  name.append(endless);
  EXPECT_EQ(name.view().size(), size + SymbolName::kMaxSuffixSize);
  name.append("y");
  EXPECT_EQ(name.view().size(), size + SymbolName::kMaxSuffixSize);
}

}  // namespace
}  // namespace memstat
