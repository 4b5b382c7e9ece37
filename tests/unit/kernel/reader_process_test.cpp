// SPDX-License-Identifier: BSD-2-Clause
// The process that reads the kernel for another one: both together over captures, in two processes, and each of them against
// a counterpart that sends wrong messages.
#include "core/kernel/reader_process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <random>

#include "core/base/sanitizer.h"
#include "core/base/text.h"
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
    for (std::size_t i = 0; i < std::min(ours.raw.files.size(), theirs.raw.files.size()); ++i) {
      EXPECT_EQ(theirs.raw.files[i].bytes.view() == ours.raw.files[i].bytes.view(), true) << ours.raw.files[i].path;
    }
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
    for (const RawFile& file : ours.raw.files) bytes += file.bytes.size();
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

/// Resident bytes of a process.
[[maybe_unused]] std::size_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_files(pid_t process) {
  const std::filesystem::directory_iterator files("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(ReaderProcess, KeepsNoMemoryOfLargeReads) {
#if defined(__linux__) && !defined(MEMSTAT_SANITIZED)
  constexpr std::size_t kLarge = 50'000'000;
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  ASSERT_EQ(text_of(view->read_sysctl("5000000", out, 0)), "");  // more than one piece
  const std::size_t before = resident_bytes(reader.number());
  ASSERT_EQ(text_of(view->read_sysctl(std::to_string(kLarge), out, 0)), "");
  EXPECT_LT(resident_bytes(reader.number()), before + kLarge / 10) << "it frees the memory before the last piece";
#else
  GTEST_SKIP() << "looks at Linux's /proc, and sanitizers keep what is freed";
#endif
}

TEST(ReaderProcess, NeedsNoDescriptorForAnswers) {
#if defined(__linux__)
  Growing inside;
  ForkedReader reader(inside);
  const auto view = reader.connect();
  Buffer out;
  ASSERT_TRUE(view->read_sysctl("100", out, 0));
  ASSERT_TRUE(view->read_sysctl("20000000", out, 0));
  ASSERT_TRUE(view->seal());
  const std::size_t ours = open_files(::getpid());
  const std::size_t theirs = open_files(reader.number());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::prlimit(reader.number(), RLIMIT_NOFILE, &none, nullptr), 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);  // as when the system's table of files is full
  const Result<void> read = view->read_sysctl("100", out, 0);
  const Result<void> large = view->read_sysctl("20000000", out, 0);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(text_of(read), "");
  EXPECT_EQ(text_of(large), "");
  EXPECT_EQ(open_files(::getpid()), ours);
  EXPECT_EQ(open_files(reader.number()), theirs);
#else
  GTEST_SKIP() << "limits another process as Linux can";
#endif
}

/// Content as kern.malloc_stats has it: mostly zeros, with values of all lengths between them.
std::string mostly_zeros(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += 1 + random() % 3000) {
    const std::size_t length = std::min<std::size_t>(random() % 200, size - at);
    for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random());
  }
  return bytes;
}

TEST(ReadPieces, PackAndUnpackAnything) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const std::string bytes = mostly_zeros(seed < 40 ? seed : seed * 97, seed);
    std::vector<char> room(seed % 3 == 0 ? 64 : 5000);
    std::string out(bytes.size(), 'x');
    std::size_t from = 0;
    std::size_t to = 0;
    while (from < bytes.size()) {
      const std::size_t size = pack_piece(bytes, from, room);
      ASSERT_LE(size, room.size());
      ASSERT_TRUE(unpack_piece({room.data(), size}, out.data(), out.size(), false, to)) << seed;
      ASSERT_EQ(from, to);
    }
    ASSERT_EQ(out, bytes) << seed;
  }
}

TEST(ReadPieces, OfMostlyZerosAreSmall) {
  std::string bytes(17'000'000, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 65'536) bytes.replace(at, 100, 100, 'x');
  std::vector<char> room(kMaxReadPiece);
  std::size_t at = 0;
  EXPECT_LT(pack_piece(bytes, at, room), 260U * 140);
  EXPECT_EQ(at, bytes.size());
}

TEST(ReadPieces, ThatAreDamagedAreRefused) {
  std::vector<char> room(5000);
  std::size_t packed = 0;
  const std::string bytes = mostly_zeros(4000, 1);
  const std::size_t size = pack_piece(bytes, packed, room);
  std::string out(bytes.size(), 'x');
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string piece(room.data(), size);
    piece[random() % size] ^= static_cast<char>(1U << random() % 8);
    piece.resize(random() % (size + 1));
    std::size_t at = 0;
    (void)unpack_piece(piece, out.data(), out.size(), false, at);  // within `out`
    ASSERT_LE(at, out.size());
  }
  std::size_t at = 0;
  EXPECT_FALSE(unpack_piece({}, out.data(), out.size(), false, at)) << "no progress";
  EXPECT_FALSE(unpack_piece({room.data(), size}, out.data(), out.size() - 1, false, at)) << "more than announced";
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

/// What a dishonest reader has in the memory when it wakes the client.
struct Lie {
  ReadAnswer answer;
  std::string text = {};
  std::string piece = {};
};

std::string piece_of(std::string_view bytes) {
  std::string room(bytes.size() + 100, '\0');
  std::size_t at = 0;
  room.resize(pack_piece(bytes, at, room));
  return room;
}

/// A view whose reader answers the first question properly, and then says whatever the test says.
class Liar {
 public:
  Liar() {
    auto made = ReadChannels::make();
    EXPECT_TRUE(made);
    channels_ = *std::move(made);
    const ReaderFacts facts{.page_size = 4096, .cpu_count = 1, .os = 1, .release = {}};
    const std::string piece = piece_of({reinterpret_cast<const char*>(&facts), sizeof facts});
    put({.answer = {.size = sizeof facts, .piece = piece.size()}, .piece = piece});
    auto view = ReaderView::connect(std::move(channels_.ours));
    EXPECT_TRUE(view);
    if (view) view_ = *std::move(view);
    EXPECT_TRUE(channels_.theirs.front().wait());
  }
  void put(const Lie& lie) {
    ReadMemory& memory = channels_.theirs.front().memory();
    memory.answer = lie.answer;
    lie.text.copy(memory.text.data(), memory.text.size());
    lie.piece.copy(memory.piece.data(), memory.piece.size());
    ASSERT_TRUE(channels_.theirs.front().wake());
  }
  /// The result of a read with this answer, after which the reader ends.
  std::string said_to(const Lie& lie) {
    put(lie);
    Buffer out;
    std::thread reader([&] {
      while (channels_.theirs.front().wait()) {
        if (++requests_ == 2) return channels_.theirs.clear();  // asks for more
      }
    });
    const std::string said = text_of(view_->read_file("/a", out));
    again_ = text_of(view_->read_file("/a", out));
    view_.reset();
    reader.join();
    return said;
  }
  [[nodiscard]] const std::string& again() const { return again_; }
  ReaderView& view() { return *view_; }

 private:
  ReadChannels channels_;
  std::unique_ptr<ReaderView> view_;
  std::string again_;
  int requests_ = 0;
};

constexpr const char* kGone = "/a: the process that reads the kernel for memstatd is gone; restart memstatd";

TEST(ReaderView, BelievesWhatIsTrue) {
  const std::string piece = piece_of(std::string(65536, 'x'));
  EXPECT_EQ(Liar().said_to({.answer = {.size = 65536, .piece = piece.size()}, .piece = piece}), "");
  EXPECT_EQ(Liar().said_to({.answer = {}}), "") << "of an empty file";
  EXPECT_EQ(Liar().said_to(
                {.answer = {.flags = ReadAnswer::kIsError, .code = 17, .system_errno = EIO, .path_size = 2}, .text = "/b"}),
            to_string(system_error("/b", EIO)));
}

TEST(ReaderView, BelievesNoAnswerThatCannotBe) {
  const std::string good = piece_of(std::string(100, 'x'));
  const std::string zeros = piece_of(std::string(100, '\0'));
  const auto garbage = load<ReadAnswer>(std::string(sizeof(ReadAnswer), '\xff'), 0);
  const std::pair<const char*, Lie> lies[] = {
      {"more than it announced", {.answer = {.size = 99, .piece = good.size()}, .piece = good}},
      {"more zeros than it announced", {.answer = {.size = 99, .piece = zeros.size()}, .piece = zeros}},
      {"less, and then nothing", {.answer = {.size = 101, .piece = good.size()}, .piece = good}},
      {"no piece", {.answer = {.size = 100}}},
      {"half a head", {.answer = {.size = 100, .piece = 7}, .piece = good}},
      {"half a piece", {.answer = {.size = 100, .piece = good.size() - 1}, .piece = good}},
      {"a piece beyond its memory", {.answer = {.size = 100, .piece = kMaxReadPiece + 1}, .piece = good}},
      {"content without end", {.answer = {.size = ~0ULL, .piece = good.size()}, .piece = good}},
      {"a text that is too long", {.answer = {.flags = ReadAnswer::kIsError, .code = 17, .path_size = 1025}}},
      {"an error with content", {.answer = {.flags = ReadAnswer::kIsError, .code = 17, .size = 1}}},
      {"an unknown error", {.answer = {.flags = ReadAnswer::kIsError, .code = 99}}},
      {"an impossible errno", {.answer = {.flags = ReadAnswer::kIsError, .code = 17, .system_errno = -1}}},
      {"garbage", {.answer = garbage}}};
  for (const auto& [what, lie] : lies) {
    Liar liar;
    EXPECT_EQ(liar.said_to(lie), kGone) << what;
    EXPECT_EQ(liar.again(), kGone) << what << ": sends no more requests";
  }
}

TEST(ReaderView, NeedsNamesThatEnd) {
  Liar cut;
  const std::string piece = piece_of("name");
  cut.put({.answer = {.size = 4, .piece = piece.size()}, .piece = piece});
  std::vector<std::string> names;
  EXPECT_EQ(cut.view().list_sysctls("a", names).error().code, ErrorCode::kData);
}

// ---- another end that lies ---------------------------------------------------------------------------------------------

/// The errno of the answer to a request. `size`: that of the name, as stated.
int errno_of(const ChannelEnd& channel, std::uint32_t word, std::string_view name, std::uint32_t size) {
  ReadMemory& memory = channel.memory();
  memory.request = {.word = word, .name_size = size};
  name.copy(memory.name.data(), memory.name.size());
  EXPECT_TRUE(channel.wake());
  EXPECT_TRUE(channel.wait());
  return memory.answer.system_errno;
}

/// `wrong`: the errno for an invalid request. Once sealed, the reader does not say what is wrong with one.
void expect_refusals(const ChannelEnd& channel, int wrong) {
  EXPECT_EQ(errno_of(channel, ReadRequest::kFile, "/a", 2), 0);
  for (const std::uint32_t word : {0U, 15U, 0xffffffffU}) EXPECT_EQ(errno_of(channel, word, "/a", 2), wrong) << word;
  for (const std::uint32_t size : {std::uint32_t{kMaxReadName} + 1, 0xffffffffU})
    EXPECT_EQ(errno_of(channel, ReadRequest::kFile, "/a", size), wrong) << size;
  EXPECT_EQ(errno_of(channel, 0xffffffff, "\xff", 0xffffffff), wrong);
  EXPECT_EQ(errno_of(channel, ReadRequest::kFile, "/a", 2), 0) << "and continues to serve";
}

TEST(ReaderProcess, AnswersAnInvalidRequestWithAnError) {
  Growing inside;
  ForkedReader reader(inside);
  const std::vector<ChannelEnd> channels = reader.take_channels();
  expect_refusals(channels.front(), EINVAL);
  EXPECT_EQ(errno_of(channels.front(), ReadRequest::kSeal, "", 0), 0);
  for (const ChannelEnd& channel : channels) expect_refusals(channel, EPERM);
  EXPECT_EQ(errno_of(channels.front(), ReadRequest::kSeal, "", 0), EPERM) << "once only";
}

}  // namespace
}  // namespace memstat
