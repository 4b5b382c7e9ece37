// SPDX-License-Identifier: BSD-2-Clause
// The process that reads the kernel for another one: both together over captures, in two processes, and each of them against
// a counterpart that sends wrong messages.
#include "core/kernel/reader_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/base/shared_memory.h"
#include "core/query.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/fixtures.h"
#include "tests/support/forked_reader.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::string text_of(const Result<void>& result) { return result ? "" : to_string(result.error()); }

// ---- both together -----------------------------------------------------------------------------------------------------

std::size_t open_and_read_the_same(KernelView& direct, KernelView& split, const SourceDescriptor& source,
                                   const std::function<void()>& between) {
  SourceReader ours(source);
  SourceReader theirs(source);
  ours.raw.page_size = theirs.raw.page_size = direct.page_size();
  const auto expect_same = [&](const Result<void>& expected, const Result<void>& got) {
    EXPECT_EQ(text_of(got), text_of(expected));
    for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
      EXPECT_EQ(theirs.raw.parts[part].view() == ours.raw.parts[part].view(), true) << "part " << part;
    }
  };
  const Result<void> opened = open_source(ours, direct);
  expect_same(opened, open_source(theirs, split));
  if (!opened) return 0;
  std::size_t bytes = 0;
  for (int read = 0; read < 3; ++read) {
    expect_same(read_source(ours, direct), read_source(theirs, split));
    for (const Buffer& part : ours.raw.parts) bytes += part.size();
    if (read == 0) between();
  }
  return bytes;
}

TEST(ReaderProcess, GivesEverySourceTheBytesOfTheViewItself) {
  std::size_t total = 0;
  for (const char* const capture : {"freebsd-15.0-amd64-4cpu.tar.zst", "freebsd-15.0-amd64-4cpu-2domains.tar.zst",
                                    "freebsd-15.0-amd64-2cpu-limits.tar.zst"}) {
    const auto direct = open_fixture(capture);
    std::size_t sources = 0;
    for (const SourceDescriptor* const source : all_sources()) {
      if (source->os != direct->os()) continue;
      if (source->name.ends_with("_kernel_log")) continue;  // the table is read by this process, of this machine
      SCOPED_TRACE(std::string(capture) + ": " + std::string(source->name));
      ForkedReader reader(*direct);
      const auto split = reader.connect();
      EXPECT_EQ(split->os(), direct->os());
      EXPECT_EQ(split->page_size(), direct->page_size());
      EXPECT_EQ(split->cpu_count(), direct->cpu_count());
      EXPECT_EQ(split->os_release(), direct->os_release());
      // Its first read shows all that it will request later: the daemon seals after one.
      const std::size_t bytes =
          open_and_read_the_same(*direct, *split, *source, [&] { EXPECT_EQ(text_of(split->seal()), ""); });
      if (bytes != 0) ++sources;
    }
    EXPECT_GE(sources, 2U) << capture;
    total += sources;
  }
  EXPECT_GE(total, 10U);
}

/// Sysctls whose size is in their name, plus one byte at each read, and whose bytes are the number of the read.
class Growing final : public KernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 2; }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t hint) override {
    if (name == "hint") return out.assign(std::to_string(hint)), Result<void>();
    ++reads_;
    out.resize(std::stoul(std::string(name)) + static_cast<std::size_t>(reads_));
    std::memset(out.data(), '0' + reads_ % 10, out.size());
    return {};
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    if (prefix == "none") return system_error("vm", EIO, "of another path");
    names = {std::string(prefix) + ".1", std::string(prefix) + ".2"};
    return {};
  }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    if (path == "/damaged") return data_error(path, 7, std::string(3000, 'x'));
    return out.assign("file " + std::string(path)), Result<void>();
  }

 private:
  int reads_ = 0;
};

TEST(ReaderProcess, HandsOverWhatGrowsAndShrinks) {
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  int reads = 0;
  for (int round = 0; round < 2; ++round) {
    for (const std::size_t size : {0UL, 100UL, 65'535UL, 65'536UL, 3'000'000UL, 10UL, 20'000'000UL, 20'500'000UL, 0UL}) {
      ASSERT_EQ(text_of(view->read_sysctl(std::to_string(size), out, size)), "");
      ++reads;
      ASSERT_EQ(out.size(), size + static_cast<std::size_t>(reads));
      ASSERT_EQ(out.view().find_first_not_of(static_cast<char>('0' + reads % 10)), std::string_view::npos) << size;
    }
    if (round == 0) {
      ASSERT_TRUE(view->seal());
    }
  }
}

/// Bytes of shared memory that a process has mapped.
std::size_t shared_bytes(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:memstatd") == std::string::npos) continue;
    std::size_t end = 0;
    const unsigned long from = std::stoul(line, &end, 16);
    bytes += std::stoul(line.substr(end + 1), nullptr, 16) - from;
  }
  return bytes;
}

/// Bytes of it that every reader's first answer takes.
constexpr std::size_t kOfSmallReads = 65'536;

TEST(ReaderProcess, KeepsTheMemoryOfSmallReadsOnly) {
#if defined(__linux__)
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  for (int read = 0; read < 3; ++read) {
    ASSERT_EQ(text_of(view->read_sysctl("20000000", out, 0)), "");
    out.give_back_if_large();
    EXPECT_EQ(shared_bytes(::getpid()), kOfSmallReads);
    EXPECT_TRUE(eventually([&] { return shared_bytes(reader.number()) == kOfSmallReads; }))
        << "it frees the memory after the answer";
  }
  ASSERT_EQ(text_of(view->read_sysctl("100000", out, 0)), "");
  EXPECT_EQ(shared_bytes(::getpid()), 131'072U);
  EXPECT_EQ(shared_bytes(reader.number()), 131'072U);
#else
  GTEST_SKIP() << "looks at Linux's /proc";
#endif
}

TEST(ReaderProcess, PassesLargeContentWithoutACopy) {
#if defined(__linux__)
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  for (const std::size_t hint : {30'000'000UL, 0UL}) {  // as the kernel wrote it there, in the place of unknown content
    ASSERT_EQ(text_of(view->read_sysctl("20000000", out, hint)), "");
    EXPECT_EQ(shared_bytes(::getpid()), out.capacity() + kOfSmallReads) << "the buffer is the received memory";
    EXPECT_GE(out.capacity(), 20'000'000U);
    out.data()[0] = 'x';  // which becomes this process's own when written to
    out.assign("short");
    EXPECT_EQ(out.view(), "short");
    out.give_back_if_large();
  }
#else
  GTEST_SKIP() << "looks at Linux's /proc";
#endif
}

TEST(ReaderProcess, PassesOnEveryCallAndItsError) {
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  std::vector<std::string> names;
  ASSERT_TRUE(view->list_sysctls("vm.uma", names));
  EXPECT_EQ(names, (std::vector<std::string>{"vm.uma.1", "vm.uma.2"}));
  EXPECT_EQ(to_string(view->list_sysctls("none", names).error()), to_string(system_error("vm", EIO, "of another path")));
  Buffer out;
  const Error damaged = view->read_file("/damaged", out).error();
  EXPECT_EQ(damaged.code, ErrorCode::kData);
  EXPECT_EQ(damaged.offset, 7U);
  EXPECT_EQ(damaged.detail, std::string(kMaxReadText, 'x'));
  EXPECT_EQ(view->read_file(std::string(5000, 'x'), out).error().system_errno, ENAMETOOLONG);
  EXPECT_TRUE(view->read_file("/a", out)) << "and continues to serve";
}

TEST(ReaderProcess, ReadsWhatWasAskedForBeforeTheSealOnly) {
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  std::vector<std::string> names;
  ASSERT_TRUE(view->read_sysctl("100", out, 0));
  ASSERT_TRUE(view->read_sysctl("hint", out, 5'000'000));
  EXPECT_EQ(out.view(), "5000000") << "still trusted";
  ASSERT_TRUE(view->list_sysctls("5", names));
  ASSERT_TRUE(view->read_file("/a", out));
  ASSERT_TRUE(view->seal());
  EXPECT_TRUE(view->read_sysctl("100", out, 0));
  EXPECT_TRUE(view->read_sysctl("5.1", out, 0)) << "below a prefix that was listed";
  EXPECT_TRUE(view->list_sysctls("5", names));
  EXPECT_TRUE(view->read_file("/a", out));
  for (const Result<void>& refused :
       {view->read_sysctl("101", out, 0), view->read_sysctl("55.1", out, 0), view->list_sysctls("", names),
        view->read_file("100", out), view->read_file("/b", out), view->read_file("/a/..", out)}) {
    ASSERT_TRUE(fails(refused, {.system_errno = EPERM}));
  }
  EXPECT_NE(text_of(view->read_file("/b", out)).find("restart memstatd"), std::string::npos);
  ASSERT_TRUE(view->read_sysctl("hint", out, 1'000'000'000));
  EXPECT_EQ(out.view(), "65536") << "the requested size is bounded by the existing one";
}

TEST(ReaderProcess, ReadsNumbersTogether) {
  FakeKernelView inside(OperatingSystem::kFreeBsd);
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {  // more than one request has room for
    names.push_back("vm.a.name.of.some.length." + std::to_string(i));
    if (i != 7) inside.set(names.back(), std::string(static_cast<std::size_t>(i % 9), static_cast<char>('a' + i % 26)));
  }
  inside.set("long", std::string(500, 'x'));
  names.emplace_back("long");
  inside.set("longest", std::string(kMaxNumbers + 1, 'y'));
  names.emplace_back("longest");
  names.emplace_back("vm.a.name.of.some.length.8");
  names.emplace_back(5000, 'n');
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer scratch;
  for (const bool is_sealed : {false, true}) {
    if (is_sealed) {
      names.emplace_back("never asked for");
      ASSERT_TRUE(view->seal());
    }
    Buffer direct;
    std::size_t taken = 0;
    view->read_numbers(names, scratch, [&](std::string_view name, const Result<std::string_view>& bytes) {
      EXPECT_EQ(name, names[taken]);
      ++taken;
      const Result<void> alone = view->read_sysctl(name, direct, 8);
      EXPECT_EQ(bytes.has_value(), alone.has_value()) << name.substr(0, 50);
      if (bytes) {
        EXPECT_EQ(*bytes, direct.view());
      } else {
        EXPECT_EQ(to_string(bytes.error()), to_string(alone.error()));
      }
      return true;
    });
    EXPECT_EQ(taken, names.size());
  }
  std::size_t taken = 0;
  view->read_numbers(names, scratch, [&](std::string_view, const Result<std::string_view>&) { return ++taken < 3; });
  EXPECT_EQ(taken, 3U) << "until no more is requested";
}

TEST(ReaderProcess, GivesUpPrivilegesBeforeThereAreThreads) {
  Growing inside;
  ForkedReader reader(inside, [] { return system_error("drop", EPERM, "no"); });
  const auto view = reader.connect();
  EXPECT_EQ(text_of(view->seal()), to_string(system_error("drop", EPERM, "no")));
  reader.wait();
  Buffer out;
  EXPECT_FALSE(view->read_file("/a", out));
}

TEST(ReaderProcess, EndsWithItsOtherEnd) {
  Growing inside;
  for (const bool is_sealed : {false, true}) {
    ForkedReader reader(inside);
    auto view = reader.connect();
    if (is_sealed) {
      ASSERT_TRUE(view->seal());
    }
    EXPECT_TRUE(view->is_alive());
    view.reset();
    reader.wait();
  }
}

TEST(ReaderProcess, ThatIsGoneIsAnErrorWithARemedy) {
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  ASSERT_TRUE(view->read_file("/a", out));
  ASSERT_TRUE(view->seal());
  ASSERT_TRUE(view->read_file("/a", out));
  ASSERT_TRUE(view->is_alive());
  reader.kill();
  EXPECT_TRUE(eventually([&] { return !view->is_alive(); }));
  for (std::size_t read = 0; read <= kReadChannels; ++read) {
    const auto result = view->read_file("/a", out);
    ASSERT_TRUE(fails(result, ErrorCode::kIo));
    EXPECT_EQ(text_of(result), "/a: the process that reads the kernel for memstatd is gone; restart memstatd");
  }
}

/// Has files; /slow hangs from the second read on.
class Hanging final : public KernelView {
 public:
  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return 1; }
  Result<void> read_file(std::string_view path, Buffer& out) override {
    while (path == "/slow" && is_slow_.exchange(true)) ::pause();
    return out.assign("bytes"), Result<void>();
  }

 private:
  std::atomic<bool> is_slow_ = false;
};

TEST(ReaderProcess, DelaysNoReadBehindAHangingOne) {
  Hanging inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  ASSERT_TRUE(view->read_file("/quick", out));
  ASSERT_TRUE(view->read_file("/slow", out));
  ASSERT_TRUE(view->seal());
  std::vector<std::thread> threads;
  std::array<std::string, kReadChannels> said;
  const auto hang = [&](std::size_t i) {
    threads.emplace_back([&, i] {
      Buffer bytes;
      Result<void> result;
      do {  // the other thread may have the last channel for a moment
        result = view->read_file("/slow", bytes);
      } while (!result && result.error().code == ErrorCode::kTimeout);
      said[i] = text_of(result);
    });
  };
  hang(0);
  for (int read = 0; read < 50; ++read) ASSERT_TRUE(view->read_file("/quick", out));
  for (std::size_t i = 1; i < kReadChannels; ++i) hang(i);
  EXPECT_TRUE(eventually([&] {
    const auto result = view->read_file("/quick", out);
    return !result && result.error().code == ErrorCode::kTimeout;
  })) << "no channel is left";
  EXPECT_NE(text_of(view->read_file("/quick", out)).find("blocked in the kernel"), std::string::npos);
  reader.kill();  // in the middle of all of them
  for (std::thread& thread : threads) thread.join();
  for (const std::string& each : said) EXPECT_NE(each.find("is gone; restart memstatd"), std::string::npos) << each;
}

// ---- a reader that lies ------------------------------------------------------------------------------------------------

/// What a dishonest reader sends for one request.
struct Lie {
  std::string bytes;
  std::vector<int> descriptors = {};
};

std::string bytes_of(const ReadAnswer& answer, std::string_view text = {}) {
  return std::string(packet_bytes(answer)) + std::string(text);
}

UniqueFd memory_of(std::size_t bytes, int seals, std::string_view content = {}) {
  UniqueFd memory(::memfd_create("test", MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(::pwrite(memory.get(), content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  EXPECT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0);
  return memory;
}

/// A view whose reader answers the first question properly, and then sends whatever the test says.
class Liar {
 public:
  Liar() {
    PacketSockets pair = PacketSockets::make();
    theirs_ = std::move(pair.theirs);
    const timeval patience{.tv_sec = 10, .tv_usec = 0};  // in case a wrong message is accepted, after which nothing follows
    EXPECT_EQ(::setsockopt(pair.ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    ReaderFacts facts{.page_size = 4096, .cpu_count = 1, .os = 1, .release = {}};
    const UniqueFd memory = memory_of(65536, F_SEAL_SHRINK, packet_bytes(facts));
    send({bytes_of({.size = sizeof facts, .memory = 65536}), {memory.get()}});
    auto view = ReaderView::connect(std::move(pair.ours));
    EXPECT_TRUE(view);
    if (view) view_ = *std::move(view);
    std::array<char, 8192> request;
    EXPECT_GT(::recv(theirs_.get(), request.data(), request.size(), 0), 0);
  }
  void send(const Lie& lie) { ASSERT_TRUE(send_packet(theirs_.get(), lie.bytes, {}, lie.descriptors)); }
  /// The result of a read with this answer.
  std::string said_to(const Lie& lie) {
    send(lie);
    Buffer out;
    return text_of(view_->read_file("/a", out));
  }
  ReaderView& view() { return *view_; }

 private:
  UniqueFd theirs_;
  std::unique_ptr<ReaderView> view_;
};

constexpr const char* kGone = "/a: the process that reads the kernel for memstatd is gone; restart memstatd";

TEST(ReaderView, BelievesWhatIsTrue) {
  Liar honest;
  EXPECT_EQ(honest.said_to({bytes_of({.size = 65536})}), "");
  EXPECT_EQ(
      honest.said_to({bytes_of({.flags = ReadAnswer::kIsError, .code = 17, .system_errno = EIO, .path_size = 2}, "/b")}),
      to_string(system_error("/b", EIO)));
  constexpr std::size_t kLarge = 2 * kMaxKeptMemory;
  const UniqueFd sealed = memory_of(kLarge, F_SEAL_SHRINK | F_SEAL_WRITE);
  for (const std::size_t size : {std::size_t{1}, kLarge}) {
    EXPECT_EQ(honest.said_to({bytes_of({.size = size, .memory = kLarge}), {sealed.get()}}), "");
  }
}

TEST(ReaderView, BelievesNoAnswerThatCannotBe) {
  constexpr std::size_t kLarge = 2 * kMaxKeptMemory;
  const UniqueFd can_shrink = memory_of(131072, 0);
  const UniqueFd small = memory_of(65536, F_SEAL_SHRINK);
  const UniqueFd writable = memory_of(kLarge, F_SEAL_SHRINK);
  const UniqueFd sealed = memory_of(kLarge, F_SEAL_SHRINK | F_SEAL_WRITE);
  const UniqueFd no_memory(::open("/dev/zero", O_RDONLY));
  const std::pair<const char*, Lie> lies[] = {
      {"a size beyond its memory", {bytes_of({.size = 65537})}},
      {"memory that can shrink", {bytes_of({.size = 1, .memory = 131072}), {can_shrink.get()}}},
      {"memory smaller than stated", {bytes_of({.size = 100'000, .memory = 131072}), {small.get()}}},
      {"memory without end", {bytes_of({.size = 1, .memory = ~0ULL}), {small.get()}}},
      {"large memory that can be written", {bytes_of({.size = 1, .memory = kLarge}), {writable.get()}}},
      {"a size beyond large memory", {bytes_of({.size = kLarge + 1, .memory = kLarge}), {sealed.get()}}},
      {"a file as memory", {bytes_of({.size = 1, .memory = 65536}), {no_memory.get()}}},
      {"a missing descriptor", {bytes_of({.size = 1, .memory = 131072})}},
      {"an unannounced descriptor", {bytes_of({.size = 1}), {0}}},
      {"two descriptors", {bytes_of({.size = 1, .memory = 65536}), {0, 0}}},
      {"half an answer", {bytes_of({}).substr(0, sizeof(ReadAnswer) - 1)}},
      {"an answer that is too long", {std::string(sizeof(ReadAnswer) + 2 * kMaxReadText + 1, '\0')}},
      {"a text that is not there",
       {bytes_of({.flags = ReadAnswer::kIsError, .code = 17, .path_size = 9, .detail_size = 65535}, "abc")}},
      {"an unknown error", {bytes_of({.flags = ReadAnswer::kIsError, .code = 99})}},
      {"an impossible errno", {bytes_of({.flags = ReadAnswer::kIsError, .code = 17, .system_errno = -1})}},
      {"garbage", {std::string(sizeof(ReadAnswer), '\xff')}}};
  for (const auto& [what, lie] : lies) {
    Liar liar;
    EXPECT_EQ(liar.said_to(lie), kGone) << what;
    Buffer out;
    EXPECT_EQ(text_of(liar.view().read_file("/a", out)), kGone) << "and sends no more requests";
  }
}

TEST(ReaderView, NeedsTheChannelsOfTheSealAndNamesThatEnd) {
  Liar no_channels;
  no_channels.send({bytes_of({}), {0, 0}});
  EXPECT_FALSE(no_channels.view().seal());
  const UniqueFd memory = memory_of(65536, F_SEAL_SHRINK, "name");
  Liar cut;
  cut.send({bytes_of({.size = 4, .memory = 65536}), {memory.get()}});
  std::vector<std::string> names;
  EXPECT_EQ(cut.view().list_sysctls("a", names).error().code, ErrorCode::kData);
}

// ---- another end that lies ---------------------------------------------------------------------------------------------

ReadAnswer answer_from(int socket) {
  ReadAnswer answer;
  std::array<char, 2 * kMaxReadText> text;
  EXPECT_EQ(receive_packet(socket, packet_room(answer), text).state, Packet::State::kWhole);
  return answer;
}

std::string request_of(std::uint32_t word, std::string_view name, std::uint32_t size) {
  const ReadRequest fixed{.word = word, .name_size = size};
  return std::string(packet_bytes(fixed)) + std::string(name);
}

/// `wrong`: the errno for an invalid request. Once sealed, the reader does not say what is wrong with one.
void expect_refusals(int socket, int wrong) {
  const auto errno_of = [&](std::string_view bytes, std::span<const int> descriptors = {}) {
    EXPECT_TRUE(send_packet(socket, bytes, {}, descriptors));
    return answer_from(socket).system_errno;
  };
  const std::string good = request_of(ReadRequest::kFile, "/a", 2);
  constexpr std::array kDescriptor{0};
  EXPECT_EQ(errno_of(good), 0);
  for (const std::uint32_t word : {0U, 15U, 0xffffffffU}) EXPECT_EQ(errno_of(request_of(word, "/a", 2)), wrong) << word;
  for (const std::uint32_t size : {0U, 1U, 3U, 0xffffffffU})
    EXPECT_EQ(errno_of(request_of(ReadRequest::kFile, "/a", size)), wrong) << size;
  EXPECT_EQ(errno_of(good.substr(0, sizeof(ReadRequest) - 1)), wrong);
  EXPECT_EQ(errno_of(std::string(sizeof(ReadRequest) + kMaxReadName + 1, 'x')), wrong);
  EXPECT_EQ(errno_of(std::string(sizeof(ReadRequest), '\xff')), wrong);
  EXPECT_EQ(errno_of(good, kDescriptor), wrong) << "a descriptor that belongs to nothing";
  EXPECT_EQ(errno_of(good), 0) << "and continues to serve";
}

TEST(ReaderProcess, AnswersAnInvalidRequestWithAnError) {
  Growing inside;
  ForkedReader reader(inside);
  const UniqueFd socket = reader.take_socket();
  expect_refusals(socket.get(), EINVAL);
  EXPECT_TRUE(send_packet(socket.get(), request_of(ReadRequest::kSeal, "", 0)));
  ReadAnswer answer;
  const Packet sealed = receive_packet(socket.get(), packet_room(answer));
  ASSERT_EQ(sealed.descriptor_count, kReadChannels);
  for (const UniqueFd& channel : sealed.descriptors) expect_refusals(channel.get(), EPERM);
  EXPECT_TRUE(send_packet(sealed.descriptors[0].get(), request_of(ReadRequest::kSeal, "", 0)));
  EXPECT_EQ(answer_from(sealed.descriptors[0].get()).system_errno, EPERM) << "once only";
}

TEST(SharedMemory, IsOfOneSizeForEver) {
  const auto memory = SharedMemory::make(100);
  ASSERT_TRUE(memory);
  EXPECT_GE(memory->size(), 100U);
  EXPECT_EQ(::ftruncate(memory->descriptor(), 0), -1);
  EXPECT_EQ(::ftruncate(memory->descriptor(), 1 << 30), -1);
  auto taken = SharedMemory::take(UniqueFd(::dup(memory->descriptor())), memory->size());
  ASSERT_TRUE(taken);
  std::memcpy(memory->data(), "both", 4);
  EXPECT_EQ(std::string_view(taken->data(), 4), "both");
  EXPECT_FALSE(SharedMemory::take(UniqueFd(::dup(memory->descriptor())), memory->size() + 1));
}

TEST(SharedMemory, ForOneMessageIsSealedBeforeItGoes) {
  auto memory = SharedMemory::make_for_one(100);
  ASSERT_TRUE(memory);
  const UniqueFd other(::dup(memory->descriptor()));
  char* const mapping = memory->take_mapping();
  ASSERT_NE(mapping, nullptr);
  std::memcpy(mapping, "both", 4);
  EXPECT_FALSE(memory->seal_content()) << "it can still be written to";
  EXPECT_FALSE(SharedMemory::map_sealed(other, memory->size()));
  unmap_memory(mapping, memory->size());
  ASSERT_TRUE(memory->seal_content());
  EXPECT_EQ(::pwrite(other.get(), "x", 1, 0), -1);
  EXPECT_FALSE(SharedMemory::map_sealed(other, memory->size() + 1));
  const auto taken = SharedMemory::map_sealed(other, memory->size());
  ASSERT_TRUE(taken);
  EXPECT_EQ(std::string_view(*taken, 4), "both");
  unmap_memory(*taken, memory->size());
}

}  // namespace
}  // namespace memstat
