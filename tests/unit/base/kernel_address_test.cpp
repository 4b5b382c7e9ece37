// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/kernel_address.h"

#include "core/model/staging.h"
#include "tests/support/test.h"

namespace memstat::kernel_address_test {
namespace {

std::string zeroed(std::string text) {
  zero_kernel_addresses(text.data(), text.size());
  return text;
}

TEST(KernelAddresses, AreZeroedAtEqualWidth) {
  EXPECT_EQ(zeroed("0xffffb5b4c0000000-0xffffb5b4c0005000   20480 hpet_enable+0x36/0x2a7\n"),
            "0x0000000000000000-0x0000000000000000   20480 hpet_enable+0x36/0x2a7\n");
  EXPECT_EQ(zeroed("ffffffff81000000 T _text"), "0000000000000000 T _text");
  EXPECT_EQ(zeroed("FFFF888000000000"), "0000000000000000");
  EXPECT_EQ(zeroed("a ffff888000000000"), "a 0000000000000000");
}

TEST(KernelAddresses, OtherTextStays) {
  for (const std::string& text :
       {std::string(""), std::string("ffff88800000000"), std::string("ffff8880000000000"), std::string("0000ffff00000000"),
        std::string("aaaa888000000000"), std::string("1234567890123456"), std::string("ffff"),
        std::string("bytes\0ffff888000000000", 22)}) {
    EXPECT_EQ(zeroed(text), text);
  }
}

TEST(KernelAddresses, AreNotInNamesOfTypes) {
  Staging staging;
  staging.reset({}, 0);
  EXPECT_EQ(staging.add("nf_conntrack_ffffffff81a25e00").name, "nf_conntrack_0000000000000000");
  EXPECT_EQ(staging.add("nf_conntrack_ffff").name, "nf_conntrack_ffff");
}

}  // namespace
}  // namespace memstat::kernel_address_test
