// SPDX-License-Identifier: BSD-2-Clause
// Dropping privileges is permanent, so each test does it in a forked child, which reports through a pipe.
#include "daemon/privileges/privileges.h"

#include "tests/support/fixtures.h"
#include "tests/support/test.h"

#if defined(__linux__)
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

namespace memstat {
namespace {

const bool kAddressSanitizer = std::string_view(MEMSTAT_SANITIZER) == "address";
const bool kThreadSanitizer = std::string_view(MEMSTAT_SANITIZER) == "thread";

#define SKIP_UNDER_TSAN() \
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer does not support threads and user changes in a forked child"
#define SKIP_UNDER_SANITIZERS()                                           \
  if (kThreadSanitizer || kAddressSanitizer)                              \
  GTEST_SKIP() << "there is no sandbox and no locking of memory under a " \
                  "sanitizer"
#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "needs root"

struct Outcome {
  int wait_status = 0;
  std::string text;  // The child's errors; "" is success.
};

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// Runs `child` in a fork.
Outcome in_child(const std::function<std::string()>& child) {
  int result[2];
  if (pipe(result) != 0) return {-1, "no pipe"};
  const pid_t pid = fork();
  if (pid == 0) {
    close(result[0]);
    const std::string text = child();
    const ssize_t written = write(result[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(result[1]);
  Outcome outcome;
  outcome.text = read_to_end(result[0]);
  close(result[0]);
  waitpid(pid, &outcome.wait_status, 0);
  return outcome;
}

void expect_clean(const Outcome& outcome) {
  EXPECT_EQ(outcome.text, "");
  EXPECT_TRUE(WIFEXITED(outcome.wait_status) && WEXITSTATUS(outcome.wait_status) == 0)
      << "wait status " << outcome.wait_status
      << (WIFSIGNALED(outcome.wait_status) ? ", killed by a signal (31 is a refused system call)" : "");
}

std::string status_field(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field + ":", 0) == 0) return line.substr(line.find_first_not_of("\t ", field.size() + 1));
  }
  return "absent";
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Collects errors in a child, where gtest's own assertions would be lost.
class SandboxFindings {
 public:
  void expect(bool condition, const std::string& what) {
    if (!condition) text_ += what + " (errno " + std::to_string(errno) + ")\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

PrivilegeOptions as_nobody() {
  return {.user = "nobody", .sandbox = true, .lock_memory = false, .readable_paths = {"/proc/self"}, .writable_paths = {}};
}

bool landlock_supported() { return syscall(444, nullptr, 0, 1) >= 1; }

/// A directory in which every account may write.
class OpenDirectory : public TemporaryDirectory {
 public:
  OpenDirectory() { EXPECT_EQ(chmod(path().c_str(), 0777), 0); }
};

bool can_read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

bool can_create(const std::string& path) {
  const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && write(fd, "x", 1) == 1;
  if (fd >= 0) close(fd);
  return written;
}

/// Runs `child` in a process that has dropped its privileges.
void expect_in_sandbox(const std::function<void(SandboxFindings&)>& child) {
  SKIP_UNDER_SANITIZERS();
  const Outcome outcome = in_child([&]() -> std::string {
    const Result<PrivilegeReport> report = drop_privileges(as_nobody());
    if (!report) return to_string(report.error());
    if (!report->seccomp) return "no seccomp";
    SandboxFindings findings;
    child(findings);
    return findings.text();
  });
  if (outcome.text == "no seccomp") GTEST_SKIP() << "built or running without seccomp";
  expect_clean(outcome);
}

TEST(Privileges, RootBecomesTheUserAndLosesEveryCapability) {
  SKIP_UNDER_TSAN();
  SKIP_UNLESS_ROOT();
  const passwd* const nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const uid_t uid = nobody->pw_uid;
  const gid_t gid = nobody->pw_gid;
  expect_clean(in_child([&]() -> std::string {
    const Result<PrivilegeReport> report = drop_privileges(as_nobody());
    if (!report) return to_string(report.error());
    SandboxFindings findings;
    findings.expect(report->user_changed && report->no_new_privileges, "report");
    uid_t uids[3];
    gid_t gids[3];
    findings.expect(getresuid(&uids[0], &uids[1], &uids[2]) == 0 && getresgid(&gids[0], &gids[1], &gids[2]) == 0,
                    "getres*id");
    for (const uid_t each : uids) findings.expect(each == uid, "uid " + std::to_string(each));
    for (const gid_t each : gids) findings.expect(each == gid, "gid " + std::to_string(each));
    findings.expect(getgroups(0, nullptr) == 0, "supplementary groups remain");
    for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      findings.expect(status_field(set) == "0000000000000000", std::string(set) + " " + status_field(set));
    }
    findings.expect(status_field("NoNewPrivs") == "1", "no_new_privs");
    findings.expect(setresuid(0, 0, 0) != 0, "became root again");
    findings.expect(present_privileges("n").ends_with(" (n) without capabilities"), present_privileges("n"));
    findings.expect(!can_read("/proc/slabinfo"), "slabinfo can be opened again");
    return findings.text();
  }));
}

TEST(Privileges, CapabilitiesGoEvenWhenTheUserCannotBeChanged) {
  SKIP_UNDER_TSAN();
  expect_clean(in_child([]() -> std::string {
    // As root, first creates the state that a systemd unit leaves: an ordinary user with one ambient capability.
    const bool root = geteuid() == 0;
    const unsigned long kDacReadSearch = 2;
    if (root) {
      prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
      if (setresuid(65534, 65534, 65534) != 0) return "setresuid";
      std::uint32_t header[2] = {0x20080522, 0};
      std::uint32_t sets[6] = {1U << kDacReadSearch, 1U << kDacReadSearch, 1U << kDacReadSearch, 0, 0, 0};
      if (syscall(SYS_capset, header, sets) != 0) return "capset";
      if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kDacReadSearch, 0, 0) != 0) return "ambient";
      if (status_field("CapEff") == "0000000000000000") return "the test gave itself no capability";
    }
    const uid_t before = geteuid();
    const Result<PrivilegeReport> report = drop_privileges(as_nobody());
    if (!report) return to_string(report.error());
    SandboxFindings findings;
    findings.expect(!report->user_changed && geteuid() == before, "user changed");
    findings.expect(joined(report->notes).find("user: not started as root") != std::string::npos, joined(report->notes));
    for (const char* const set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
      findings.expect(status_field(set) == "0000000000000000", std::string(set) + " " + status_field(set));
    }
    return findings.text();
  }));
}

TEST(Privileges, UnknownUserIsAnErrorThatNamesTheKeyAndTheUser) {
  SKIP_UNDER_TSAN();
  SKIP_UNLESS_ROOT();
  expect_clean(in_child([]() -> std::string {
    PrivilegeOptions options = as_nobody();
    options.user = "no-such-account-here";
    const Result<PrivilegeReport> report = drop_privileges(options);
    if (report) return "accepted";
    SandboxFindings findings;
    findings.expect(report.error().code == ErrorCode::kData, "code");
    const std::string text = to_string(report.error());
    findings.expect(text.find("user: there is no account \"no-such-account-here\"") != std::string::npos, text);
    findings.expect(geteuid() == 0 && status_field("NoNewPrivs") == "0",
                    "something was dropped although the user is unknown");
    return findings.text();
  }));
}

TEST(Privileges, AProcessWithThreadsIsRefused) {
  SKIP_UNDER_SANITIZERS();
  expect_clean(in_child([]() -> std::string {
    std::promise<void> stop;
    std::thread other([&stop] { stop.get_future().wait(); });
    const Result<PrivilegeReport> report = drop_privileges(as_nobody());
    stop.set_value();
    other.join();
    if (report) return "accepted";
    const std::string text = to_string(report.error());
    return report.error().code == ErrorCode::kData && text.find("there are 2") != std::string::npos ? "" : text;
  }));
}

TEST(Privileges, WithoutASandboxOnlyPrivilegesGo) {
  SKIP_UNDER_TSAN();
  expect_clean(in_child([]() -> std::string {
    const Result<PrivilegeReport> report =
        drop_privileges({.user = "", .sandbox = false, .lock_memory = false, .readable_paths = {}, .writable_paths = {}});
    if (!report) return to_string(report.error());
    SandboxFindings findings;
    findings.expect(!report->user_changed && !report->seccomp && !report->landlock && !report->memory_locked, "report");
    const std::string notes = joined(report->notes);
    for (const char* const key : {"user: the key is empty", "sandbox: off", "lock_memory: off"}) {
      findings.expect(notes.find(key) != std::string::npos, "no note \"" + std::string(key) + "\" in " + notes);
    }
    findings.expect(can_read("/etc/passwd"), "/etc/passwd is out of reach");
    findings.expect(status_field("CapEff") == "0000000000000000", "CapEff " + status_field("CapEff"));
    return findings.text();
  }));
}

TEST(Privileges, StartingAProgramKillsAndForkingIsRefused) {
  SKIP_UNDER_SANITIZERS();
  const Outcome outcome = in_child([]() -> std::string {
    const Result<PrivilegeReport> report = drop_privileges(as_nobody());
    if (!report) return to_string(report.error());
    if (!report->seccomp) return "no seccomp";
    const pid_t forked = fork();
    if (forked == 0) _exit(0);
    if (forked > 0 || errno != EPERM) return "fork was not refused";
    char program[] = "/bin/true";
    char* const arguments[] = {program, nullptr};
    execve(program, arguments, nullptr);
    return "execve returned";
  });
  if (outcome.text == "no seccomp") GTEST_SKIP() << "built or running without seccomp";
  EXPECT_EQ(outcome.text, "");
  ASSERT_TRUE(WIFSIGNALED(outcome.wait_status)) << outcome.wait_status;
  EXPECT_EQ(WTERMSIG(outcome.wait_status), SIGSYS);
}

TEST(Privileges, NewCodeAndOutgoingConnectionsAreRefused) {
  expect_in_sandbox([](SandboxFindings& findings) {
    void* const code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    findings.expect(code == MAP_FAILED && errno == EPERM, "executable mmap");
    void* const data = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    findings.expect(data != MAP_FAILED && mprotect(data, 4096, PROT_READ | PROT_EXEC) != 0, "mprotect to executable");
    findings.expect(socket(AF_INET, SOCK_DGRAM, 0) < 0, "a datagram socket");
    findings.expect(socket(AF_NETLINK, SOCK_RAW, 0) < 0, "a netlink socket");
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(9);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    findings.expect(connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && errno == EPERM,
                    "connect");
    const ssize_t sent = sendto(client, "x", 1, MSG_FASTOPEN, reinterpret_cast<sockaddr*>(&address), sizeof address);
    findings.expect(sent < 0 && errno == EPERM, "connecting by sending");
    findings.expect(kill(1, 0) != 0, "signal to another process");
    findings.expect(raise(SIGURG) == 0, "signal to ourselves");
  });
}

/// Whether the descriptor could be bound to a free port of loopback.
bool bind_to_loopback(int fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

TEST(Privileges, NoSocketReachesOtherProcessesOfTheMachine) {
  int inherited[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, inherited), 0);
  expect_in_sandbox([&](SandboxFindings& findings) {
    for (const int type : {SOCK_DGRAM, SOCK_STREAM, SOCK_SEQPACKET}) {
      findings.expect(socket(AF_UNIX, type, 0) < 0 && errno == EPERM, "a local socket of type " + std::to_string(type));
    }
    int pair[2];
    findings.expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0 && errno == EPERM, "a pair of sockets for datagrams");
    findings.expect(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "a pair of streams, which the HTTP front makes");
    for (const int family : {AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
      findings.expect(socket(family, SOCK_STREAM, 0) < 0 && errno == EPERM, "a socket of family " + std::to_string(family));
    }
    findings.expect(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) < 0 && errno == EPERM, "a raw socket");
    sockaddr_un log{};
    log.sun_family = AF_UNIX;
    std::strcpy(log.sun_path, "/dev/log");
    findings.expect(sendto(inherited[0], "x", 1, 0, reinterpret_cast<sockaddr*>(&log), sizeof log) < 0 && errno == EPERM,
                    "a datagram to an address");
    findings.expect(send(inherited[0], "x", 1, 0) == 1, "a datagram to the other end");
  });
  close(inherited[0]);
  close(inherited[1]);
}

TEST(Privileges, NothingNewIsListenedOn) {
  const int before = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ASSERT_TRUE(bind_to_loopback(before) && listen(before, 1) == 0);
  expect_in_sandbox([&](SandboxFindings& findings) {
    const int after = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    findings.expect(after >= 0, "a socket, which civetweb makes");
    findings.expect(!bind_to_loopback(after) && errno == EPERM, "bind");
    findings.expect(listen(after, 1) != 0 && errno == EPERM, "listen");
    findings.expect(accept(before, nullptr, nullptr) < 0 && errno == EAGAIN, "accept still works");
  });
  close(before);
}

TEST(Privileges, FilesOutsideTheListsAreOutOfReachAndThoseInsideAreNot) {
  SKIP_UNDER_SANITIZERS();
  if (!landlock_supported()) GTEST_SKIP() << "this kernel has no Landlock";
  const OpenDirectory readable;
  const OpenDirectory writable;
  ASSERT_TRUE(can_create(readable.path() + "/config.yaml"));
  ASSERT_EQ(chmod((readable.path() + "/config.yaml").c_str(), 0644), 0);
  expect_clean(in_child([&]() -> std::string {
    PrivilegeOptions options = as_nobody();
    options.readable_paths.push_back(readable.path());
    options.readable_paths.emplace_back("/no/such/file");
    options.writable_paths = {writable.path()};
    if (!can_read("/etc/passwd")) return "/etc/passwd could not be read before";
    const Result<PrivilegeReport> report = drop_privileges(options);
    if (!report) return to_string(report.error());
    SandboxFindings findings;
    findings.expect(report->landlock, "landlock: " + joined(report->notes));
    findings.expect(joined(report->notes).find("/no/such/file: not accessible") != std::string::npos, joined(report->notes));
    findings.expect(!can_read("/etc/passwd") && errno == EACCES, "/etc/passwd");
    findings.expect(can_read(readable.path() + "/config.yaml"), "the configuration");
    findings.expect(!can_create(readable.path() + "/new"), "creating in a readable directory");
    findings.expect(!can_create("/tmp/memstat-privileges-escape"), "creating elsewhere");
    findings.expect(can_read("/proc/self/stat"), "/proc/self/stat");
    // The operations of a recording: a directory written under another name, a link in it, renamed, trimmed, removed.
    const std::string poll = writable.path() + "/000000";
    findings.expect(mkdir((poll + ".tmp").c_str(), 0700) == 0, "mkdir");
    findings.expect(can_create(poll + ".tmp/file"), "create");
    findings.expect(symlink("file", (poll + ".tmp/link").c_str()) == 0, "symlink");
    findings.expect(rename((poll + ".tmp").c_str(), poll.c_str()) == 0, "rename");
    findings.expect(rename((poll + "/file").c_str(), (writable.path() + "/file").c_str()) == 0,
                    "rename into another directory");
    const int fd = open((writable.path() + "/file").c_str(), O_RDWR | O_CLOEXEC);
    findings.expect(fd >= 0 && ftruncate(fd, 0) == 0 && fsync(fd) == 0 && close(fd) == 0, "ftruncate, fsync");
    findings.expect(unlink((writable.path() + "/file").c_str()) == 0, "unlink");
    findings.expect(unlink((poll + "/link").c_str()) == 0 && rmdir(poll.c_str()) == 0, "rmdir");
    return findings.text();
  }));
}

// The kernel gives directories of procfs new inodes after it has reclaimed those that are not in use.
TEST(Privileges, PathsOfProcfsStayReadableAfterMemoryWasShort) {
  SKIP_UNDER_SANITIZERS();
  if (!landlock_supported()) GTEST_SKIP() << "this kernel has no Landlock";
  const int drop_caches = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (drop_caches < 0) GTEST_SKIP() << "/proc/sys/vm/drop_caches cannot be written here";
  int asked[2];
  int done[2];
  ASSERT_TRUE(pipe(asked) == 0 && pipe(done) == 0);
  const pid_t reclaimer = fork();
  if (reclaimer == 0) {
    char byte = 0;
    close(asked[1]);
    const bool is_done = read(asked[0], &byte, 1) == 1 && write(drop_caches, "2", 1) == 1 && write(done[1], &byte, 1) == 1;
    _exit(is_done ? 0 : 1);
  }
  close(done[1]);
  close(drop_caches);
  expect_clean(in_child([&]() -> std::string {
    PrivilegeOptions options = as_nobody();
    options.readable_paths.emplace_back("/proc/sys/kernel");
    const Result<PrivilegeReport> report = drop_privileges(options);
    if (!report) return to_string(report.error());
    SandboxFindings findings;
    findings.expect(can_read("/proc/sys/kernel/tainted"), "before");
    char byte = 0;
    findings.expect(write(asked[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 1, "reclaim");
    findings.expect(can_read("/proc/sys/kernel/tainted"), "/proc/sys/kernel/tainted");
    findings.expect(can_read("/proc/self/stat"), "/proc/self/stat");
    return findings.text();
  }));
  for (const int end : {asked[0], asked[1], done[0]}) close(end);
  waitpid(reclaimer, nullptr, 0);
}

bool limit_can_be(rlim_t bytes) {
  const Outcome outcome = in_child([bytes]() -> std::string {
    const rlimit limit{bytes, bytes};
    return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? "yes" : "no";
  });
  return outcome.text == "yes";
}

TEST(Privileges, MemoryIsLockedWithoutALimit) {
  SKIP_UNDER_SANITIZERS();
  if (!limit_can_be(RLIM_INFINITY)) GTEST_SKIP() << "RLIMIT_MEMLOCK cannot be lifted here (needs CAP_SYS_RESOURCE)";
  expect_clean(in_child([]() -> std::string {
    PrivilegeOptions options = as_nobody();
    options.lock_memory = true;
    const Result<PrivilegeReport> report = drop_privileges(options);
    if (!report) return to_string(report.error());
    if (!report->memory_locked) return joined(report->notes);
    SandboxFindings findings;
    const long before_kib = std::atol(status_field("VmLck").c_str());
    findings.expect(before_kib > 0, "VmLck " + status_field("VmLck"));
    const std::vector<char> later(std::size_t{32} << 20, 'x');
    findings.expect(std::atol(status_field("VmLck").c_str()) >= before_kib + 32 * 1024,
                    "what is mapped later is not locked");
    findings.expect(later.back() == 'x', "memory");
    return findings.text();
  }));
}

// With `limit_bytes` as a hard limit and without the right to lift it.
std::string lock_with_limit(rlim_t limit_bytes, bool expect_locked) {
  const rlimit limit{limit_bytes, limit_bytes};
  if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "setrlimit";
  if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return "setresuid";
  PrivilegeOptions options = as_nobody();
  options.lock_memory = true;
  const Result<PrivilegeReport> report = drop_privileges(options);
  if (!report) return to_string(report.error());
  SandboxFindings findings;
  const std::string notes = joined(report->notes);
  findings.expect(report->memory_locked == expect_locked, notes);
  findings.expect(notes.find("lock_memory: ") != std::string::npos, "no note: " + notes);
  const std::vector<char> larger_than_limit(std::size_t{200} << 20, 'x');  // Address space beyond either limit.
  findings.expect(larger_than_limit.back() == 'x', "memory");
  std::thread([] {}).join();
  return findings.text();
}

TEST(Privileges, ASmallLimitForLockedMemoryIsANoteAndMemoryStaysAvailable) {
  SKIP_UNDER_SANITIZERS();
  if (!limit_can_be(64 << 10)) GTEST_SKIP() << "RLIMIT_MEMLOCK cannot be set that high here (needs CAP_SYS_RESOURCE)";
  expect_clean(in_child([] { return lock_with_limit(64 << 10, false); }));
}

TEST(Privileges, AFiniteLimitLocksMappedMemoryAndMoreStaysAvailable) {
  SKIP_UNDER_SANITIZERS();
  if (!limit_can_be(128 << 20)) GTEST_SKIP() << "RLIMIT_MEMLOCK cannot be set that high here (needs CAP_SYS_RESOURCE)";
  expect_clean(in_child([] { return lock_with_limit(128 << 20, true); }));
}

}  // namespace
}  // namespace memstat
#endif
