// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/exposition/protobuf_wire.h"

#include "tests/support/protobuf_page.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

TEST(ProtobufWire, VarintsOfEverySizeComeBackAndHaveTheSizeSaid) {
  const auto check = [](std::uint64_t value) {
    char bytes[kVarintRoom];
    const auto size = static_cast<std::size_t>(write_varint(bytes, value) - bytes);
    ASSERT_EQ(size, varint_size(value)) << value;
    ProtobufReader reader({bytes, size});
    ASSERT_EQ(reader.varint(), value);
    ASSERT_TRUE(reader.at_end());
  };
  for (unsigned bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    for (const std::uint64_t near : {value - 1, value, value + 1, value + value / 2}) check(near);
  }
  check(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(varint_size(0), 1U);
  EXPECT_EQ(varint_size(127), 1U);
  EXPECT_EQ(varint_size(128), 2U);
  EXPECT_EQ(varint_size(std::numeric_limits<std::uint64_t>::max()), 10U);
}

TEST(ProtobufWire, SignedNumbersAreFoldedSoThatSmallOnesStaySmall) {
  EXPECT_EQ(zigzag(0), 0U);
  EXPECT_EQ(zigzag(-1), 1U);
  EXPECT_EQ(zigzag(1), 2U);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::max()), std::numeric_limits<std::uint64_t>::max() - 1);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), std::numeric_limits<std::uint64_t>::max());
}

TEST(ProtobufWire, FieldsAreTagLengthAndBytes) {
  const ProtobufMessage message = ProtobufMessage().varint(1, 300).bytes(2, "ab").fixed(3, 1.0);
  EXPECT_EQ(message.view(), std::string_view("\x08\xAC\x02\x12\x02"
                                             "ab\x19\0\0\0\0\0\0\xF0\x3F",
                                             16));
}

}  // namespace
}  // namespace memstat
