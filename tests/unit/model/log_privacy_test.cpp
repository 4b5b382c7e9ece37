// SPDX-License-Identifier: BSD-2-Clause
#include "core/model/log_privacy.h"

#include "core/model/kernel_log_book.h"
#include "core/model/staging.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

std::string masked(std::string line) {
  mask_addresses(line);
  return line;
}

TEST(LogPrivacy, AddressesOfTheNetworkAndOfTheKernelAreMasked) {
  const std::pair<const char*, const char*> lines[] = {
      {"sonewconn: pcb 0xfffff80009784000 (127.0.0.1:9998 (proto 6)): Listen queue overflow: 2 already",
       "sonewconn: pcb 0x0000000000000000 (*:9998 (proto 6)): Listen queue overflow: 2 already"},
      {"sonewconn: pcb 0xf8a0 ([fe80::1:2]:80 (proto 6)): Listen", "sonewconn: pcb 0x0000 ([*]:80 (proto 6)): Listen"},
      {"TCP: request_sock_TCP: Possible SYN flooding on port 10.0.0.5:8080. Sending cookies.",
       "TCP: request_sock_TCP: Possible SYN flooding on port *:8080. Sending cookies."},
      {"flooding on port 2001:db8::7. Sending", "flooding on port *. Sending"},
      {"at ffffffff81000000 and 0xffffffff81000000", "at 0000000000000000 and 0x0000000000000000"},
      {"192.0.2.1", "*"},
      {"two 192.0.2.1 192.0.2.2:1.", "two * *:1."},
  };
  for (const auto& [line, expected] : lines) EXPECT_EQ(masked(line), expected);
}

TEST(LogPrivacy, OtherWordsStay) {
  for (const std::string line :
       {"TCP: request_sock_TCP: Possible SYN flooding on port [::]:80. Sending cookies.", "sonewconn: (0.0.0.0:80)",
        "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/pods/10.0.0.1/a,pid=1",
        "order:0, mode:0x140cca(GFP_HIGHUSER_MOVABLE)",
        "kern.maxfiles limit exceeded by uid 1001, (prov) please see tuning(7).", "swap_pager: out of swap space",
        "12:30:45 a::b.c"}) {
    EXPECT_EQ(masked(line), line);
  }
}

TEST(LogPrivacy, IsOneForTheLogThatIsReadAndForRecordings) {
  KernelLogBook book;
  book.add(LogEvent::kSynQueueFull, 1, "TCP: request_sock_TCP: Possible SYN flooding on port 10.0.0.5:80. Sending cookies.");
  Buffer table;
  book.write(table);
  EXPECT_EQ(table.view().find("10.0.0.5"), std::string_view::npos);
  EXPECT_NE(table.view().find("port *:80."), std::string_view::npos) << table.view();
  Staging staging;
  staging.set_kernel_log(
      "event accept_queue_full -\ntext sonewconn: pcb 0x0 (192.0.2.7:80): Listen queue overflow: 1\nend\n");
  EXPECT_EQ(staging.kernel_log().find("192.0.2.7"), std::string_view::npos) << "a recording of an earlier version";
}

}  // namespace
}  // namespace memstat
