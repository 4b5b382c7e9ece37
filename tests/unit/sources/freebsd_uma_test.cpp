// SPDX-License-Identifier: BSD-2-Clause
// vm.zone_stats from handwritten streams. Real streams are compared with the original library in tests/contract.
#include "core/query.h"
#include "tests/support/stream_builder.h"
#include "tests/support/test.h"

namespace memstat::freebsd_uma_test {
namespace {

const SourceDescriptor& source() { return *find_source("freebsd_uma"); }

class FreebsdUma : public testing::Test {
 protected:
  Result<void> parse(std::string_view bytes, std::uint32_t cpu_count = 1, std::uint64_t page_size = 4096) {
    raw_ = make_raw(bytes, cpu_count, page_size);
    return parse_bytes(source(), raw_, staging_);
  }

  RawBytes raw_;
  Staging staging_;
};

UmaZone make_zone(std::string name) {
  UmaZone zone;
  zone.name = std::move(name);
  zone.size = 100;
  zone.rsize = 128;
  return zone;
}

TEST_F(FreebsdUma, KeepsTheStreamsCpusWhateverTheViewReports) {
  ASSERT_TRUE(parse(UmaStream(8).add(make_zone("z")).bytes(), 2));
  EXPECT_EQ(staging_.cpu_count(), 8U);
}

TEST_F(FreebsdUma, CountsHeldBytesInThePagesOfTheKernelRead) {
  UmaZone zone = make_zone("z");
  zone.pages = 0xFFFFFFFF;
  ASSERT_TRUE(parse(UmaStream(1).add(zone).bytes(), 1, 65536));
  EXPECT_EQ(staging_.types()[0].figures[Field::kHeldBytes], 0xFFFFFFFFULL * 65536);
}

}  // namespace
}  // namespace memstat::freebsd_uma_test
