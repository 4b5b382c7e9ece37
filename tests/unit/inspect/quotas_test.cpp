// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::quotas {
namespace {

std::string rows(KernelView& kernel) {
  std::string text;
  for (const Holder& holder : answer_of(kernel, "quotas").holders) {
    text += holder.command + " " + holder.name + " " + std::to_string(holder.count.value_or(0)) + " of " +
            std::to_string(holder.limit.value_or(0)) + "; ";
  }
  return text;
}

TEST(WhoQuotas, APipeOfTwoProcessesIsOneAndSmallAboveTheSoftLimit) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/fs/pipe-user-pages-soft"] = "64\n";
  kernel.files["/proc/sys/fs/pipe-user-pages-hard"] = "0\n";
  kernel.add(7, "shell");
  kernel.add(8, "filter");
  for (const int pipe : {100, 101, 102}) {
    kernel.link(7, "pipe:[" + std::to_string(pipe) + "]");
    kernel.link(8, "pipe:[" + std::to_string(pipe) + "]");
  }
  EXPECT_EQ(rows(kernel), "shell pages of pipes, at least 48 of 64; ");
  for (const int pipe : {200, 201, 202}) kernel.link(8, "pipe:[" + std::to_string(pipe) + "]");
  EXPECT_EQ(rows(kernel), "filter pages of pipes, at least 68 of 64; ") << "four large ones and two small";
  kernel.files["/proc/sys/fs/pipe-user-pages-hard"] = "80\n";
  EXPECT_EQ(rows(kernel),
            "filter pages of pipes, at least 68 of 64; filter pages of pipes, at least (hard limit) 68 of 80; ");
}

TEST(WhoQuotas, WatchesAndMarksAreLinesOfFdinfo) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/fs/epoll/max_user_watches"] = "3000\n";
  kernel.files["/proc/sys/fs/fanotify/max_user_marks"] = "200\n";
  kernel.add(7, "proxy");
  kernel.files["/proc/7/fdinfo/" + kernel.link(7, "anon_inode:[eventpoll]")] =
      "pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:  5 pos:0 ino:1 sdev:8\ntfd:        6 events: 19\n";
  kernel.files["/proc/7/fdinfo/" + kernel.link(7, "anon_inode:[fanotify]")] =
      "pos:\t0\nfanotify flags:10 event-flags:0\nfanotify mnt_id:12 mflags:40 mask:38\nfanotify ino:4f969 sdev:8\n"
      "fanotify sdev:8 mflags:0\n";
  EXPECT_EQ(rows(kernel), "proxy fanotify marks 3 of 200; proxy epoll watches 2 of 3000; ");
}

TEST(WhoQuotas, NamespacesOfProcessesDescriptorsAndMountsButThatOfBoot) {
  ProcessKernel kernel;
  kernel.files["/proc/sys/user/max_net_namespaces"] = "30\n";
  kernel.files["/proc/self/mountinfo"] =
      "36 35 0:4 net:[9] /run/netns/a rw - nsfs nsfs rw\n37 35 0:4 net:[2] /run/netns/b rw - nsfs nsfs rw\n38 35\n";
  kernel.add(7, "agent");
  kernel.add(8, "pod");
  kernel.links["/proc/7/ns/net"] = "net:[1]";
  kernel.links["/proc/8/ns/net"] = "net:[2]";
  for (const char* const space : {"net:[3]", "net:[4]", "net:[4]", "/run/net:[5]", "net:[x]"}) kernel.link(7, space);
  EXPECT_EQ(rows(kernel), "agent net namespaces 4 of 30; ");
}

TEST(WhoQuotas, WithoutALimitThereIsNoRow) {
  ProcessKernel kernel;
  kernel.add(7, "shell");
  kernel.link(7, "pipe:[1]");
  EXPECT_EQ(rows(kernel), "");
  kernel.files["/proc/sys/fs/pipe-user-pages-soft"] = "many\n";
  EXPECT_EQ(rows(kernel), "");
}

}  // namespace
}  // namespace memstat::inspections::quotas
