// SPDX-License-Identifier: BSD-2-Clause
// The messages of the two processes that read the kernel together: any requests to one, any answers to the other. The first
// byte selects which; then each message is a byte of flags, two of its length, and its bytes.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "core/kernel/reader_process.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace memstat;

constexpr std::size_t kMaxMessages = 12;
constexpr std::size_t kLargestMessage = 6000;

struct Message {
  std::uint8_t flags;
  std::string bytes;
};

std::vector<Message> messages_of(std::string_view input) {
  std::vector<Message> messages;
  while (input.size() >= 3 && messages.size() < kMaxMessages) {
    const std::size_t length = static_cast<std::uint8_t>(input[1]) * 256U + static_cast<std::uint8_t>(input[2]);
    messages.push_back(
        {static_cast<std::uint8_t>(input[0]), std::string(input.substr(3, std::min(length, kLargestMessage)))});
    input.remove_prefix(std::min(input.size(), 3 + length));
  }
  return messages;
}

/// Returns what was requested.
class Noting final : public KernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    return note(path), out.assign(path), Result<void>();
  }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t hint) override {
    note(name);
    if (is_sealed && hint > (1 << 20)) std::abort();  // nothing here is half as large
    out.resize(name.size() * 100);
    if (!out.empty()) std::memset(out.data(), 'x', out.size());
    return {};
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    return note(prefix), names.assign(3, std::string(prefix)), Result<void>();
  }

  bool is_sealed = false;

 private:
  /// Once it is sealed, only names that were there before, or lie below one.
  void note(std::string_view name) {
    if (!is_sealed) {
      known_.emplace(name);
      return;
    }
    for (const std::string& known : known_) {
      if (name == known || (!known.empty() && name.starts_with(known) && name.find("/..") == std::string_view::npos)) return;
    }
    std::abort();
  }
  std::set<std::string> known_;
};

/// The bytes of a message, from the start of `into`.
template <typename T>
void take(std::string& bytes, T& into) {
  const std::size_t size = std::min(bytes.size(), sizeof into);
  std::memcpy(&into, bytes.data(), size);
  bytes.erase(0, size);
}

void ask_anything(const std::vector<Message>& messages) {
  Noting view;
  ReadService service(view);
  for (int round = 0; round < 2; ++round) {  // the second time it is sealed
    auto channels = ReadChannels::make();
    if (!channels) return;
    std::thread client([end = std::move(channels->ours.front()), &messages] {
      for (const Message& message : messages) {
        std::string bytes = message.bytes;
        take(bytes, end.memory().request);
        if ((message.flags & 1) != 0)  // a matching size is rarely guessed
          end.memory().request.name_size = static_cast<std::uint32_t>(bytes.size());
        bytes.copy(end.memory().name.data(), end.memory().name.size());
        const bool is_seal = end.memory().request.word == ReadRequest::kSeal;
        if (!end.wake() || (!is_seal && !end.wait())) return;
      }
    });
    while (service.serve(channels->theirs.front()) == ReadService::End::kSeal) {
      channels->theirs.front().memory().answer = {};
    }
    client.join();
    service.seal();
    view.is_sealed = true;
  }
}

void answer_anything(const std::vector<Message>& messages) {
  auto channels = ReadChannels::make();
  if (!channels) return;
  std::thread reader([end = std::move(channels->theirs.front()), &messages] {
    const ReaderFacts facts{.page_size = 4096, .cpu_count = 1, .os = 1, .release = {}};
    if (messages.empty() || (messages[0].flags & 0x80) == 0) {
      std::size_t at = 0;
      const std::string_view bytes(reinterpret_cast<const char*>(&facts), sizeof facts);
      const std::size_t piece = pack_piece(bytes, at, end.memory().piece);
      if (!end.wait()) return;
      end.memory().answer = {.size = sizeof facts, .piece = piece};
      if (!end.wake()) return;
    }
    for (const Message& message : messages) {
      if (!end.wait()) return;
      std::string bytes = message.bytes;
      take(bytes, end.memory().answer);
      bytes.copy(end.memory().text.data(), end.memory().text.size());
      if ((message.flags & 1) != 0) end.memory().answer.piece = bytes.size();  // a matching size is rarely guessed
      end.memory().answer.size %= kMaxReadPiece;                               // or too large, and takes all memory
      bytes.copy(end.memory().piece.data(), end.memory().piece.size());
      if (!end.wake()) return;
    }
  });
  channels->theirs.clear();
  {
    auto view = ReaderView::connect(std::move(channels->ours));
    Buffer out;
    std::vector<std::string> names;
    for (std::size_t i = 0; view && i <= messages.size(); ++i) {
      switch (i % 4) {
        case 0: (void)(*view)->read_file("/a", out); break;
        case 1: (void)(*view)->list_sysctls("a", names); break;
        case 2: (void)(*view)->read_sysctl("a", out, 8); break;
        default: (void)(*view)->process_stats(); break;
      }
    }
    if (view) (void)(*view)->seal();
  }
  reader.join();
}

}  // namespace

void memstat::fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<Message> messages = messages_of(bytes.substr(1));
  if ((bytes[0] & 1) != 0) {
    ask_anything(messages);
  } else {
    answer_anything(messages);
  }
}
