// SPDX-License-Identifier: BSD-2-Clause
// What cannot be seen of the machine: from handwritten tables, from the files of containers, and from this machine.
#include "core/collect/view_table.h"
#include "core/model/partial_view.h"
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/process_kernel.h"
#include "tests/support/result_checks.h"
#include "tests/support/source_reading.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_view_test {
namespace {

const SourceDescriptor& source() { return *find_source("linux_view"); }

Result<void> parse_table(std::string_view table, Staging& staging) {
  RawBytes raw;
  raw.parts[0].assign(table);
  return parse_bytes(source(), raw, staging);
}

TEST(LinuxView, HasASeriesForEachReason) {
  Staging staging;
  ASSERT_TRUE(parse_table("view 1\nlacks pid_namespace\nlacks lxcfs\nlacks lxcfs\nend\n", staging));
  const std::map<std::string, std::uint64_t> expected = {{"partial_view{pid_namespace}", 1}, {"partial_view{lxcfs}", 1}};
  EXPECT_EQ(statistics_of(staging), expected);
  EXPECT_TRUE(has_unique_statistics(staging));
  ASSERT_TRUE(parse_table("view 1\nend\n", staging));
  EXPECT_TRUE(statistics_of(staging).empty());
}

TEST(LinuxView, ADamagedTableIsRefused) {
  const std::string table = "view 1\nlacks a\nend\n";
  Staging staging;
  for (std::size_t size = 0; size < table.size(); ++size) {
    EXPECT_TRUE(fails(parse_table(table.substr(0, size), staging), ErrorCode::kData)) << size;
  }
  for (const char* line : {"lacks ", "lacks A", "lacks a b", "has a", ""}) {
    EXPECT_FALSE(parse_table("view 1\n" + std::string(line) + "\nend\n", staging)) << line;
  }
  EXPECT_FALSE(parse_table(table + "x\n", staging));
  std::string many = "view 1\n";
  for (int i = 0; i < 40; ++i) many += "lacks a\n";
  EXPECT_FALSE(parse_table(many + "end\n", staging));
}

/// The files of a host as its root reads them.
class Host : public ProcessKernel {
 public:
  Host() {
    files["/proc/self/status"] = "Name:\tmemstatd\nNSpid:\t812\n";
    files["/proc/1/stat"] = "1 (systemd) S 0 1 1 0 -1 4194560 0";
    files["/proc/2/stat"] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0";
    files["/proc/meminfo"] = "MemTotal: 1 kB\n";
    files["/proc/zoneinfo"] = "Node 0, zone DMA\n";
    files["/proc/sys/net/core/somaxconn"] = "4096\n";
    files["/proc/sys/net/core/netdev_budget"] = "300\n";
    links["/proc/self/ns/pid"] = "pid:[4026531836]";
    links["/proc/self/ns/user"] = "user:[4026531837]";
    links["/proc/self/ns/ipc"] = "ipc:[4026531839]";
    files["/proc/1/mountinfo"] = files["/proc/self/mountinfo"] = mount(22, "0:21", "/proc", "proc");
  }
  static std::string mount(int number, const std::string& device, const std::string& path, const std::string& type) {
    return std::to_string(number) + " 1 " + device + " / " + path + " rw - " + type + " x rw\n";
  }
  [[nodiscard]] bool may_read(std::string_view path) override { return files.contains(path); }
  /// The reasons, separated by blanks.
  std::string reasons() {
    PartialView view;
    const std::string table = view_table_of(*this);
    EXPECT_EQ(read_view_table(table, [&](std::string_view reason) { view.add(reason); }), std::nullopt) << table;
    return view.names();
  }
};

TEST(LinuxView, AHostIsWhole) {
  EXPECT_EQ(Host().reasons(), "");
  Host other_proc;  // in a PID namespace of its own, with the host's /proc
  other_proc.links["/proc/self/ns/pid"] = "pid:[4026532281]";
  other_proc.files["/proc/self/status"] = "NSpid:\t812\t1\n";
  EXPECT_EQ(other_proc.reasons(), "");
}

TEST(LinuxView, EachNamespaceIsRecognised) {
  Host pid;
  pid.links["/proc/self/ns/pid"] = "pid:[4026532281]";
  pid.files.erase("/proc/2/stat");
  EXPECT_EQ(pid.reasons(), "pid_namespace");
  pid.files["/proc/2/stat"] = "2 (kthreadd) S 0 0 0 0 -1 4194560 0";  // a program with that name
  EXPECT_EQ(pid.reasons(), "pid_namespace");
  Host user;
  user.links["/proc/self/ns/user"] = "user:[4026532282]";
  EXPECT_EQ(user.reasons(), "user_namespace");
  Host ipc;
  ipc.links["/proc/self/ns/ipc"] = "ipc:[4026532283]";
  EXPECT_EQ(ipc.reasons(), "ipc_namespace");
  Host net;
  net.files.erase("/proc/sys/net/core/netdev_budget");
  EXPECT_EQ(net.reasons(), "network_namespace");
  Host group;
  group.files["/sys/fs/cgroup/cgroup.events"] = "populated 1\n";
  EXPECT_EQ(group.reasons(), "cgroup_namespace");
}

TEST(LinuxView, AMountNamespaceMattersIfItLacksMountsOfTmpfs) {
  Host same_file_systems;  // as unshare --mount makes it
  same_file_systems.files["/proc/self/mountinfo"] = Host::mount(400, "0:21", "/proc", "proc");
  EXPECT_EQ(same_file_systems.reasons(), "");
  Host container;
  container.files["/proc/1/mountinfo"] += Host::mount(30, "0:25", "/run", "tmpfs");
  EXPECT_EQ(container.reasons(), "") << "it is the host's namespace, seen from a chroot";
  container.files["/proc/self/mountinfo"] = Host::mount(400, "0:21", "/proc", "proc");
  EXPECT_EQ(container.reasons(), "mount_namespace");
}

TEST(LinuxView, HiddenProcessesAreNoNamespace) {
  Host host;
  host.files.erase("/proc/1/stat");
  host.files.erase("/proc/2/stat");
  EXPECT_EQ(host.reasons(), "hidden_processes");
}

TEST(LinuxView, OtherKernelsAndLxcfsAreRecognised) {
  Host lxcfs;
  lxcfs.files["/proc/self/mountinfo"] += Host::mount(23, "0:60", "/proc/meminfo", "fuse.lxcfs");
  EXPECT_EQ(lxcfs.reasons(), "lxcfs");
  Host no_file_of_proc;
  no_file_of_proc.files["/proc/self/mountinfo"] += Host::mount(23, "0:60", "/var/lib/lxcfs", "fuse.lxcfs");
  EXPECT_EQ(no_file_of_proc.reasons(), "") << "the host on which lxcfs runs";
  Host gvisor;
  gvisor.files.erase("/proc/zoneinfo");
  EXPECT_EQ(gvisor.reasons(), "other_kernel");
}

TEST(LinuxView, WithoutProcNothingIsKnown) {
  ProcessKernel kernel;
  EXPECT_EQ(view_table_of(kernel), "");
  EXPECT_TRUE(fails(ViewTable().open_on(kernel), ErrorCode::kNotPresent));
}

TEST(ViewOfFreeBsd, IsPartialInAJailWhateverProcHas) {
  PreparedKernelView kernel(OperatingSystem::kFreeBsd);
  kernel.contents["/proc/self/status"] = {"memstatctl 812 811 ttyu0 810\n"};
  EXPECT_EQ(view_table_of(kernel), "");
  kernel.contents["security.jail.jailed"] = {std::string(4, '\0')};
  EXPECT_EQ(view_table_of(kernel), "view 1\nend\n");
  kernel.contents["security.jail.jailed"] = {std::string("\1\0\0\0", 4)};
  EXPECT_EQ(view_table_of(kernel), "view 1\nlacks jail\nend\n");
}

using LiveView = LiveSource<source>;

TEST_F(LiveView, HasOnlyReasonsThatHaveWords) {
  ASSERT_TRUE(refreshes());
  for (const auto& [name, value] : statistics_of(reader_.staging)) {
    EXPECT_EQ(value, 1U) << name;
    PartialView view;
    view.add(std::string_view(name).substr(13, name.size() - 14));  // of "partial_view{...}"
    EXPECT_FALSE(view.is_whole()) << name;
  }
}

}  // namespace
}  // namespace memstat::linux_view_test
