// SPDX-License-Identifier: BSD-2-Clause
// The helper process: what it keeps and what it cannot do, from its own report and from /proc.
#include "daemon/privileges/helper.h"

#include "tests/support/test.h"

#if defined(__linux__)
#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/child_process.h"
#include "tests/support/fake_kernel_view.h"

namespace memstat {
namespace {

const bool kSanitized = !std::string_view(MEMSTAT_SANITIZER).empty();
const std::vector<std::string> kCapabilities{"CAP_BPF", "CAP_PERFMON"};
constexpr std::uint64_t kBpfAndPerfmon = std::uint64_t{1} << 39 | std::uint64_t{1} << 38;

std::string status_field(pid_t process, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field + ":", 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of("\t ", field.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "absent";
}

std::string text_from(int socket) {
  std::array<char, 4096> text;
  const ssize_t size = ::recv(socket, text.data(), text.size(), 0);
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void send_text(int socket, std::string_view text) { (void)::send(socket, text.data(), text.size(), MSG_NOSIGNAL); }

void wait_for_the_end(int socket) {
  char byte = 0;
  iovec part{.iov_base = &byte, .iov_len = 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  while (::recvmsg(socket, &header, 0) > 0) {  // the only way to receive that its filter allows
  }
}

/// Tries what must be impossible, reports what worked, and waits.
void try_everything(int socket) {
  std::string worked = "worked:";
  const auto expect_refused = [&worked](bool is_refused, const char* what) {
    if (!is_refused) worked += std::string(" ") + what;
  };
  expect_refused(::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM, "socket");
  expect_refused(::socket(AF_UNIX, SOCK_DGRAM, 0) < 0 && errno == EPERM, "local_socket");
  expect_refused(::open("/etc/passwd", O_RDONLY) < 0, "open");
  expect_refused(::open("/dev/null", O_RDONLY) < 0, "open_null");
  expect_refused(::fork() < 0, "fork");
  expect_refused(::kill(1, 0) < 0, "kill");
  expect_refused(::setuid(0) != 0, "setuid");
  expect_refused(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, "new_code");
  const std::array<std::uint64_t, 16> zeros{};
  constexpr int kLoad = 5;
  expect_refused(::syscall(SYS_bpf, kLoad, zeros.data(), sizeof zeros) < 0 && errno == EPERM, "BPF_PROG_LOAD");
  constexpr int kOpenTracepoint = 17;
  const long attached = ::syscall(SYS_bpf, kOpenTracepoint, zeros.data(), sizeof zeros);
  if (attached >= 0 || errno == EPERM) worked += " (but not BPF_RAW_TRACEPOINT_OPEN)";
  send_text(socket, worked);
  wait_for_the_end(socket);
}

Result<HelperProcess> start(void (*serve)(int socket)) {
  return HelperProcess::start({.user = "nobody", .sandbox = true, .capabilities = kCapabilities, .serve = serve});
}

#define SKIP_UNLESS_MADE(helper)                                                                                 \
  if (!(helper) && (helper).error().code == ErrorCode::kPermission) GTEST_SKIP() << to_string((helper).error()); \
  ASSERT_TRUE(helper) << to_string((helper).error())

TEST(Helper, KeepsTheNamedCapabilitiesAndNothingElse) {
  auto helper = start(wait_for_the_end);
  SKIP_UNLESS_MADE(helper);
  const pid_t process = helper->number();
  for (const char* const set : {"CapEff", "CapPrm"}) {
    EXPECT_EQ(std::stoull(status_field(process, set), nullptr, 16), kBpfAndPerfmon) << set;
  }
  for (const char* const set : {"CapInh", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(std::stoull(status_field(process, set), nullptr, 16), 0U) << set;
  }
  EXPECT_EQ(status_field(process, "NoNewPrivs"), "1");
  EXPECT_EQ(status_field(process, "Seccomp"), kSanitized ? "0" : "2");
  EXPECT_EQ(status_field(process, "Name"), "memstatd-helper");
  EXPECT_EQ(status_field(process, "Groups"), "");
  if (::geteuid() == 0) {
    const passwd* const nobody = ::getpwnam("nobody");
    ASSERT_NE(nobody, nullptr);
    const std::string number = std::to_string(nobody->pw_uid);
    EXPECT_EQ(status_field(process, "Uid"), number + "\t" + number + "\t" + number + "\t" + number);
  }
  const UniqueFd socket = helper->take_socket();
  std::string open;
  for (const auto& each : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    open += each.path().filename().string() + " " + std::filesystem::read_symlink(each).string().substr(0, 7) + "\n";
  }
  EXPECT_EQ(std::count(open.begin(), open.end(), '\n'), 4) << open << "the socket, and three that lead nowhere";
  EXPECT_NE(open.find(" socket:"), std::string::npos) << open;
}

TEST(Helper, HasNoNetworkNoFilesAndNoOtherCalls) {
  if (kSanitized) GTEST_SKIP() << "there is no sandbox under a sanitizer";
  auto helper = start(try_everything);
  SKIP_UNLESS_MADE(helper);
  const UniqueFd socket = helper->take_socket();
  if (status_field(helper->number(), "Seccomp") != "2") GTEST_SKIP() << "built or running without seccomp";
  EXPECT_EQ(text_from(socket.get()), "worked:");
}

TEST(Helper, EndsWithItsSocketAndNotBySignalsThatAskToStop) {
  auto helper = start(wait_for_the_end);
  SKIP_UNLESS_MADE(helper);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) ASSERT_EQ(::kill(helper->number(), signal), 0);
  // A process that dies of a signal has it pending until it is a zombie, and does not wait again.
  EXPECT_TRUE(eventually([&] {
    const auto has_none = [&](const char* set) { return status_field(helper->number(), set) == "0000000000000000"; };
    return has_none("SigPnd") && has_none("ShdPnd") && status_field(helper->number(), "State") == "S (sleeping)";
  })) << status_field(helper->number(), "State");
  EXPECT_FALSE(helper->has_ended());
  (void)helper->take_socket();
  helper->wait();
  EXPECT_TRUE(helper->has_ended());
  EXPECT_EQ(::kill(helper->number(), 0), -1) << "and is forgotten";
}

TEST(Helper, IsSeenToHaveEnded) {
  auto helper = start(wait_for_the_end);
  SKIP_UNLESS_MADE(helper);
  ASSERT_EQ(::kill(helper->number(), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return helper->has_ended(); }));
}

TEST(Helper, CannotBeMadeWithRightsThatItWouldNotHave) {
  const int failed_step = exit_status_of_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
    const auto helper = start(wait_for_the_end);
    return !helper && helper.error().code == ErrorCode::kPermission ? 0 : 1;
  });
  EXPECT_EQ(failed_step, 0);
}

TEST(Helper, SaysWhyItCannotBeMade) {
  const auto unknown = HelperProcess::start({.user = "", .capabilities = {"CAP_SYS_ADMIN"}, .serve = wait_for_the_end});
  ASSERT_FALSE(unknown) << "only what a helper may need is known";
  EXPECT_NE(to_string(unknown.error()).find("is unknown"), std::string::npos) << to_string(unknown.error());
  if (::geteuid() != 0) GTEST_SKIP() << "the rest needs root";
  const auto nobody =
      HelperProcess::start({.user = "no-such-account", .capabilities = kCapabilities, .serve = wait_for_the_end});
  ASSERT_FALSE(nobody);
  if (nobody.error().code == ErrorCode::kPermission) GTEST_SKIP() << to_string(nobody.error());
  EXPECT_NE(to_string(nobody.error()).find("no-such-account"), std::string::npos) << to_string(nobody.error());
}

}  // namespace
}  // namespace memstat
#endif
