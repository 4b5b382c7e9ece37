// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/unix_sockets.h"

#include <array>
#include <cerrno>

#include "core/base/text.h"

namespace memstat {

std::vector<UnixSocket> parse_unix_sockets(std::string_view text) {
  std::vector<UnixSocket> sockets;
  std::string_view line;
  while (next_line(text, line)) {
    std::array<std::string_view, 6> words;
    std::array<std::uint64_t, 4> numbers{};
    bool is_whole = true;
    for (std::string_view& word : words) is_whole = is_whole && next_word(line, word);
    for (std::size_t i = 0; i < numbers.size() && is_whole; ++i) {
      const auto number = parse_u64(words[i]);
      is_whole = number.has_value();
      numbers[i] = number.value_or(0);
    }
    if (!is_whole) continue;
    sockets.push_back({.inode = numbers[0],
                       .peer = numbers[1],
                       .receive = numbers[2],
                       .send = numbers[3],
                       .is_datagram = words[4] == "datagram",
                       .is_listening = words[5] == "listening"});
  }
  return sockets;
}

#if !defined(__linux__)
Result<void> UnixSocketsTable::read(Buffer&) { return system_error("sock_diag", ENOENT); }
#endif

}  // namespace memstat
