// SPDX-License-Identifier: BSD-2-Clause
// The header "Authorization", which any client may send.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "daemon/serve/authentication.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view value(reinterpret_cast<const char*>(data), size);
  const auto credentials = memstat::parse_basic_credentials(value);
  if (credentials && credentials->name.find(':') != std::string::npos) std::abort();
  if (credentials && credentials->name.size() + credentials->password.size() > size) std::abort();
  return 0;
}
