// SPDX-License-Identifier: BSD-2-Clause
// The messages of the two processes that read the kernel together: any requests to one, any answers to the other, with
// descriptors, and with memory of any size. The first byte selects which; then each message is a byte of flags, two of its
// length, and its bytes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include "core/kernel/reader_process.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace memstat;

constexpr std::size_t kMaxMessages = 12;  // which fit into a socket: all are sent before one is received
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

void ask_anything(const std::vector<Message>& messages) {
  Noting view;
  ReadService service(view);
  for (int round = 0; round < 2; ++round) {  // the second time it is sealed
    PacketSockets pair = PacketSockets::make();
    if (!pair.ours) return;
    for (const Message& message : messages) {
      std::string bytes = message.bytes;
      if ((message.flags & 1) != 0 && bytes.size() >= sizeof(ReadRequest)) {  // a matching size is rarely guessed
        const auto size = static_cast<std::uint32_t>(bytes.size() - sizeof(ReadRequest));
        std::memcpy(bytes.data() + offsetof(ReadRequest, name_size), &size, sizeof size);
      }
      constexpr std::array kDescriptors{0, 0};
      (void)send_packet(pair.ours.get(), bytes, {}, std::span(kDescriptors).first(message.flags >> 1 & 1U));
    }
    (void)::shutdown(pair.ours.get(), SHUT_WR);
    while (service.serve(pair.theirs.get()) == ReadService::End::kSeal) {
    }
    service.seal();
    view.is_sealed = true;
  }
}

void answer_anything(const std::vector<Message>& messages) {
  PacketSockets pair = PacketSockets::make();
  if (!pair.ours) return;
  const auto send = [&](const Message& message) {
    const UniqueFd memory(::memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    const off_t size = (message.flags & 1) != 0 ? 65536 : message.flags;
    (void)!::ftruncate(memory.get(), size);
    (void)!::pwrite(memory.get(), message.bytes.data(), std::min<std::size_t>(message.bytes.size(), 512), 0);
    if ((message.flags & 2) != 0) (void)::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    const std::array descriptors{memory.get(), memory.get(), memory.get(), memory.get()};
    (void)send_packet(pair.theirs.get(), message.bytes, {}, std::span(descriptors).first((message.flags >> 2) % 5U));
  };
  const ReaderFacts facts{.page_size = 4096, .cpu_count = 1, .os = 1, .release = {}};
  const UniqueFd memory(::memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  (void)!::ftruncate(memory.get(), 65536);
  (void)!::pwrite(memory.get(), &facts, sizeof facts, 0);
  (void)::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  const ReadAnswer first{.size = sizeof facts, .memory = 65536};
  const bool is_true_at_first = messages.empty() || (messages[0].flags & 0x80) == 0;
  const int descriptor = memory.get();
  if (is_true_at_first) (void)send_packet(pair.theirs.get(), packet_bytes(first), {}, {&descriptor, 1});
  for (const Message& message : messages) send(message);
  (void)::shutdown(pair.theirs.get(), SHUT_WR);
  auto view = ReaderView::connect(std::move(pair.ours));
  if (!view) return;
  Buffer out;
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= messages.size(); ++i) {
    switch (i % 4) {
      case 0: (void)(*view)->read_file("/a", out); break;
      case 1: (void)(*view)->list_sysctls("a", names); break;
      case 2: (void)(*view)->read_sysctl("a", out, 8); break;
      default: (void)(*view)->process_stats(); break;
    }
  }
  (void)(*view)->seal();
}

}  // namespace

void memstat::fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::vector<Message> messages = messages_of(bytes.substr(1));
  if ((bytes[0] & 1) != 0) {
    ask_anything(messages);
  } else {
    answer_anything(messages);
  }
}
