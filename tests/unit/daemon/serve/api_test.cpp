// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api.h"

#include "tests/support/http_response.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

class ApiTest : public testing::Test {
 protected:
  ApiTest() { daemon_.view->set(kSlabinfo, slabinfo({{"dentry", 1000}, {"filp", 3}})); }

  HttpResponse get(std::string_view path, std::string_view query = {}, std::string_view tag = {},
                   std::string_view coding = {}) {
    const std::vector<HttpHeader> headers = {{"If-None-Match", tag}, {"Accept-Encoding", coding}};
    return api_.respond({.method = "GET",
                         .path = path,
                         .query = query,
                         .host = {},
                         .remote_address = "127.0.0.1",
                         .headers = std::span(headers)});
  }

  PolledDaemon daemon_{OperatingSystem::kLinux};
  PagesOptions options_{.version = "1.2.3",
                        .reload = {},
                        .history = &daemon_.poller->history(),
                        .diagnostician = daemon_.poller.get(),
                        .host = {.name = "db7", .os = "linux", .release = "6.1", .machine = "x86_64", .replay = {}}};
  Api api_{daemon_.pool, daemon_.metrics, *daemon_.poller, options_, 42};
};

TEST_F(ApiTest, BeforeTheFirstPollItIs503InJson) {
  for (const char* path : {"/api/v1/types", "/api/v1/history", "/api/v1/growth", "/api/v1/findings", "/api/v1/sources",
                           "/api/v1/events", "/api/v1/memory"}) {
    const HttpResponse response = get(path);
    EXPECT_EQ(response.status, 503) << path;
    EXPECT_EQ(response.content_type, "application/json");
    EXPECT_THAT(body_of(response), StartsWith("{\"error\":\"no poll has finished yet")) << path;
  }
}

TEST_F(ApiTest, TheListHasTheFiguresThatTheKernelHasAndNoOthers) {
  daemon_.poll();
  const std::string types = body_of(get("/api/v1/types"));
  EXPECT_THAT(types, HasSubstr("{\"allocator\":\"slab\",\"type\":\"dentry\",\"bytes\":64000,\"held_bytes\":"));
  EXPECT_THAT(types, HasSubstr("\"objects\":1000,"));
  EXPECT_THAT(types, Not(HasSubstr("failures")));
  EXPECT_THAT(types, Not(HasSubstr("delta_bytes"))) << "first sight";
  daemon_.poll();
  EXPECT_THAT(body_of(get("/api/v1/types")), HasSubstr("\"delta_bytes\":0,\"growth_bytes_per_second\":0}"));
  EXPECT_THAT(body_of(get("/api/v1/types", "allocator=page")), HasSubstr("\"types\":[],"));
  EXPECT_THAT(body_of(get("/api/v1/types", "allocator=slab&type=filp")), Not(HasSubstr("dentry")));
}

TEST_F(ApiTest, OneTypeHasEveryFigureWithItsMeaningAndWhereTheKernelCountsIt) {
  daemon_.poll();
  const std::string type = body_of(get("/api/v1/types/slab/dentry"));
  EXPECT_THAT(type, HasSubstr("\"metric\":\"memstat_type_bytes\",\"help\":\"Bytes in use now"));
  EXPECT_THAT(type, HasSubstr("\"value\":1000,\"source\":\"linux_slabinfo\",\"origin\":\""));
  EXPECT_THAT(type, HasSubstr("\"first_seen\":17000000"));
  for (const char* path : {"/api/v1/types/slab/none", "/api/v1/types/slab/", "/api/v1/types/slab", "/api/v1/types/",
                           "/api/v1/types/vmalloc/dentry", "/api/v1/", "/api/v1/type", "/api/v1/typesx"}) {
    EXPECT_EQ(get(path).status, 404) << path;
    EXPECT_THAT(body_of(get(path)), StartsWith("{\"error\":\"")) << path;
  }
}

TEST_F(ApiTest, NamesOfTheKernelAreTextAndNothingElse) {
  daemon_.view->set(kSlabinfo, slabinfo({{"</script><img/src=x>\"\\\x01\xc3\xa9", 1}}));
  daemon_.poll();
  const std::string types = body_of(get("/api/v1/types"));
  // A control character in a name is shown as \x01, in the list of types and everywhere else.
  EXPECT_THAT(types, HasSubstr(R"("type":"\u003c/script>\u003cimg/src=x>\"\\\\x01)"
                               "\xc3\xa9\","));
  EXPECT_EQ(types.find('<'), std::string::npos);
  EXPECT_EQ(get("/api/v1/types/slab/</script><img/src=x>\"\\\\x01\xc3\xa9").status, 200);
}

TEST_F(ApiTest, AClientWithTheDocumentGets304UntilTheNextPoll) {
  daemon_.poll();
  for (const char* path : {"/api/v1/types", "/api/v1/types/slab/dentry", "/api/v1/history", "/api/v1/growth",
                           "/api/v1/sources", "/api/v1/events", "/api/v1/memory"}) {
    const HttpResponse first = get(path);
    ASSERT_EQ(first.status, 200) << path;
    EXPECT_EQ(first.cache_control, "no-cache");
    const auto tag = header_of(first, "ETag");
    ASSERT_TRUE(tag) << path;
    const HttpResponse again = get(path, {}, *tag);
    EXPECT_EQ(again.status, 304) << path;
    EXPECT_EQ(body_of(again), "");
    EXPECT_EQ(header_of(again, "ETag"), tag);
    EXPECT_EQ(get(path, {}, "\"x\", " + *tag).status, 304);
    EXPECT_EQ(get(path, {}, "*").status, 304);
    EXPECT_EQ(get(path, {}, "\"x\"").status, 200);
  }
  const std::string before = *header_of(get("/api/v1/types"), "ETag");
  daemon_.poll();
  EXPECT_EQ(get("/api/v1/types", {}, before).status, 200);
}

TEST_F(ApiTest, ADocumentIsMadeAndCompressedOnceASnapshot) {
  if (!can_gzip()) GTEST_SKIP() << "built without gzip";
  daemon_.poll();
  const HttpResponse first = get("/api/v1/types", {}, {}, "gzip");
  const HttpResponse second = get("/api/v1/types", {}, {}, "gzip");
  EXPECT_EQ(header_of(first, "Content-Encoding"), "gzip");
  EXPECT_EQ(header_of(first, "Vary"), "Accept-Encoding");
  EXPECT_EQ(first.pieces.at(0).data(), second.pieces.at(0).data());
  const std::string before = body_of(first);
  daemon_.view->set(kSlabinfo, slabinfo({{"other", 1}}));
  daemon_.poll();
  EXPECT_NE(body_of(get("/api/v1/types", {}, {}, "gzip")), before);
  EXPECT_EQ(body_of(first), before) << "an answer that is being sent does not change";
}

TEST_F(ApiTest, TheHistoryOfAllTypesAndOfOne) {
  daemon_.poll();
  daemon_.view->set(kSlabinfo, slabinfo({{"dentry", 2000}, {"filp", 3}}));
  daemon_.poll();
  const std::string all = body_of(get("/api/v1/history", "points=2"));
  EXPECT_THAT(all, HasSubstr("\"type\":\"dentry\",\"values\":[64000,128000]}"));
  EXPECT_THAT(all, HasSubstr("\"times\":[1700000010,1700000020]"));
  const std::string one = body_of(get("/api/v1/history", "allocator=slab&type=dentry"));
  EXPECT_THAT(one, HasSubstr("\"figure\":\"bytes\",\"points\":[[1700000010,64000],[1700000020,128000]],\"failures\":[]"));
  EXPECT_EQ(get("/api/v1/history", "allocator=slab&type=none").status, 404);
  EXPECT_EQ(get("/api/v1/history", "points=1").status, 400);
}

TEST_F(ApiTest, GrowthIsOfEachPollOnceAndOfTheAccountToo) {
  for (std::uint64_t poll = 0; poll < 20; ++poll) {
    daemon_.view->set(kSlabinfo, slabinfo({{"dentry", 90'000}, {"filp", 1000 + 2000 * poll}}));
    const std::string free = std::to_string(900'000 - 1000 * poll);
    daemon_.view->set("/proc/meminfo", "MemTotal: 1048576 kB\nMemFree: " + free + " kB\nMemAvailable: 500000 kB\n");
    daemon_.poll();
  }
  const std::string growth = body_of(get("/api/v1/growth"));
  EXPECT_THAT(growth, HasSubstr("\"polls\":20,\"polls_needed\":8,\"seconds\":190,\"enough\":true,"));
  EXPECT_THAT(growth, HasSubstr("{\"allocator\":\"account\",\"type\":\"unaccounted\",\"of\":\"bytes\",\"now\":"));
  EXPECT_THAT(growth,
              HasSubstr("{\"allocator\":\"slab\",\"type\":\"filp\",\"of\":\"bytes\",\"now\":2496000,\"grew\":2432000,"));
  EXPECT_THAT(growth, Not(HasSubstr("dentry")));
  EXPECT_THAT(body_of(get("/api/v1/growth", "seconds=50")),
              HasSubstr("\"polls\":6,\"polls_needed\":8,\"seconds\":50,\"enough\":false"));
  EXPECT_EQ(get("/api/v1/growth", "seconds=0").status, 400);
}

TEST_F(ApiTest, WithoutHistoryItNamesTheKeyThatEnablesIt) {
  daemon_.config.history_bytes = 0;
  daemon_.poller->configure(daemon_.config);
  daemon_.poll();
  EXPECT_EQ(get("/api/v1/history").status, 404);
  EXPECT_EQ(get("/api/v1/growth").status, 404);
  EXPECT_THAT(body_of(get("/api/v1/history")), HasSubstr("key history"));
}

TEST_F(ApiTest, SourcesSayHowTheyFareAndWhatTheDaemonCosts) {
  daemon_.view->fail(kSlabinfo, EIO);
  daemon_.poll();
  const std::string sources = body_of(get("/api/v1/sources"));
  EXPECT_THAT(sources, HasSubstr("{\"name\":\"linux_slabinfo\",\"origin\":\"/proc/slabinfo\",\"state\":\"down\",\"types\":0,"
                                 "\"error\":\"linux_slabinfo: "));
  EXPECT_THAT(sources, HasSubstr("\"daemon\":{\"version\":\"1.2.3\",\"kernel\":\"linux 6.1\",\"history_bytes\":"));
  EXPECT_THAT(sources, HasSubstr("\"process_resident_memory_bytes\":"));
  EXPECT_THAT(sources, HasSubstr("\"memstat_poll_duration_seconds_count\":1"));
}

}  // namespace
}  // namespace memstat
