// SPDX-License-Identifier: BSD-2-Clause
#include "core/kernel/reader_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/text.h"
#include "core/base/thread_name.h"

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
std::string_view bytes_of(const T& value) {
  static_assert(std::has_unique_object_representations_v<T> || std::is_same_v<T, ProcessStats>);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Writes an error into the channel's memory. Texts are truncated.
ReadAnswer put_error(const Error& error, std::string_view name, ReadMemory& memory) {
  ReadAnswer answer;
  std::size_t size = 0;
  const auto add = [&](std::string_view part) {
    part = part.substr(0, kMaxReadText);
    part.copy(memory.text.data() + size, part.size());
    size += part.size();
    return static_cast<std::uint16_t>(part.size());
  };
  answer.flags = ReadAnswer::kIsError;
  answer.code = static_cast<std::int32_t>(error.code);
  answer.system_errno = error.system_errno;
  if (error.offset) answer.flags |= ReadAnswer::kHasOffset;
  answer.offset = error.offset.value_or(0);
  if (error.path == name) {
    answer.flags |= ReadAnswer::kIsItsName;
  } else {
    answer.path_size = add(error.path);
  }
  answer.detail_size = add(error.detail);
  return answer;
}

/// Returns false if the client is gone.
bool send_error(const ChannelEnd& channel, const Error& error, std::string_view name) {
  channel.memory().answer = put_error(error, name, channel.memory());
  return channel.wake();
}

/// Sends the answer piece by piece. Frees a large `content` before the last piece goes, so that the megabytes of
/// kern.malloc_stats exist once during a poll. Returns false if the client is gone.
bool send_content(const ChannelEnd& channel, Buffer& content) {
  ReadMemory& memory = channel.memory();
  const std::size_t size = content.size();
  for (std::size_t at = 0;;) {
    const std::size_t piece = pack_piece(content.view(), at, memory.piece);
    if (at == size) content.give_back_if_large();
    memory.answer = {.size = size, .piece = piece};
    if (!channel.wake()) return false;
    if (at == size) return true;
    if (!channel.wait()) return false;
  }
}

}  // namespace

// Server side.

struct ReadService::Work {
  std::uint32_t word;
  std::string_view name;
  std::uint64_t number;
};

struct ReadService::Answer {
  Buffer out;
  Buffer scratch;
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

Result<void> ReadService::read_sysctl(const Work& work, Answer& into) {
  const auto known = sysctls_.find(work.name);
  Result<void> result = view_.read_sysctl(work.name, into.out, static_cast<std::size_t>(hint_of(work)));
  if (result && known != sysctls_.end() && into.out.size() > known->second.load(std::memory_order_relaxed))
    known->second.store(into.out.size(), std::memory_order_relaxed);
  return result;
}

// Each name is recorded and checked separately.
void ReadService::read_numbers(std::string_view names, Answer& into) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(kEndOfName), names.size());
    const Work work{.word = ReadRequest::kSysctl, .name = names.substr(0, end), .number = 0};
    names.remove_prefix(std::min(end + 1, names.size()));
    if (!is_sealed_) record_name(work);
    const auto known = sysctls_.find(work.name);
    const std::uint64_t last = known != sysctls_.end() ? known->second.load(std::memory_order_relaxed) : 0;
    const std::size_t room = into.out.size() < kMaxNumbers ? kMaxNumbers - into.out.size() : 0;
    const std::size_t hint = std::max<std::size_t>(sizeof(std::uint64_t), last);
    const bool is_read = hint <= room && is_allowed(work) && view_.read_sysctl(work.name, into.scratch, hint).has_value() &&
                         into.scratch.size() <= room;
    if (is_read && known != sysctls_.end() && into.scratch.size() > last)
      known->second.store(into.scratch.size(), std::memory_order_relaxed);
    const std::uint32_t size = is_read ? static_cast<std::uint32_t>(into.scratch.size()) : kNoNumber;
    into.out.append(bytes_of(size));
    if (is_read) into.out.append(into.scratch.view());
  }
}

Result<void> ReadService::read(const Work& work, Answer& into) {
  Buffer& out = into.out;
  std::vector<std::string> names;
  switch (work.word) {
    case ReadRequest::kFacts: {
      ReaderFacts facts{.page_size = view_.page_size(),
                        .cpu_count = view_.cpu_count(),
                        .os = static_cast<std::uint32_t>(view_.os()),
                        .reads_this_machine = view_.reads_this_machine() ? 1U : 0U};
      view_.os_release().copy(facts.release.data(), facts.release.size() - 1);
      return out.assign(bytes_of(facts)), Result<void>();
    }
    case ReadRequest::kFile: return view_.read_file(work.name, out);
    case ReadRequest::kSysctl: return read_sysctl(work, into);
    case ReadRequest::kNumbers: return read_numbers(work.name, into), Result<void>();
    case ReadRequest::kSysctls: {
      auto listed = view_.list_sysctls(work.name, names);
      for (const std::string& name : names) out.append(name + kEndOfName);
      return listed;
    }
    case ReadRequest::kProcess: {
      const MutexLock lock(parent_mutex_);
      return out.assign(bytes_of(parent_->read())), Result<void>();
    }
    default: return system_error(work.name, EINVAL, "not a valid request");
  }
}

Result<void> ReadService::answer(const Work& work, Answer& into) try {
  if (is_sealed_ && !is_allowed(work)) return refused(work.name);
  if (!is_sealed_) record_name(work);
  auto result = read(work, into);
  if (result && into.out.size() > kMaxReadMemory) return data_error(work.name, into.out.size(), "is too large");
  return result;
} catch (const std::exception&) {  // out of memory
  return no_memory_error(work.name, "the process that reads the kernel for memstatd is out of memory");
}

ReadService::End ReadService::serve(const ChannelEnd& channel) {
  std::array<char, kMaxReadName> name;
  Answer into;
  while (channel.wait()) {
    const ReadRequest request = channel.memory().request;
    Work work{.word = 0, .name = {}, .number = 0};
    if (request.name_size <= name.size()) {
      std::memcpy(name.data(), channel.memory().name.data(), request.name_size);
      work = {.word = request.word, .name = {name.data(), request.name_size}, .number = request.number};
    }
    if (work.word == ReadRequest::kSeal && !is_sealed_) return End::kSeal;
    into.out.clear();
    const Result<void> result = answer(work, into);
    const bool is_sent = result ? send_content(channel, into.out) : send_error(channel, result.error(), work.name);
    if (!is_sent) break;
    into.out.give_back_if_large();
  }
  return End::kGone;
}

void serve_reads(std::vector<ChannelEnd> channels, KernelView& view, const std::function<Result<void>()>& before_threads) {
  const auto service = std::make_shared<ReadService>(view);  // shared with threads that hang
  const ChannelEnd first = std::move(channels.front());
  if (service->serve(first) != ReadService::End::kSeal) return;
  Result<void> ready = before_threads ? before_threads() : Result<void>();
  service->seal();
  try {
    for (std::size_t i = 1; i < channels.size() && ready; ++i) {
      std::thread([service, channel = std::move(channels[i])] {
        name_thread("memstatd-serve");
        (void)service->serve(channel);
      }).detach();
    }
  } catch (const std::system_error& error) {
    ready = system_error("reader process", error.code().value(), "cannot start the thread of a channel");
  }
  Buffer nothing;
  if (!ready) {
    (void)send_error(first, ready.error(), {});
  } else if (send_content(first, nothing)) {
    (void)service->serve(first);
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

bool is_sound(const ReadAnswer& answer) {
  constexpr std::int32_t kLastErrno = 4095;
  if (answer.path_size > kMaxReadText || answer.detail_size > kMaxReadText) return false;
  if (answer.piece > kMaxReadPiece || answer.size > kMaxReadMemory) return false;
  if ((answer.flags & ReadAnswer::kIsError) == 0) return answer.path_size == 0 && answer.detail_size == 0;
  return is_known(answer.code) && answer.system_errno >= 0 && answer.system_errno <= kLastErrno && answer.size == 0;
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

/// A channel, and whether it is in use. Thread safety: one thread at a time, except `state` and is_connected().
class ReaderView::Channel {
 public:
  explicit Channel(ChannelEnd end) : end_(std::move(end)) {}

  enum class State { kFree, kBusy, kLost };
  State state = State::kFree;  // guarded by the view's mutex

  [[nodiscard]] bool is_connected() const { return end_.is_connected(); }

  /// Sends a request and copies the answer to `out`. `is_lost`: the channel must not be used again, because the reader is
  /// gone or violated the protocol.
  Result<void> request(ReadRequest message, std::string_view name, Buffer& out, bool& is_lost) {
    is_lost = true;
    message.name_size = static_cast<std::uint32_t>(name.size());
    end_.memory().request = message;
    name.copy(end_.memory().name.data(), name.size());
    ReadAnswer answer;
    if (!next_answer(answer)) return gone(name);
    if ((answer.flags & ReadAnswer::kIsError) != 0) {
      is_lost = false;
      std::array<char, 2 * kMaxReadText> text;
      std::memcpy(text.data(), end_.memory().text.data(), text.size());
      return error_of(answer, {text.data(), std::size_t{answer.path_size} + answer.detail_size}, name);
    }
    return take_content(answer, name, out, is_lost);
  }

 private:
  /// Returns false if the reader is gone or its answer is invalid.
  bool next_answer(ReadAnswer& answer) const {
    if (!end_.wake() || !end_.wait()) return false;
    answer = end_.memory().answer;
    return is_sound(answer);
  }

  /// Makes room for the content. Returns whether it is zeroed.
  static bool make_room(Buffer& out, std::size_t size) {
    if (size < kMappedFrom) return out.resize(size), false;
    out = Buffer();  // new pages are zeroed, and zeros are then not written
    out.resize(size);
    return true;
  }

  /// An answer for which there is no memory is taken nevertheless, so that the channel can be used again.
  Result<void> take_content(ReadAnswer answer, std::string_view name, Buffer& out, bool& is_lost) const {
    const std::size_t size = answer.size;
    bool has_room = true;
    bool is_zeroed = false;
    try {
      is_zeroed = make_room(out, size);
    } catch (const std::bad_alloc&) {
      has_room = false;
      out.clear();
    }
    for (std::size_t at = 0; at != size;) {
      const std::string_view piece(end_.memory().piece.data(), answer.piece);
      if (!unpack_piece(piece, has_room ? out.data() : nullptr, size, is_zeroed, at)) return gone(name);
      if (at == size) break;
      if (!next_answer(answer) || (answer.flags & ReadAnswer::kIsError) != 0 || answer.size != size) return gone(name);
    }
    is_lost = false;
    if (has_room) return {};
    return no_memory_error(name, "memstatd is out of memory for its content");
  }

  ChannelEnd end_;
};

/// A channel in use. The channel is abandoned unless `is_lost` is set to false.
class ReaderView::Lease {
 public:
  Lease(const ReaderView& view, std::string_view name) : view_(view) {
    const MutexLock lock(view.mutex_);
    bool is_any_left = false;
    for (const std::unique_ptr<Channel>& each : std::span(view.channels_).first(view.served_)) {
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

Result<std::unique_ptr<ReaderView>> ReaderView::connect(std::vector<ChannelEnd> channels) {
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<ReaderView> view(new ReaderView);
  for (ChannelEnd& each : channels) view->channels_.push_back(std::make_unique<Channel>(std::move(each)));
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
  Buffer nothing;
  if (Result<void> sealed = request(ReadRequest::kSeal, {}, 0, nothing); !sealed) return sealed;
  const MutexLock lock(mutex_);
  served_ = channels_.size();
  return {};
}

bool ReaderView::is_alive() {
  if (!channels_.front()->is_connected()) is_gone_ = true;
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

Result<void> ReaderView::read_jail_counts(std::string_view jail, Buffer& out) {
  return jail_counts_ != nullptr ? jail_counts_->read(jail, out) : KernelView::read_jail_counts(jail, out);
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
