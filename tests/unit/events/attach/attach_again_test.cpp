// SPDX-License-Identifier: BSD-2-Clause
// Every program that counts events on this machine's kernel, attached, detached, and attached again by a helper.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/events/attach/attach_helper.h"
#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"

namespace memstat::events {
namespace {

/// This process's helper, in a thread, while this object lives.
class ThreadedHelper {
 public:
  explicit ThreadedHelper(int (*attach)(int, const AttachPoint&) = attach_program) {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    thread_ = std::thread([socket = UniqueFd(ends[1]), attach] { serve_attaching(socket.get(), attach); });
    helper_ = std::make_shared<AttachHelper>(UniqueFd(ends[0]));
    set_process_helper(helper_);
  }
  ~ThreadedHelper() {
    set_process_helper(nullptr);
    helper_.reset();
    thread_.join();
  }
  ThreadedHelper(const ThreadedHelper&) = delete;
  ThreadedHelper& operator=(const ThreadedHelper&) = delete;
  bool seal() { return helper_->seal(); }

 private:
  std::shared_ptr<AttachHelper> helper_;
  std::thread thread_;
};

/// One program of an object, loaded alone; null if this kernel does not accept it.
ObjectPointer load_alone(std::span<const unsigned char> programs, const std::string& name, const TypesFile& types) {
  auto object = open_programs(programs, types);
  if (!object) return nullptr;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object->get()) bpf_program__set_autoload(each, bpf_program__name(each) == name);
  return load_with_types(object->get(), types) == 0 ? *std::move(object) : nullptr;
}

std::uint64_t software_event_of(std::string_view name) {
  if (name == "on_minor_fault") return PERF_COUNT_SW_PAGE_FAULTS_MIN;
  return name == "on_major_fault" ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS;
}

/// Kernels that attach a program to a function only once (before Linux commit f3a95075549e ("bpf: Allow trampoline re-attach
/// for tracing and lsm programs") (v5.13)).
bool is_before_5_13() {
  utsname names{};
  int major = 0;
  int minor = 0;
  return ::uname(&names) == 0 && std::sscanf(names.release, "%d.%d", &major, &minor) == 2 &&
         (major < 5 || (major == 5 && minor < 13));
}

TEST(LiveAttachAgain, EveryProgramThatThisKernelTakes) {
  const auto types = TypesFile::make();
  if (!types) GTEST_SKIP() << to_string(types.error());
  auto whole = open_programs(vm_events(), *types);
  ASSERT_TRUE(whole);
  std::string taken;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, whole->get()) {
    const std::string name = bpf_program__name(each);
    const ObjectPointer object = load_alone(vm_events(), name, *types);
    if (!object) continue;
    bpf_program* const program = bpf_object__find_program_by_name(object.get(), name.c_str());
    ThreadedHelper helper;
    AttachedPrograms programs;
    const bool is_software = bpf_program__type(program) == BPF_PROG_TYPE_PERF_EVENT;
    const int error = is_software ? programs.attach_everywhere(program, software_event_of(name)) : programs.attach(program);
    if (error != 0) continue;
    taken += " " + std::string(bpf_program__section_name(program));
    programs.enlist();
    EXPECT_TRUE(programs.are_enlisted()) << name;
    ASSERT_TRUE(helper.seal()) << name;
    for (int time = 0; time < 2; ++time) {
      programs.detach();
      EXPECT_TRUE(programs.may_attach_again()) << name;
      const bool may_refuse = bpf_program__type(program) == BPF_PROG_TYPE_TRACING && is_before_5_13();
      const bool is_attached = programs.attach_again();
      EXPECT_TRUE(is_attached || may_refuse) << name << " in " << bpf_program__section_name(program);
      if (!is_attached) break;
    }
  }
  if (taken.empty()) GTEST_SKIP() << "this process or kernel attaches no program";
  std::cout << "attached again:" << taken << "\n";
}

TEST(LiveAttachAgain, NotWhatTheKernelWillAlwaysRefuse) {
  const auto types = TypesFile::make();
  if (!types) GTEST_SKIP() << to_string(types.error());
  const ObjectPointer object = load_alone(vm_events(), "on_page_free", *types);
  if (!object) GTEST_SKIP() << "this process or kernel loads no program";
  for (const auto& [attach, is_for_good] : {std::pair{+[](int, const AttachPoint&) { return -EINVAL; }, true},
                                            std::pair{+[](int, const AttachPoint&) { return -ENOMEM; }, false}}) {
    ThreadedHelper helper(attach);
    AttachedPrograms programs;
    ASSERT_EQ(programs.attach(bpf_object__find_program_by_name(object.get(), "on_page_free")), 0);
    programs.enlist();
    ASSERT_TRUE(helper.seal());
    programs.detach();
    EXPECT_FALSE(programs.attach_again());
    EXPECT_EQ(programs.are_enlisted(), !is_for_good);
  }
}

}  // namespace
}  // namespace memstat::events

#endif
