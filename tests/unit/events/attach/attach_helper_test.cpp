// SPDX-License-Identifier: BSD-2-Clause
// The messages of the helper process: each end against a lying peer, and both together, with a pipe instead of an attached
// program.
#include "core/events/attach/attach_helper.h"
#include "tests/support/fake_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace memstat::events {
namespace {

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};
Pair make_pair_of_sockets() {
  std::array<int, 2> ends{-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int each = 0; each < 1024; ++each) count += is_open(each) ? 1 : 0;
  return count;
}

AttachPoint point_of(std::string_view name, std::uint32_t kind = AttachPoint::kRawTracepoint) {
  AttachPoint point{.kind = kind};
  name.copy(point.name.data(), point.name.size() - 1);
  return point;
}

/// Attaches only to "good", as a new descriptor.
int attach_good(int program, const AttachPoint& point) {
  if (!is_open(program)) return -EBADF;
  return std::string_view(point.name.data()) == "good" ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -ENOENT;
}

/// Sends anything, with any descriptors.
void send_raw(int socket, const void* bytes, std::size_t size, const std::vector<int>& descriptors = {}) {
  iovec part{.iov_base = const_cast<void*>(bytes), .iov_len = size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  }
  ASSERT_EQ(::sendmsg(socket, &header, MSG_NOSIGNAL), static_cast<ssize_t>(size));
}

/// A helper in a thread, and its other end.
class Serving : public testing::Test {
 protected:
  Serving() {
    Pair pair = make_pair_of_sockets();
    ours_ = std::move(pair.ours);
    thread_ = std::thread([socket = std::move(pair.theirs)] { serve_attaching(socket.get(), attach_good); });
  }
  ~Serving() override { end(); }
  void end() {
    ours_ = UniqueFd();
    if (thread_.joinable()) thread_.join();
  }
  /// The answer to a message without a descriptor.
  AttachAnswer answer() {
    AttachAnswer got{.error = -1};
    EXPECT_EQ(::recv(ours_.get(), &got, sizeof got, 0), static_cast<ssize_t>(sizeof got));
    return got;
  }
  AttachAnswer answer_to(const AttachRequest& request, const std::vector<int>& descriptors = {}) {
    send_raw(ours_.get(), &request, sizeof request, descriptors);
    return answer();
  }

  UniqueFd ours_;
  std::thread thread_;
};

TEST_F(Serving, RefusesInvalidRequests) {
  const std::array<char, 2 * sizeof(AttachRequest)> zeros{};
  for (const std::size_t size : {std::size_t{1}, sizeof(AttachRequest) - 1, sizeof(AttachRequest) + 1, zeros.size()}) {
    send_raw(ours_.get(), zeros.data(), size);
    EXPECT_EQ(answer().error, EINVAL) << size;
  }
  for (const std::uint32_t word : {0U, 4U, 0xffffffffU}) EXPECT_EQ(answer_to({.word = word}).error, EINVAL) << word;
  EXPECT_EQ(answer_to({.word = AttachRequest::kAdd, .point = point_of("good")}, {0}).error, 0) << "and continues to serve";
}

TEST_F(Serving, TakesAProgramWithAPointOnly) {
  const std::size_t before = open_descriptors();
  const AttachRequest add{.word = AttachRequest::kAdd, .point = point_of("good")};
  EXPECT_EQ(answer_to(add).error, EINVAL) << "the program is missing";
  EXPECT_EQ(answer_to(add, {0, 0}).error, EINVAL) << "two of them";
  EXPECT_EQ(answer_to(add, {0, 0, 0, 0, 0, 0, 0, 0}).error, EINVAL) << "more than there is room for";
  AttachRequest wrong = add;
  wrong.point.name.fill('x');
  EXPECT_EQ(answer_to(wrong, {0}).error, EINVAL) << "a name without an end";
  for (const std::uint32_t kind : {0U, 4U, 0xffffffffU}) {
    wrong = add;
    wrong.point.kind = kind;
    EXPECT_EQ(answer_to(wrong, {0}).error, EINVAL) << kind;
  }
  EXPECT_EQ(answer_to({.word = AttachRequest::kSeal}, {0}).error, EINVAL) << "a descriptor that belongs to nothing";
  EXPECT_EQ(open_descriptors(), before) << "refused descriptors are closed";
}

TEST_F(Serving, LearnsNothingOnceItIsSealed) {
  const AttachRequest add{.word = AttachRequest::kAdd, .point = point_of("good")};
  EXPECT_EQ(answer_to({.word = AttachRequest::kAttach, .place = 0}).error, EINVAL) << "there is none";
  EXPECT_EQ(answer_to(add, {0}).error, 0);
  EXPECT_EQ(answer_to({.word = AttachRequest::kAttach, .place = 0}).error, EINVAL) << "not yet";
  EXPECT_EQ(answer_to({.word = AttachRequest::kSeal}).error, 0);
  EXPECT_EQ(answer_to(add, {0}).error, EINVAL);
  for (const std::uint32_t place : {1U, kMaxAttachPoints, 0xffffffffU}) {
    const AttachAnswer got = answer_to({.word = AttachRequest::kAttach, .place = place});
    EXPECT_EQ(got.error, EINVAL) << place;
    EXPECT_EQ(got.place, place);
  }
}

TEST_F(Serving, KeepsNoCopyOfWhatItAttached) {
  AttachHelper helper(std::move(ours_));
  ASSERT_TRUE(helper.add(0, point_of("good")));
  ASSERT_TRUE(helper.add(0, point_of("bad")));
  ASSERT_TRUE(helper.seal());
  const std::size_t before = open_descriptors();  // of this process, in which the helper is a thread
  {
    const auto attached = helper.attach(0);
    ASSERT_TRUE(attached) << to_string(attached.error());
    EXPECT_TRUE(is_open(attached->get()));
    EXPECT_TRUE(eventually([&] { return open_descriptors() == before + 1; }));
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; }));
  EXPECT_TRUE(fails(helper.attach(1), {.system_errno = ENOENT}));
  EXPECT_FALSE(helper.attach(2));
  EXPECT_TRUE(helper.is_alive()) << "a refusal is an answer";
  EXPECT_TRUE(helper.attach(0));
}

/// The daemon's end, with the test as the helper.
class Asking : public testing::Test {
 protected:
  Asking() : pair_(make_pair_of_sockets()), helper_(std::move(pair_.ours)) {}
  /// The result of a request for place 7 that gets this answer.
  Result<UniqueFd> attach(const std::function<void(int socket)>& answer) {
    std::thread thread([this, &answer] {
      AttachRequest request;
      EXPECT_EQ(::recv(pair_.theirs.get(), &request, sizeof request, 0), static_cast<ssize_t>(sizeof request));
      answer(pair_.theirs.get());
    });
    auto result = helper_.attach(7);
    thread.join();
    return result;
  }
  Result<UniqueFd> attach(const AttachAnswer& answer, const std::vector<int>& descriptors) {
    return attach([&](int socket) { send_raw(socket, &answer, sizeof answer, descriptors); });
  }
  void expect_gone(const Result<UniqueFd>& result) {
    ASSERT_TRUE(fails(result, ErrorCode::kNotPresent));
    EXPECT_NE(to_string(result.error()).find("restart memstatd to count events again"), std::string::npos);
    EXPECT_FALSE(helper_.is_alive());
    EXPECT_FALSE(helper_.attach(7)) << "for good";
  }

  Pair pair_;
  AttachHelper helper_;
};

TEST_F(Asking, TakesADescriptorWithoutAnError) {
  EXPECT_TRUE(attach({.error = 0, .place = 7}, {0}));
  EXPECT_TRUE(helper_.is_alive());
}

TEST_F(Asking, TakesAnErrorWithoutADescriptor) {
  EXPECT_TRUE(fails(attach({.error = ENODEV, .place = 7}, {}), {.system_errno = ENODEV}));
  EXPECT_TRUE(helper_.is_alive());
}

TEST_F(Asking, GivesUpOneThatAttachesWithoutADescriptor) { expect_gone(attach({.error = 0, .place = 7}, {})); }
TEST_F(Asking, GivesUpOneThatSendsADescriptorWithAnError) { expect_gone(attach({.error = EPERM, .place = 7}, {0})); }
TEST_F(Asking, GivesUpOneThatSendsTwoDescriptors) {
  const std::size_t before = open_descriptors();
  expect_gone(attach({.error = 0, .place = 7}, {0, 0}));
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; }));
}
TEST_F(Asking, GivesUpOneThatAnswersSomethingElse) { expect_gone(attach({.error = 0, .place = 8}, {0})); }
TEST_F(Asking, GivesUpASourceWhoseErrorIsUnset) { expect_gone(attach({.error = -1, .place = 7}, {})); }
TEST_F(Asking, GivesUpOneThatAnswersInPart) {
  expect_gone(attach([](int socket) { send_raw(socket, "abc", 3); }));
}

TEST_F(Asking, KeepsOneWhoseDescriptorThisProcessHasNoRoomFor) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  // The answer is ready before the request, because only the request runs without descriptors, of which a sanitizer needs
  // some.
  const AttachAnswer answer{.error = 0, .place = 7};
  send_raw(pair_.theirs.get(), &answer, sizeof answer, {0});
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};  // open descriptors stay open
  const int status = ::setrlimit(RLIMIT_NOFILE, &none);
  const auto result = helper_.attach(7);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fails(result, {.system_errno = EMFILE}));
  EXPECT_TRUE(helper_.is_alive());
}

TEST_F(Asking, SeesThatItDied) {
  EXPECT_TRUE(helper_.is_alive());
  pair_.theirs = UniqueFd();
  EXPECT_FALSE(helper_.is_alive());
  expect_gone(helper_.attach(7));
  EXPECT_FALSE(helper_.add(0, point_of("good")));
  EXPECT_FALSE(helper_.seal());
}

TEST_F(Asking, SeesThatItDiedWhileItWasAsked) {
  expect_gone(attach([this](int /*socket*/) { pair_.theirs = UniqueFd(); }));
}

TEST(AttachHelper, OfTheProcessMayBeSetWhileOthersGetIt) {
  Pair pair = make_pair_of_sockets();
  const auto helper = std::make_shared<AttachHelper>(std::move(pair.ours));
  std::thread setting([&helper] {
    for (int i = 0; i < 10'000; ++i) set_process_helper(i % 2 == 0 ? helper : nullptr);
  });
  for (int i = 0; i < 10'000; ++i) {
    const auto got = process_helper();
    EXPECT_TRUE(got == nullptr || got == helper);
  }
  setting.join();
  set_process_helper(nullptr);
  EXPECT_EQ(helper.use_count(), 1);
}

}  // namespace
}  // namespace memstat::events
