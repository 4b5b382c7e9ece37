// SPDX-License-Identifier: BSD-2-Clause
// The header "Authorization", which any client may send.
#include <cstdlib>

#include "daemon/serve/authentication.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view value) {
  const auto credentials = parse_basic_credentials(value);
  if (credentials && credentials->name.find(':') != std::string::npos) std::abort();
  if (credentials && credentials->name.size() + credentials->password.size() > value.size()) std::abort();
}
