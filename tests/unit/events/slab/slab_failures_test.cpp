// SPDX-License-Identifier: BSD-2-Clause
// Allocations that fail on this machine's kernel because a control group is full, and their count.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>

#include "core/events/attach/live_tables.h"
#include "core/query.h"
#include "tests/support/live_table.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class LiveSlabFailures : public testing::Test {
 protected:
  void SetUp() override { open_or_skip(*table_); }
  /// Of all caches.
  std::uint64_t failures() {
    EXPECT_TRUE(table_->read(reader_.raw.parts[0]));
    reader_.raw.cpu_count = 1;
    EXPECT_TRUE(parse_source(reader_));
    std::uint64_t count = 0;
    for (const StagedType& type : reader_.staging.types()) count += type.figures[Field::kFailures];
    return count;
  }

  std::unique_ptr<TextTableSource> table_ = events::make_slab_events(kWithoutLimit);
  SourceReader reader_{*find_source("linux_slab_events")};
};

/// A control group of version 1 whose processes fail to get memory when it is full, instead of being killed. Removed with
/// this.
class FullGroup {
 public:
  bool make() { return ::mkdir(path_.c_str(), 0755) == 0 && put("memory.oom_control", "1"); }
  ~FullGroup() { ::rmdir(path_.c_str()); }
  [[nodiscard]] bool put(const char* file, const std::string& text) const {
    const int descriptor = ::open((path_ + "/" + file).c_str(), O_WRONLY);
    const bool is_written =
        descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(descriptor);
    return is_written;
  }
  [[nodiscard]] int open_limit() const { return ::open((path_ + "/memory.limit_in_bytes").c_str(), O_WRONLY); }
  [[nodiscard]] std::uint64_t usage() const {
    std::ifstream file(path_ + "/memory.usage_in_bytes");
    std::uint64_t bytes = 0;
    file >> bytes;
    return bytes;
  }

 private:
  std::string path_ = "/sys/fs/cgroup/memory/memstat_test_" + std::to_string(::getpid());
};

/// Requests event descriptors until `wanted` of them were refused with `error`. False: too few were refused, or some for
/// another reason.
bool be_refused(int flags, int error, int wanted) {
  int refused = 0;
  for (int i = 0; i < 15'000 && refused < wanted; ++i) {
    if (::eventfd(0, flags) >= 0) continue;
    if (errno != error) return false;
    ++refused;
  }
  return refused == wanted;
}

/// Ends a child. Not with _exit(): before a call that does not return, the address sanitizer writes to the shadow of the
/// whole stack, which needs memory.
void end_child(int status) { ::syscall(SYS_exit_group, status); }

/// Writes a limit without allocating memory.
bool set_limit(int file, std::uint64_t bytes) {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), bytes);
  return ::write(file, digits, static_cast<std::size_t>(end.ptr - digits)) == end.ptr - digits;
}

/// Opens event descriptors until `failures` of them failed for lack of memory, with 512 KiB left. The exit status is the
/// step that failed, or 0. Once the group is full, no page may be touched for the first time: such a fault would wait
/// forever, and after a fork each first write faults again. So the code has run in this process before, outside of the
/// group, its pages are locked, and nothing is allocated or freed meanwhile.
void fail_to_open(const FullGroup& group, int failures) {
  if (!be_refused(-1, EINVAL, failures)) end_child(1);
  for (int i = 0; i < 100; ++i) {
    if (::eventfd(0, 0) < 0) end_child(2);
  }
  const int limit = group.open_limit();
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 40U;
  if (!set_limit(limit, kMuch)) end_child(3);
  constexpr int kWhatIsThere =
      MCL_CURRENT | 4;  // MCL_ONFAULT, which not every libc has; a direct call avoids the sanitizers' own mlockall()
  ::syscall(SYS_mlockall, kWhatIsThere);
  if (!group.put("cgroup.procs", std::to_string(::getpid()))) end_child(4);
  if (!set_limit(limit, group.usage() + (512U << 10U))) end_child(5);
  end_child(be_refused(0, ENOMEM, failures) ? 0 : 6);
}

TEST_F(LiveSlabFailures, OfAGroupThatIsFullAreCounted) {
  FullGroup group;
  if (!group.make()) GTEST_SKIP() << "no memory controller of version 1 at /sys/fs/cgroup/memory to make a group in";
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 16'000) GTEST_SKIP() << "the limit of descriptors is below 16000";
  const std::uint64_t before = failures();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    files.rlim_cur = files.rlim_max;
    ::alarm(120);  // a fault in the full group would wait for ever
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0) end_child(7);
    fail_to_open(group, 50);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  ASSERT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GE(failures() - before, 50U) << "of a dentry or a file, whichever reached the limit; others may fail, too";
}

}  // namespace
}  // namespace memstat
