// SPDX-License-Identifier: BSD-2-Clause
// The message for each errno of perf_event_open.
#include "core/counters/perf_system.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"

namespace memstat::counters {
namespace {

Request request_of(const char* event) {
  Request request;
  request.event = event;
  request.code.needs_counter = true;
  return request;
}

std::string text_of(int error, const Target& target, const PerfPermissions& permissions, const Request& request) {
  const Refused refused = explain_perf_error(error, request, target, permissions);
  EXPECT_EQ(refused.system_errno, error);
  return refused.text;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(PerfErrors, HaveATextEach) {
  std::set<std::string> texts;
  // All errnos that perf_event_open(2) lists, and the two of any call that makes descriptors.
  const int errors[] = {E2BIG,  EBADF,  EBUSY,  EFAULT, EINTR,      EINVAL,    EMFILE, ENFILE,
                        ENODEV, ENOENT, ENOMEM, ENOSPC, EOPNOTSUPP, EOVERFLOW, ESRCH,  ENOSYS};
  for (const int error : errors) {
    const std::string text = text_of(error, {}, {}, request_of("instructions"));
    EXPECT_TRUE(has(text, "event instructions on this thread: ")) << text;
    EXPECT_FALSE(has(text, "the kernel refuses it")) << error << " has no text of its own";
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
  EXPECT_TRUE(has(text_of(EDOM, {}, {}, request_of("instructions")), "the kernel refuses it"));
}

TEST(PerfErrors, HaveTheOriginalsSubCodes) {
  const auto code = [](int error) { return explain_perf_error(error, request_of("x"), {}, {}).refusal; };
  EXPECT_EQ(code(ENOENT), Refusal::kInvalidEvent);
  EXPECT_EQ(code(EMFILE), Refusal::kResourceUnavailable);
  EXPECT_EQ(code(EINVAL), Refusal::kConflictingRequests);
  EXPECT_EQ(code(EACCES), Refusal::kPermission);
  EXPECT_EQ(code(EOPNOTSUPP), Refusal::kNotCapable);
}

TEST(PerfErrors, NameThePermissionThatIsMissing) {
  const auto at = [](int paranoid, bool is_capable = false, bool is_filtered = false) {
    return PerfPermissions{.paranoid = paranoid, .is_capable = is_capable, .is_filtered = is_filtered};
  };
  const Target cpu{.kind = Target::Kind::kCpu, .cpu = 3};
  const Request kernel_too = request_of("cycles");
  Request user = kernel_too;
  user.counts_system = false;
  EXPECT_TRUE(has(text_of(EACCES, {}, at(3), user), "perf_event_paranoid is 3, which refuses all counting"));
  EXPECT_TRUE(
      has(text_of(EACCES, cpu, at(1), user), "CPU 3: kernel.perf_event_paranoid is 1, which refuses counting on a whole"));
  EXPECT_TRUE(has(text_of(EACCES, {}, at(2), kernel_too), "refuses counting in the kernel: count in user mode only"));
  EXPECT_TRUE(has(text_of(EACCES, {}, at(2, false, true), kernel_too), "a seccomp filter is active as well"));
  EXPECT_TRUE(has(text_of(EPERM, {}, at(2, false, true), user), "so a seccomp filter refuses perf_event_open"));
  EXPECT_TRUE(has(text_of(EPERM, {}, at(2, true, true), user), "this process has the capability, so a seccomp"));
  EXPECT_TRUE(has(text_of(EPERM, {}, at(2, true), user), "lockdown"));
  EXPECT_TRUE(has(text_of(EACCES, {}, {}, user), "perf_event_paranoid cannot be read: run with CAP_PERFMON"));
  Request tracepoint = user;
  tracepoint.code.type = 2;
  EXPECT_TRUE(has(text_of(EACCES, {}, at(1), tracepoint), "refuses tracepoints: set it to -1"));
  const Target thread{.kind = Target::Kind::kThread, .process = 5, .thread = 7};
  EXPECT_TRUE(has(text_of(EACCES, thread, at(1), user), "thread 7: the thread belongs to another user"));
  PerfPermissions filtered;
  filtered.is_filtered = true;
  EXPECT_TRUE(has(text_of(ENOSYS, {}, filtered, user), "a seccomp filter hides perf_event_open"));
}

TEST(PerfErrors, ReadThePermissionsOfThisProcess) {
  PreparedKernelView view(OperatingSystem::kLinux);
  EXPECT_FALSE(read_perf_permissions(view).paranoid);
  view.contents["/proc/sys/kernel/perf_event_paranoid"] = {"-1\n"};
  view.contents["/proc/self/status"] = {"Name:\tx\nCapEff:\t0000004000000000\nSeccomp:\t2\n"};
  const PerfPermissions permissions = read_perf_permissions(view);
  EXPECT_EQ(permissions.paranoid, -1);
  EXPECT_TRUE(permissions.is_capable);
  EXPECT_TRUE(permissions.is_filtered);
  view.contents["/proc/self/status"] = {"CapEff:\t0000000000000000\nSeccomp:\t0\n"};
  EXPECT_FALSE(read_perf_permissions(view).is_capable);
  EXPECT_FALSE(read_perf_permissions(view).is_filtered);
}

}  // namespace
}  // namespace memstat::counters
