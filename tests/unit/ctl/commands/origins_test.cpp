// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

using events::names_of;
using events::OriginNames;
using events::SlabOrigin;

constexpr std::string_view kOriginsPageText =
    "# HELP memstat_slab_origin_allocations_total Allocations\n"
    "# TYPE memstat_slab_origin_allocations_total counter\n"
    "memstat_slab_origin_allocations_total{cache=\"dentry\",group=\"/a\",command=\"web\",call_site=\"__d_alloc\"} 10\n"
    "memstat_slab_origin_allocations_total{cache=\"filp\",group=\"/\",command=\"a \\\"b\\\\c\",call_site=\"f\"} 1\n"
    "# TYPE memstat_slab_origin_allocated_bytes_total counter\n"
    "memstat_slab_origin_allocated_bytes_total{host=\"h\",cache=\"dentry\",group=\"/"
    "a\",command=\"web\",call_site=\"__d_alloc\"} "
    "1920\n"
    "memstat_slab_origin_allocated_bytes_total{cache=\"filp\",group=\"/\",command=\"a \\\"b\\\\c\",call_site=\"f\"} 256 "
    "1700000000\n"
    "memstat_slab_origin_allocated_bytes_total{cache=\"dentry\",group=\"other\",command=\"other\",call_site=\"other\"} 640\n"
    "memstat_up 1\n";

SlabOrigin one_origin(const char* cache, const char* command, std::optional<std::uint64_t> allocations,
                      std::uint64_t bytes) {
  return {.cache = cache, .group = "/g", .command = command, .call_site = "f", .allocations = allocations, .bytes = bytes};
}

TEST(OriginsPage, HasOriginsWithTheirAllocationsWhereTheyAreKnown) {
  const auto origins = parse_origins_page(kOriginsPageText);
  ASSERT_THAT(origins, SizeIs(3));
  EXPECT_EQ(names_of(origins[0]), OriginNames("dentry", "/a", "web", "__d_alloc"));
  EXPECT_EQ(origins[0].bytes, 1920U);
  EXPECT_EQ(origins[0].allocations, 10U);
  EXPECT_EQ(origins[1].command, "a \"b\\c");
  EXPECT_EQ(origins[1].bytes, 256U);
  EXPECT_EQ(origins[1].allocations, 1U);
  EXPECT_EQ(origins[2].group, "other");
  EXPECT_EQ(origins[2].allocations, std::nullopt);
}

TEST(OriginsPage, SkipsOtherLines) {
  const std::string name = "memstat_slab_origin_allocated_bytes_total";
  for (const char* const rest :
       {" 5", "{} 5", "{cache=\"a\"}", "{cache=\"a\"} ", "{cache=\"a\"} x", "{cache=\"a\"} -1", "{cache=\"a\"} 5x",
        "{cache=\"a} 5", "{cache=a} 5", "{cache=\"a\\", "{group=\"a\"} 5", "{cache=\"a\"} 99999999999999999999"}) {
    EXPECT_THAT(parse_origins_page(name + rest + "\n"), IsEmpty()) << rest;
  }
  EXPECT_THAT(parse_origins_page(name + "{cache=\"a\"} 5"), SizeIs(1)) << "the last line may have no end";
}

TEST(OriginsReport, HasThoseWithMostBytesFirstAndTheirShareOfTheCache) {
  const std::vector<SlabOrigin> origins{one_origin("dentry", "small", 1, 192), one_origin("filp", "only", std::nullopt, 256),
                                        one_origin("dentry", "large", 3, 576)};
  EXPECT_EQ(origins_table(origins).print({.layout = Layout::kCsv}),
            "cache,control_group,program,function,allocations,bytes,share_ratio\n"
            "dentry,/g,large,f,3,576,0.75\nfilp,/g,only,f,,256,1\ndentry,/g,small,f,1,192,0.25\n");
}

TEST(OriginsReport, HasWhatGrewBetweenTwoMoments) {
  const std::vector<SlabOrigin> before{one_origin("dentry", "same", 2, 100), one_origin("dentry", "grown", 2, 100),
                                       one_origin("dentry", "begun again", 9, 900), one_origin("dentry", "gone", 9, 900)};
  const auto grown =
      grown_origins(before, {one_origin("dentry", "same", 2, 100), one_origin("dentry", "grown", 5, 250),
                             one_origin("dentry", "begun again", 1, 50), one_origin("dentry", "new", std::nullopt, 60)});
  ASSERT_THAT(grown, SizeIs(3));
  EXPECT_EQ(grown[0].command, "grown");
  EXPECT_EQ(grown[0].bytes, 150U);
  EXPECT_EQ(grown[0].allocations, 3U);
  EXPECT_EQ(grown[1].bytes, 50U);
  EXPECT_EQ(grown[1].allocations, 1U);
  EXPECT_EQ(grown[2].allocations, std::nullopt);
}

}  // namespace
}  // namespace memstat::ctl
