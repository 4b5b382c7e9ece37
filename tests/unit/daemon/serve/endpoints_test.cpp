// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/endpoints.h"

#include "tests/support/http_response.h"
#include "tests/support/polled_daemon.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

HttpResponse get_from(Pages& pages, std::string_view path, std::string_view query = {},
                      const std::vector<HttpHeader>& headers = {}, std::string_view method = "GET") {
  return pages.respond(
      {.method = method, .path = path, .query = query, .host = {}, .remote_address = "127.0.0.1", .headers = headers});
}

class PagesTest : public testing::Test {
 protected:
  PagesTest() { daemon_.view->set(kSlabinfo, slabinfo({{"dentry", 1'000'000}, {"filp", 3}})); }
  [[nodiscard]] Pages pages(Pages::Options options) {
    return {daemon_.pool, daemon_.metrics, *daemon_.poller, daemon_.clock, std::move(options)};
  }
  HttpResponse get(std::string_view path, std::string_view query = {}) { return get_from(pages_, path, query); }
  HttpResponse scrape(std::string_view accept, std::string_view encoding = {}, std::string_view query = {}) {
    return get_from(pages_, "/metrics", query, {{"Accept", accept}, {"Accept-Encoding", encoding}});
  }

  PolledDaemon daemon_{OperatingSystem::kLinux};
  Pages pages_ = pages({.version = "1.2.3", .reload = {}});
};

TEST_F(PagesTest, MetricsAre503BeforeTheFirstPoll) {
  const HttpResponse response = get("/metrics");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(body_of(response), HasSubstr("No poll has finished yet"));
}

TEST_F(PagesTest, MetricsAreTheTypesAndTheDaemonsOwn) {
  daemon_.poll();
  const HttpResponse response = get("/metrics");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(type_value(body_of(response), "objects", "slab", "dentry"), "1000000");
  EXPECT_EQ(value_of(body_of(response), "memstat_source_up{source=\"linux_slabinfo\"}"), "1");
  EXPECT_THAT(body_of(response), HasSubstr("memstat_build_info{version=\"1.2.3\"} 1\n"));
}

TEST_F(PagesTest, AllElseIsNotFound) {
  for (const char* path : {"/metricsx", "/metrics/", "/-/", "/index.html", "/..", "//metrics", "/METRICS", "/-/quit"}) {
    EXPECT_EQ(get(path).status, 404) << path;
    EXPECT_EQ(get_from(pages_, path, {}, {}, "DELETE").status, 404) << path;
  }
}

TEST_F(PagesTest, OtherMethodsAreRefusedWithTheAllowedOnes) {
  for (const char* path : {"/", "/plain", "/app.js", "/api/v1/types", "/metrics", "/-/healthy", "/-/ready"}) {
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
      const HttpResponse response = get_from(pages_, path, {}, {}, method);
      EXPECT_EQ(response.status, 405) << method << ' ' << path;
      EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD") << method << ' ' << path;
    }
  }
  const HttpResponse reload = get("/-/reload");
  EXPECT_EQ(reload.status, 405);
  EXPECT_EQ(header_of(reload, "Allow"), "POST");
}

TEST_F(PagesTest, ReloadIsNotThereUnlessEnabledAndReportsWhyItFailed) {
  std::vector<std::string> problems;
  for (const bool enabled : {false, true}) {
    int calls = 0;
    Pages served = pages({.version = {}, .enable_reload = enabled, .reload = [&] { return ++calls, problems; }});
    EXPECT_EQ(get_from(served, "/-/reload", {}, {}, "POST").status, enabled ? 200 : 404);
    EXPECT_EQ(calls, enabled ? 1 : 0);
    problems = {"a.yaml:1:1: tier: no", "a.yaml:2:1: user: no"};
    const HttpResponse failed = get_from(served, "/-/reload", {}, {}, "POST");
    EXPECT_EQ(failed.status, enabled ? 500 : 404);
    EXPECT_EQ(body_of(failed).find("a.yaml:1:1: tier: no\na.yaml:2:1: user: no\n") != std::string::npos, enabled);
    problems.clear();
  }
}

TEST_F(PagesTest, ThePlainPageShowsSourcesAndTheLargestTypes) {
  EXPECT_EQ(get("/plain").status, 200) << "also before the first poll";
  EXPECT_THAT(body_of(get("/plain")), HasSubstr("not read yet"));
  daemon_.poll();
  const HttpResponse response = get("/plain");
  EXPECT_EQ(response.content_type, "text/html; charset=utf-8");
  const std::string html = body_of(response);
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(html, HasSubstr("1.2.3"));
  EXPECT_THAT(html, HasSubstr("/proc/slabinfo"));
  EXPECT_THAT(html, HasSubstr("61 MiB"));
  EXPECT_LT(html.find("dentry"), html.find("filp")) << "largest first";
}

TEST_F(PagesTest, ThePlainPageShowsTheTypesNearestToTheirLimits) {
  daemon_.poll();
  EXPECT_THAT(body_of(get("/plain")), Not(HasSubstr("Nearest to their limits")));
  EXPECT_THAT(body_of(get("/plain")), HasSubstr("<p>Nothing is wrong: "));
  EXPECT_THAT(body_of(get("/plain")), Not(HasSubstr("<details>"))) << "no cause was examined";
  Config config = daemon_.config;
  LimitConfig of_both;
  of_both.type = *NamePattern::compile("dentry");
  of_both.objects = 1'000'000'000;
  of_both.bytes = 64'020'000;
  LimitConfig of_objects;
  of_objects.type = *NamePattern::compile("filp");
  of_objects.objects = 10;
  config.limits = {of_both, of_objects};
  daemon_.poller->configure(config);
  daemon_.poll();
  const std::string html = body_of(get("/plain"));
  EXPECT_THAT(html, HasSubstr("<code>dentry</code> <span class=quiet>slab</span><td>1000000000 objects or 61 MiB, configured"
                              "<td class=number>99.9 %"))
      << "nearly full";
  EXPECT_THAT(html,
              HasSubstr("<code>filp</code> <span class=quiet>slab</span><td>10 objects, configured<td class=number>30 %"));
}

TEST_F(PagesTest, ThePlainPageShowsWhatMemoryIs) {
  EXPECT_THAT(body_of(get("/plain")), Not(HasSubstr("unaccounted")));
  daemon_.view->set("/proc/meminfo",
                    "MemTotal: 1048576 kB\nMemFree: 524288 kB\nBuffers: 0 kB\nCached: 0 kB\nAnonPages: 262144 kB\n"
                    "SReclaimable: 0 kB\nSUnreclaim: 131072 kB\nPageTables: 0 kB\nKernelStack: 0 kB\n");
  daemon_.poll(std::chrono::seconds(60));
  daemon_.poll(std::chrono::seconds(60));
  const std::string html = body_of(get("/plain"));
  EXPECT_THAT(html, HasSubstr("Memory, 1 GiB in all"));
  EXPECT_THAT(html, HasSubstr("anonymous<td class=number>256 MiB<td class=number>25 %"));
  EXPECT_THAT(html, HasSubstr("slab_unreclaimable<td class=number>128 MiB<td class=number>13 %"));
  EXPECT_THAT(html, HasSubstr("unaccounted<td class=number>128 MiB<td class=number>13 %"));
  EXPECT_LT(html.find("anonymous"), html.find("slab_unreclaimable"));
  EXPECT_THAT(html, HasSubstr("/proc/net/protocols, /proc/net/sockstat, /proc/net/sockstat6 and ")) << "not all the files";
}

TEST_F(PagesTest, NamesAndErrorsAreEscapedInHtml) {
  daemon_.view->set(kSlabinfo, slabinfo({{"<script>alert(1)</script>&\"", 1}}));
  daemon_.poll();
  const std::string html = body_of(get("/plain"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&amp;"));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  daemon_.view->set(kSlabinfo, "<b>not a slabinfo</b>\n");
  daemon_.poll();
  EXPECT_THAT(body_of(get("/plain")), HasSubstr("down: "));
  EXPECT_THAT(body_of(get("/plain")), Not(HasSubstr("<b>")));
}

TEST_F(PagesTest, TheAgeIsOfTheMomentAndTheRestIsKept) {
  daemon_.poll();
  const std::string young = body_of(scrape("text/plain"));
  EXPECT_EQ(value_of(young, "memstat_poll_age_seconds"), "0");
  daemon_.clock.advance(std::chrono::milliseconds(2500));
  const std::string old = body_of(scrape("text/plain"));
  EXPECT_EQ(value_of(old, "memstat_poll_age_seconds"), "2.5");
  EXPECT_EQ(old.substr(0, old.find("# HELP memstat_poll_age")), young.substr(0, young.find("# HELP memstat_poll_age")));
  EXPECT_THAT(body_of(scrape("application/openmetrics-text; version=1.0.0")),
              testing::EndsWith("memstat_poll_age_seconds 2.5\n# EOF\n"));
}

TEST_F(PagesTest, TypesAreCompressedOnceASnapshotAndOwnFiguresWhenTheyChange) {
  if (!can_gzip()) GTEST_SKIP() << "built without gzip";
  daemon_.poll();
  const HttpResponse first = scrape("text/plain", "gzip");
  const HttpResponse second = scrape("text/plain", "gzip");
  EXPECT_EQ(first.pieces.at(1).data(), second.pieces.at(1).data()) << "the same bytes, not made again";
  EXPECT_EQ(first.pieces.at(2).data(), second.pieces.at(2).data());
  daemon_.metrics.config_reloaded(false);
  const HttpResponse third = scrape("text/plain", "gzip");
  EXPECT_EQ(first.pieces.at(1).data(), third.pieces.at(1).data());
  EXPECT_NE(first.pieces.at(2).data(), third.pieces.at(2).data());
  const std::string before = body_of(first);
  daemon_.view->set(kSlabinfo, slabinfo({{"other", 5}}));
  daemon_.poll();
  EXPECT_NE(body_of(scrape("text/plain", "gzip")), before);
  EXPECT_EQ(body_of(first), before) << "an answer does not change";
}

TEST_F(PagesTest, ARequestMayWantAPart) {
  daemon_.poll();
  const std::string dentry = body_of(get("/metrics", "type[]=dentry"));
  EXPECT_EQ(type_value(dentry, "objects", "slab", "dentry"), "1000000");
  EXPECT_THAT(dentry, Not(HasSubstr("type=\"filp\"")));
  EXPECT_THAT(dentry, HasSubstr("memstat_source_up")) << "it shows the quality of the rest";
  const std::string bytes = body_of(get("/metrics", "name[]=memstat_type_bytes&name[]=memstat_poll_age_seconds"));
  EXPECT_THAT(bytes, HasSubstr("memstat_type_bytes{"));
  EXPECT_THAT(bytes, Not(HasSubstr("memstat_type_objects")));
  EXPECT_THAT(bytes, Not(HasSubstr("memstat_source_up")));
  EXPECT_THAT(bytes, HasSubstr("memstat_poll_age_seconds 0\n"));
  EXPECT_THAT(body_of(get("/metrics", "name[]=memstat_source_read_seconds")),
              HasSubstr("memstat_source_read_seconds_count{source=\"linux_slabinfo\"} 1"));
}

TEST_F(PagesTest, AnUnknownWordIsRefusedWithWhatThereIs) {
  daemon_.poll();
  for (const char* query : {"type[]=dentri", "allocator[]=slub", "name[]=memstat_type_byte", "tpye[]=dentry", "type[]=%"}) {
    const HttpResponse response = get("/metrics", query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_GT(body_of(response).size(), 20U) << query;
  }
  EXPECT_THAT(body_of(get("/metrics", "allocator[]=slub")), HasSubstr("slab"));
  EXPECT_EQ(get("/metrics", "allocator[]=slab").status, 200);
}

TEST_F(PagesTest, APartIsServedInEveryFormatAsOneDocument) {
  daemon_.poll();
  const auto part = [&](std::string_view accept) { return body_of(scrape(accept, {}, "type[]=filp")); };
  const std::string open = part("application/openmetrics-text; version=1.0.0");
  EXPECT_THAT(open, testing::EndsWith("# EOF\n"));
  EXPECT_EQ(open.find("# EOF"), open.size() - 6) << "only one end";
  EXPECT_THAT(open, Not(HasSubstr("dentry")));
  EXPECT_THAT(part("application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"),
              HasSubstr("filp"));
}

TEST(PerCpuPages, AreForTheTypesThatTheConfigurationSelects) {
  Config config;
  config.per_cpu.types = {*NamePattern::compile("devbuf")};
  PolledDaemon daemon{OperatingSystem::kFreeBsd, config};
  daemon.view->set(kMallocStats, MallocStream(2)
                                     .add("temp", {{0, {8, 0, 1, 0, 0}}, {1, {8, 0, 1, 0, 0}}})
                                     .add("devbuf", {{0, {16, 0, 2, 0, 0}}, {1, {32, 0, 3, 0, 0}}})
                                     .bytes());
  daemon.poll();
  Pages pages{daemon.pool,
              daemon.metrics,
              *daemon.poller,
              daemon.clock,
              {.version = "1", .reload = {}, .refresh = {}, .has_per_cpu = [] { return true; }}};
  const auto get = [&](std::string_view query, std::string_view accept) {
    const HttpResponse response = get_from(pages, "/metrics/percpu", query, {{"Accept", accept}});
    return std::to_string(response.status) + " " + body_of(response);
  };
  const std::string all = get("", "");
  EXPECT_THAT(all, StartsWith("200 # HELP memstat_cpu_"));
  EXPECT_THAT(all, HasSubstr("memstat_cpu_allocations_total{allocator=\"malloc\",type=\"devbuf\",cpu=\"1\"} 3\n"));
  EXPECT_THAT(all, Not(HasSubstr("memstat_type_")));
  EXPECT_THAT(all, Not(HasSubstr("memstat_source_up")));
  EXPECT_THAT(get("", "application/openmetrics-text"), testing::EndsWith("# EOF\n"));
  EXPECT_THAT(get("type[]=devbuf", ""), StartsWith("200 # HELP memstat_cpu_"));
  EXPECT_THAT(get("type[]=temp", ""), testing::AllOf(StartsWith("400 "), HasSubstr("per_cpu")));
  EXPECT_THAT(get("type[]=tmp", ""), StartsWith("400 "));
  EXPECT_THAT(get("name[]=memstat_cpu_frees_total", ""), StartsWith("200 # HELP memstat_cpu_frees_total "));
  EXPECT_THAT(get("name[]=memstat_type_bytes", ""), StartsWith("400 none of these metrics is per CPU"));
}

TEST_F(PagesTest, AScrapeSaysHowLongItWaitsForAPoll) {
  daemon_.poll();
  std::chrono::steady_clock::time_point deadline;
  Pages served = pages({.version = "1", .reload = {}, .refresh = [&](auto until) { deadline = until; }});
  const auto patience = [&](std::string_view header) {
    EXPECT_EQ(get_from(served, "/metrics", {}, {{"X-Prometheus-Scrape-Timeout-Seconds", header}}).status, 200);
    const std::chrono::nanoseconds now(daemon_.clock.monotonic_ns());
    return std::chrono::duration<double>(deadline.time_since_epoch() - now).count();
  };
  EXPECT_EQ(patience("5"), 4.75);
  EXPECT_EQ(patience("1.5"), 1.25);
  EXPECT_EQ(patience("0.1"), 0) << "nothing is left to wait";
  EXPECT_EQ(patience("9999999999"), 60);
  for (const std::string_view bad : {"", "-1", "nan", "abc", "5s", "1e300"}) EXPECT_EQ(patience(bad), 9.75) << bad;
}

}  // namespace
}  // namespace memstat
