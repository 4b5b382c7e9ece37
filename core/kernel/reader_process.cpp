// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/reader_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/shared_memory.h"
#include "core/base/text.h"
#include "core/kernel/answer_memory.h"

namespace memstat {
namespace {

constexpr std::uint64_t kUnknownSizeBytes = 64 * 1024;

Error refused(std::string_view name) {
  return system_error(name, EPERM,
                      "the process that reads the kernel for memstatd reads only what sources requested at start; restart "
                      "memstatd to allow this, too");
}

bool is_of_sysctls(std::uint32_t word) { return word == ReadRequest::kSysctl || word == ReadRequest::kSysctls; }

template <typename T>
void put(T value, Buffer& out) {
  const std::span<char> bytes = packet_room(value);
  out.assign({bytes.data(), bytes.size()});
}

/// Sends the answer; `error`: nullptr if there is none.
bool send_answer(int socket, ReadAnswer answer, const Error* error, std::string_view name,
                 std::span<const int> descriptors) {
  std::array<char, 2 * kMaxReadText> text;
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    part = part.substr(0, kMaxReadText);
    if (!part.empty()) std::memcpy(text.data() + size, part.data(), part.size());
    size += part.size();
    return static_cast<std::uint16_t>(part.size());
  };
  if (error != nullptr) {
    answer.flags = ReadAnswer::kIsError;
    answer.code = static_cast<std::int32_t>(error->code);
    answer.system_errno = error->system_errno;
    if (error->offset) answer.flags |= ReadAnswer::kHasOffset;
    answer.offset = error->offset.value_or(0);
    if (error->path == name) {
      answer.flags |= ReadAnswer::kIsItsName;
    } else {
      answer.path_size = add(error->path);
    }
    answer.detail_size = add(error->detail);
  }
  return send_packet(socket, packet_bytes(answer), {text.data(), size}, descriptors);
}

}  // namespace

// Server side.

struct ReadService::Work {
  std::uint32_t word;
  std::string_view name;
  std::uint64_t number;
};

ReadService::ReadService(KernelView& view) : view_(view), parent_(make_process_stats_reader_of(::getppid())) {}

void ReadService::record_name(const Work& work) {
  if (work.word == ReadRequest::kFile) files_.try_emplace(std::string(work.name));
  if (is_of_sysctls(work.word)) sysctls_.try_emplace(std::string(work.name));
  if (work.word == ReadRequest::kSysctls && !work.name.empty()) prefixes_.try_emplace(std::string(work.name));
}

bool ReadService::is_allowed(const Work& work) const {
  if (work.word == ReadRequest::kProcess || work.word == ReadRequest::kNumbers) return true;
  if (work.word == ReadRequest::kFile) return files_.contains(work.name);
  if (!is_of_sysctls(work.word)) return false;
  if (sysctls_.contains(work.name)) return true;
  for (std::size_t at = work.name.find('.'); at != std::string_view::npos; at = work.name.find('.', at + 1)) {
    if (prefixes_.contains(work.name.substr(0, at))) return true;
  }
  return false;
}

// Bounds a client's size hint by sizes that were read before, so that a client cannot make the kernel take much memory.
std::uint64_t ReadService::hint_of(const Work& work) const {
  const std::uint64_t hint = std::min(work.number, kMaxReadMemory);
  if (!is_sealed_) return hint;
  const auto known = sysctls_.find(work.name);
  const std::uint64_t largest = known != sysctls_.end() ? known->second.load(std::memory_order_relaxed) : 0;
  return std::min(hint, std::max(kUnknownSizeBytes, 2 * largest));
}

Result<void> ReadService::read_sysctl(const Work& work, AnswerMemory& memory) {
  const auto known = sysctls_.find(work.name);
  const std::uint64_t hint = hint_of(work);
  memory.expect(hint);
  Buffer& out = memory.out;
  Result<void> result = view_.read_sysctl(work.name, out, static_cast<std::size_t>(hint));
  if (result && known != sysctls_.end() && out.size() > known->second.load(std::memory_order_relaxed))
    known->second.store(out.size(), std::memory_order_relaxed);
  return result;
}

// Each name is recorded and checked separately.
void ReadService::read_numbers(std::string_view names, AnswerMemory& memory) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(kEndOfName), names.size());
    const Work work{.word = ReadRequest::kSysctl, .name = names.substr(0, end), .number = 0};
    names.remove_prefix(std::min(end + 1, names.size()));
    if (!is_sealed_) record_name(work);
    const auto known = sysctls_.find(work.name);
    const std::uint64_t last = known != sysctls_.end() ? known->second.load(std::memory_order_relaxed) : 0;
    const std::size_t room = memory.out.size() < kMaxNumbers ? kMaxNumbers - memory.out.size() : 0;
    const std::size_t hint = std::max<std::size_t>(sizeof(std::uint64_t), last);
    const bool is_read = hint <= room && is_allowed(work) &&
                         view_.read_sysctl(work.name, memory.scratch, hint).has_value() && memory.scratch.size() <= room;
    if (is_read && known != sysctls_.end() && memory.scratch.size() > last)
      known->second.store(memory.scratch.size(), std::memory_order_relaxed);
    const std::uint32_t size = is_read ? static_cast<std::uint32_t>(memory.scratch.size()) : kNoNumber;
    memory.out.append(packet_bytes(size));
    if (is_read) memory.out.append(memory.scratch.view());
  }
}

Result<void> ReadService::read(const Work& work, AnswerMemory& memory) {
  Buffer& out = memory.out;
  std::vector<std::string> names;
  switch (work.word) {
    case ReadRequest::kFacts: {
      ReaderFacts facts{.page_size = view_.page_size(),
                        .cpu_count = view_.cpu_count(),
                        .os = static_cast<std::uint32_t>(view_.os()),
                        .reads_this_machine = view_.reads_this_machine() ? 1U : 0U};
      view_.os_release().copy(facts.release.data(), facts.release.size() - 1);
      return put(facts, out), Result<void>();
    }
    case ReadRequest::kFile: return view_.read_file(work.name, out);
    case ReadRequest::kSysctl: return read_sysctl(work, memory);
    case ReadRequest::kNumbers: return read_numbers(work.name, memory), Result<void>();
    case ReadRequest::kSysctls: {
      auto listed = view_.list_sysctls(work.name, names);
      for (const std::string& name : names) out.append(name + kEndOfName);
      return listed;
    }
    case ReadRequest::kProcess: {
      const MutexLock lock(parent_mutex_);
      return put(parent_->read(), out), Result<void>();
    }
    default: return system_error(work.name, EINVAL, "not a valid request");
  }
}

Result<void> ReadService::answer(const Work& work, AnswerMemory& memory) try {
  if (is_sealed_ && !is_allowed(work)) return refused(work.name);
  if (!is_sealed_) record_name(work);
  if (auto result = read(work, memory); !result) return result;
  return memory.put();
} catch (const std::exception&) {  // out of memory
  return no_memory_error(work.name, "the process that reads the kernel for memstatd is out of memory");
}

ReadService::End ReadService::serve(int socket) {
  ReadRequest request;
  std::array<char, kMaxReadName> name;
  AnswerMemory memory;
  while (true) {
    const Packet packet = receive_packet(socket, packet_room(request), name);
    if (packet.state == Packet::State::kNone) return End::kGone;
    const bool is_request = packet.state == Packet::State::kWhole && packet.descriptor_count == 0 &&
                            packet.size >= sizeof request && packet.size - sizeof request == request.name_size;
    Work work{.word = 0, .name = {}, .number = 0};
    if (is_request) work = {.word = request.word, .name = {name.data(), request.name_size}, .number = request.number};
    if (work.word == ReadRequest::kSeal && !is_sealed_) return End::kSeal;

    memory.out.clear();
    const Result<void> result = answer(work, memory);
    ReadAnswer answer;
    int descriptor = -1;
    bool is_sent_along = false;
    if (result) {
      answer.size = memory.size();
      descriptor = memory.sent().descriptor();
      is_sent_along = answer.size != 0 && request.memory != memory.sent().size();
      if (is_sent_along) answer.memory = memory.sent().size();
    }
    const std::span<const int> descriptors(&descriptor, is_sent_along ? 1 : 0);
    if (!send_answer(socket, answer, result ? nullptr : &result.error(), work.name, descriptors)) return End::kGone;
    memory.done();
  }
}

void serve_reads(int socket, KernelView& view, const std::function<Result<void>()>& before_threads) {
  const auto service = std::make_shared<ReadService>(view);  // shared with threads that hang
  if (service->serve(socket) != ReadService::End::kSeal) return;
  std::array<int, kReadChannels> theirs{};
  std::vector<UniqueFd> open;
  Result<void> ready = before_threads ? before_threads() : Result<void>();
  service->seal();
  try {
    for (std::size_t i = 0; i < kReadChannels && ready; ++i) {
      PacketSockets pair = PacketSockets::make();
      if (!pair.ours) {
        ready = system_error("reader process", errno, "cannot make the sockets of its channels");
        break;
      }
      theirs[i] = open.emplace_back(std::move(pair.theirs)).get();
      std::thread([service, end = std::move(pair.ours)] { (void)service->serve(end.get()); }).detach();
    }
  } catch (const std::system_error& error) {
    ready = system_error("reader process", error.code().value(), "cannot start the thread of a channel");
  }
  const std::span<const int> descriptors(theirs.data(), ready ? kReadChannels : 0);
  if (!send_answer(socket, {}, ready ? nullptr : &ready.error(), {}, descriptors) || !ready) return;
  open.clear();
  char byte = 0;
  while (::recv(socket, &byte, sizeof byte, 0) < 0 && errno == EINTR) {
  }
}

// Client side.

namespace {

Error gone(std::string_view name) {
  return make_error(ErrorCode::kIo, name, "the process that reads the kernel for memstatd is gone; restart memstatd");
}

bool is_known(std::int32_t code) {
  constexpr std::array kKnown{ErrorCode::kNoMemory,   ErrorCode::kVersion, ErrorCode::kPermission,  ErrorCode::kTooManyCpus,
                              ErrorCode::kData,       ErrorCode::kKvm,     ErrorCode::kKvmNoSymbol, ErrorCode::kKvmShortRead,
                              ErrorCode::kNotPresent, ErrorCode::kIo,      ErrorCode::kTimeout};
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [code](ErrorCode known) { return static_cast<std::int32_t>(known) == code; });
}

bool is_sound(const ReadAnswer& answer, const Packet& packet) {
  constexpr std::int32_t kLastErrno = 4095;
  if (packet.state == Packet::State::kTooLarge || packet.size < sizeof answer) return false;
  if (packet.size - sizeof answer != std::size_t{answer.path_size} + answer.detail_size) return false;
  if (answer.path_size > kMaxReadText || answer.detail_size > kMaxReadText) return false;
  if ((answer.flags & ReadAnswer::kIsError) == 0) return answer.path_size == 0 && answer.detail_size == 0;
  return is_known(answer.code) && answer.system_errno >= 0 && answer.system_errno <= kLastErrno && answer.size == 0 &&
         answer.memory == 0 && packet.descriptor_count == 0;
}

Error error_of(const ReadAnswer& answer, std::string_view text, std::string_view name) {
  Error error;
  error.code = static_cast<ErrorCode>(answer.code);
  error.system_errno = answer.system_errno;
  if ((answer.flags & ReadAnswer::kHasOffset) != 0) error.offset = answer.offset;
  error.path = (answer.flags & ReadAnswer::kIsItsName) != 0 ? name : text.substr(0, answer.path_size);
  error.detail = text.substr(answer.path_size);
  return error;
}

/// The next number of an answer; nothing if it must be requested separately.
std::optional<std::string_view> next_number(std::string_view& left) {
  if (left.size() < sizeof(std::uint32_t)) return left = {}, std::nullopt;
  const auto size = load<std::uint32_t>(left, 0);
  left.remove_prefix(sizeof size);
  if (size == kNoNumber) return std::nullopt;
  if (size > left.size()) return left = {}, std::nullopt;
  const std::string_view number = left.substr(0, size);
  left.remove_prefix(size);
  return number;
}

}  // namespace

/// A socket to the reader, and the memory with its answers. Thread safety: one thread at a time, except `state`.
class ReaderView::Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  enum class State { kFree, kBusy, kLost };
  State state = State::kFree;  // guarded by the view's mutex

  /// Sends a request and copies the answer to `out`, or maps it if it is large. `is_lost`: the channel must not be used
  /// again, because the reader is gone or violated the protocol.
  Result<void> request(const ReadRequest& message, std::string_view name, Buffer& out, bool& is_lost) {
    is_lost = true;
    Packet packet;
    ReadAnswer answer;
    if (!exchange(message, name, answer, packet)) return gone(name);
    if (packet.state == Packet::State::kNoRoom) {
      is_lost = false;
      return system_error(name, EMFILE, "out of descriptors: cannot receive the memory with its content");
    }
    if ((answer.flags & ReadAnswer::kIsError) != 0) {
      is_lost = false;
      return error_of(answer, text_of(answer), name);
    }
    if (packet.descriptor_count != (answer.memory != 0 ? 1 : 0)) return gone(name);
    if (answer.memory > kMaxKeptMemory) return adopt(packet.descriptors[0], answer, name, out, is_lost);
    if (answer.memory != 0) {
      auto mapped = SharedMemory::take(std::move(packet.descriptors[0]), static_cast<std::size_t>(answer.memory));
      if (!mapped) {
        is_lost = mapped.error().code == ErrorCode::kData;
        if (is_lost) return gone(name);
        return mapped.error();
      }
      memory_ = *std::move(mapped);
    }
    if (answer.size > memory_.size()) return gone(name);
    is_lost = false;
    out.assign({memory_.data(), static_cast<std::size_t>(answer.size)});
    return {};
  }

  /// Requests the seal and returns the channels.
  Result<std::vector<UniqueFd>> request_seal() {
    Packet packet;
    ReadAnswer answer;
    if (!exchange({.word = ReadRequest::kSeal}, {}, answer, packet)) return gone("reader process");
    if ((answer.flags & ReadAnswer::kIsError) != 0) return error_of(answer, text_of(answer), {});
    if (packet.state != Packet::State::kWhole || packet.descriptor_count != kReadChannels) return gone("reader process");
    std::vector<UniqueFd> channels;
    for (UniqueFd& each : packet.descriptors) channels.push_back(std::move(each));
    return channels;
  }

  UniqueFd take_socket() { return std::move(socket_); }

 private:
  /// Maps the memory of one answer, which is sealed against changes.
  static Result<void> adopt(const UniqueFd& descriptor, const ReadAnswer& answer, std::string_view name, Buffer& out,
                            bool& is_lost) {
    if (answer.memory > kMaxReadMemory || answer.size > answer.memory) return gone(name);
    const auto mapped = SharedMemory::map_sealed(descriptor, static_cast<std::size_t>(answer.memory));
    is_lost = !mapped && mapped.error().code == ErrorCode::kData;
    if (is_lost) return gone(name);
    if (!mapped) return mapped.error();
    out.adopt(*mapped, static_cast<std::size_t>(answer.memory), static_cast<std::size_t>(answer.size));
    return {};
  }
  /// Returns false if the reader is gone or its answer is invalid.
  bool exchange(ReadRequest message, std::string_view name, ReadAnswer& answer, Packet& packet) {
    message.name_size = static_cast<std::uint32_t>(name.size());
    message.memory = memory_.size();
    if (!send_packet(socket_.get(), packet_bytes(message), name)) return false;
    packet = receive_packet(socket_.get(), packet_room(answer), text_);
    return packet.state != Packet::State::kNone && is_sound(answer, packet);
  }
  [[nodiscard]] std::string_view text_of(const ReadAnswer& answer) const {
    return {text_.data(), std::size_t{answer.path_size} + answer.detail_size};
  }

  UniqueFd socket_;
  SharedMemory memory_;
  std::array<char, 2 * kMaxReadText> text_{};
};

/// A channel in use. The channel is abandoned unless `is_lost` is set to false.
class ReaderView::Lease {
 public:
  Lease(const ReaderView& view, std::string_view name) : view_(view) {
    const MutexLock lock(view.mutex_);
    bool is_any_left = false;
    for (const std::unique_ptr<Channel>& each : view.channels_) {
      is_any_left |= each->state != Channel::State::kLost;
      if (each->state != Channel::State::kFree) continue;
      each->state = Channel::State::kBusy;
      channel_ = each.get();
      return;
    }
    error_ = gone(name);
    if (!is_any_left) return;
    error_.code = ErrorCode::kTimeout;
    error_.detail = "all reader threads are blocked in the kernel; restart memstatd if this persists";
  }
  ~Lease() {
    if (channel_ == nullptr) return;
    const MutexLock lock(view_.mutex_);
    channel_->state = is_lost ? Channel::State::kLost : Channel::State::kFree;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] Channel* channel() const { return channel_; }
  [[nodiscard]] Error error() const { return error_; }
  bool is_lost = true;

 private:
  const ReaderView& view_;
  Channel* channel_ = nullptr;
  Error error_;
};

ReaderView::~ReaderView() = default;

Result<std::unique_ptr<ReaderView>> ReaderView::connect(UniqueFd socket) {
  std::unique_ptr<ReaderView> view(new ReaderView);
  {
    const MutexLock lock(view->mutex_);
    view->channels_.push_back(std::make_unique<Channel>(std::move(socket)));
  }
  if (auto received = view->request_facts(); !received) return received.error();
  return view;
}

Result<void> ReaderView::request_facts() {
  Buffer bytes;
  if (auto result = request(ReadRequest::kFacts, {}, 0, bytes); !result) return result;
  if (bytes.size() != sizeof facts_) return gone("reader process");
  facts_ = load<ReaderFacts>(bytes.view(), 0);
  const auto end = std::find(facts_.release.begin(), facts_.release.end(), kEndOfName);
  if (facts_.page_size == 0 || facts_.cpu_count == 0 || facts_.os > static_cast<std::uint32_t>(OperatingSystem::kOther) ||
      end == facts_.release.end()) {
    return gone("reader process");
  }
  release_.assign(facts_.release.begin(), end);
  return {};
}

Result<void> ReaderView::seal() {
  const MutexLock lock(mutex_);
  auto sockets = channels_.front()->request_seal();
  if (!sockets) return sockets.error();
  control_ = channels_.front()->take_socket();
  channels_.clear();
  for (UniqueFd& each : *sockets) channels_.push_back(std::make_unique<Channel>(std::move(each)));
  return {};
}

bool ReaderView::is_alive() {
  pollfd end{.fd = control_.get(), .events = POLLIN, .revents = 0};
  if (!is_gone_ && control_ && ::poll(&end, 1, 0) > 0) is_gone_ = true;
  return !is_gone_;
}

Result<void> ReaderView::request(ReadRequest::Word word, std::string_view name, std::uint64_t number, Buffer& out) const {
  if (name.size() > kMaxReadName) return system_error(name.substr(0, 200), ENAMETOOLONG);
  Lease lease(*this, name);
  if (lease.channel() == nullptr) return lease.error();
  return lease.channel()->request({.word = word, .number = number}, name, out, lease.is_lost);
}

Result<void> ReaderView::read_file(std::string_view path, Buffer& out) { return request(ReadRequest::kFile, path, 0, out); }

Result<void> ReaderView::read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) {
  return request(ReadRequest::kSysctl, name, size_hint, out);
}
void ReaderView::read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) {
  std::array<char, kMaxReadName> text;
  Buffer single;
  while (!names.empty()) {
    std::size_t count = 0;
    std::size_t size = 0;
    for (; count < names.size() && names[count].size() < text.size() - size; ++count) {
      size += names[count].copy(text.data() + size, names[count].size());
      text[size++] = kEndOfName;
    }
    const Result<void> answer = request(ReadRequest::kNumbers, {text.data(), size}, 0, scratch);
    std::string_view left = answer ? scratch.view() : std::string_view();
    for (const std::string& name : names.first(std::max<std::size_t>(count, 1))) {
      const auto number = next_number(left);
      if (number) {
        if (!take(name, *number)) return;
        continue;
      }
      const Result<void> read = read_sysctl(name, single, sizeof(std::uint64_t));
      if (!take(name, read ? Result<std::string_view>(single.view()) : Result<std::string_view>(read.error()))) return;
    }
    names = names.subspan(std::max<std::size_t>(count, 1));
  }
}
Result<void> ReaderView::list_sysctls(std::string_view prefix, std::vector<std::string>& names) {
  names.clear();
  Buffer bytes;
  if (auto result = request(ReadRequest::kSysctls, prefix, 0, bytes); !result) return result;
  std::string_view left = bytes.view();
  for (std::string_view name; next_name(left, name);) names.emplace_back(name);
  return left.empty() ? Result<void>() : data_error(prefix, bytes.size(), "the last name has no end");
}

Result<void> ReaderView::open_table(std::string_view /*source*/, TextTableSource& table) { return table.open_on(*this); }
Result<void> ReaderView::read_table(std::string_view /*source*/, TextTableSource& table, Buffer& out) {
  return table.read_on(*this, out);
}

ProcessStats ReaderView::process_stats() const {
  Buffer bytes;
  const bool is_read = request(ReadRequest::kProcess, {}, 0, bytes) && bytes.size() == sizeof(ProcessStats);
  return is_read ? load<ProcessStats>(bytes.view(), 0) : ProcessStats();
}

}  // namespace memstat
