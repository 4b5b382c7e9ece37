// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/privileges/helper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

#include "core/base/packet_socket.h"
#include "core/base/thread_name.h"
#include "daemon/privileges/account.h"

#if defined(__linux__)
#include "daemon/privileges/capabilities_linux.h"
#endif

namespace memstat {
namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};  // a helper may have to build its filter in another process
constexpr std::string_view kReady = "ready";

Error not_made(const std::string& why, int system_errno) {
  return make_error(ErrorCode::kIo, "helper process", why, system_errno);
}

/// Closes all descriptors from `first` on.
void close_all_from(int first) {
#if defined(__linux__)
  if (close_from(first)) return;
#elif defined(__FreeBSD__)
  ::closefrom(first);
  return;
#endif
  for (int each = first; each < ::sysconf(_SC_OPEN_MAX); ++each) ::close(each);
}

/// Closes all descriptors except these; the standard streams become /dev/null. Returns false on failure.
bool close_all_but(std::vector<int> kept) {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return false;
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::dup2(nowhere, stream) < 0) return false;
  }
  int next = STDERR_FILENO + 1;
  std::sort(kept.begin(), kept.end());
  for (const int each : kept) {
    for (; next < each; ++next) ::close(next);
    next = each + 1;
  }
  close_all_from(next);
  return true;
}

/// Drops all other privileges. Returns "", or what could not be dropped.
std::string give_up_all_else(const HelperOptions& options, pid_t parent) {
  const auto report = drop_privileges({.user = options.user,
                                       .sandbox = options.sandbox,
                                       .restricts_paths = options.system_calls == SystemCalls::kAttaching,
                                       .lock_memory = false,
                                       .kept_capabilities = options.capabilities,
                                       .system_calls = options.system_calls});
  if (!report) return to_string(report.error());
#if defined(__linux__)
  end_with_parent();
#endif
  return ::getppid() == parent ? "" : "memstatd has ended";
}

[[noreturn]] void run(const HelperOptions& options, int socket, pid_t parent) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) std::signal(signal, SIG_IGN);  // the parent decides
  name_process(options.name);
  std::string problem = "cannot close what memstatd has open";
  try {
    std::vector<int> kept = options.descriptors;
    kept.push_back(socket);
    if (close_all_but(std::move(kept))) problem = options.gives_up_first ? give_up_all_else(options, parent) : "";
    const std::string_view text = problem.empty() ? kReady : std::string_view(problem);
    if (::send(socket, text.data(), text.size(), MSG_NOSIGNAL) > 0 && problem.empty()) options.serve(socket);
  } catch (const std::exception&) {  // out of memory
  }
  ::_exit(0);
}

/// Those of the capabilities that this process has.
std::vector<std::string> permitted_of([[maybe_unused]] const std::vector<std::string>& capabilities) {
  std::vector<std::string> permitted;
#if defined(__linux__)
  const auto has = permitted_capabilities();
  for (const std::string& name : capabilities) {
    const auto one = capabilities_of({&name, 1});
    if (one && has && (*one & ~*has) == 0) permitted.push_back(name);
  }
#endif
  return permitted;
}

/// Whether this process has the capabilities that the helper should keep.
Result<void> can_keep(const std::vector<std::string>& capabilities) {
  if (capabilities.empty()) return {};
#if defined(__linux__)
  const auto wanted = capabilities_of(capabilities);
  if (!wanted) return not_made("one of the capabilities to keep is unknown", 0);
  const auto permitted = permitted_capabilities();
  if (!permitted) return permitted.error();
  if ((*wanted & ~*permitted) != 0) {
    return privilege_refused("no helper process", EPERM,
                             "memstatd does not have the capabilities that the helper should keep");
  }
  return {};
#else
  return system_error("helper process", ENOENT, "this operating system has no capabilities");
#endif
}

}  // namespace

Result<HelperProcess> HelperProcess::start(const HelperOptions& wanted) {
  HelperOptions options = wanted;
  if (options.keeps_only_permitted) options.capabilities = permitted_of(wanted.capabilities);
  if (const Result<void> can = can_keep(options.capabilities); !can) return can.error();
  PacketSockets ends = PacketSockets::make();
  if (!ends.ours) return not_made("socketpair", errno);
  UniqueFd ours = std::move(ends.ours);
  UniqueFd theirs = std::move(ends.theirs);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return not_made("fork", errno);
  if (child == 0) run(options, theirs.get(), parent);
  theirs = UniqueFd();
  (void)::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  std::array<char, 512> text;
  const ssize_t size = ::recv(ours.get(), text.data(), text.size(), 0);
  const std::string_view said(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  HelperProcess helper(child, std::move(ours));
  if (said == kReady) return helper;
  ::kill(child, SIGKILL);
  helper.wait();
  return not_made(said.empty() ? "it ended, or did not begin in time" : std::string(said), 0);
}

bool HelperProcess::has_ended() {
  has_ended_ = has_ended_ || ::waitpid(number_, nullptr, WNOHANG) != 0;
  return has_ended_;
}

void HelperProcess::wait() {
  while (!has_ended_ && ::waitpid(number_, nullptr, 0) < 0 && errno == EINTR) {
  }
  has_ended_ = true;
}

}  // namespace memstat
