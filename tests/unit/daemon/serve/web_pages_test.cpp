// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/web_pages.h"

#include "tests/support/http_response.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

HttpResponse get(WebPages& pages, std::string_view path, std::string_view tag = {}, std::string_view coding = {}) {
  const std::vector<HttpHeader> headers = {{"If-None-Match", tag}, {"Accept-Encoding", coding}};
  return pages.respond({.method = "GET", .path = path, .query = {}, .host = {}, .remote_address = {}, .headers = headers});
}

TEST(WebPages, ThePageAndItsFilesAreServedAndNothingElse) {
  WebPages pages;
  const std::pair<std::string_view, std::string_view> files[] = {{"/", "text/html; charset=utf-8"},
                                                                 {"/style.css", "text/css; charset=utf-8"},
                                                                 {"/app.js", "text/javascript; charset=utf-8"},
                                                                 {"/view.js", "text/javascript; charset=utf-8"},
                                                                 {"/uPlot.iife.min.js", "text/javascript; charset=utf-8"}};
  for (const auto& [path, type] : files) {
    ASSERT_TRUE(WebPages::has(path)) << path;
    const HttpResponse response = get(pages, path);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.content_type, type);
    EXPECT_GT(response.pieces.at(0).size(), 200U) << path;
  }
  for (const char* path :
       {"", "/index.html", "app.js", "/embed.cmake", "//", "/app.js/", "/../app.js", "/LICENSE", "/uplot/LICENSE"}) {
    EXPECT_FALSE(WebPages::has(path)) << path;
  }
}

TEST(WebPages, ABrowserMayLoadThisServersFilesOnly) {
  WebPages pages;
  for (const WebAsset& asset : web_assets()) {
    const HttpResponse response = get(pages, asset.name == "index.html" ? "/" : "/" + std::string(asset.name));
    const std::string policy = header_of(response, "Content-Security-Policy").value_or("");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << asset.name;
    // uPlot's own address is in its first comment.
    const bool is_library = asset.name.starts_with("uPlot");
    for (const char* foreign : {"http://", "https://", "//cdn", "@import", "innerHTML", "insertAdjacentHTML", "eval("}) {
      const std::string text(asset.bytes.substr(is_library && asset.bytes.starts_with("/*!") ? asset.bytes.find("*/") : 0));
      const std::size_t at = text.find(foreign);
      EXPECT_TRUE(at == std::string::npos || text.substr(at).starts_with("http://www.w3.org/2000/svg"))
          << asset.name << ": " << foreign;
    }
  }
  const std::string html(get(pages, "/").pieces.at(0));
  EXPECT_THAT(html, Not(HasSubstr("<style")));
  EXPECT_THAT(html, Not(HasSubstr("style=")));
  EXPECT_THAT(html, Not(HasSubstr("onclick")));
  EXPECT_THAT(html, Not(testing::ContainsRegex("<script>")));
}

TEST(WebPages, AFileIsSentOnceAndCompressedOnce) {
  WebPages pages;
  const HttpResponse first = get(pages, "/app.js");
  const auto tag = header_of(first, "ETag");
  ASSERT_TRUE(tag);
  EXPECT_EQ(first.cache_control, "no-cache");
  EXPECT_EQ(get(pages, "/app.js", *tag).status, 304);
  EXPECT_EQ(get(pages, "/style.css", *tag).status, 200);
  if (!can_gzip()) GTEST_SKIP() << "built without gzip";
  const HttpResponse compressed = get(pages, "/app.js", {}, "gzip");
  EXPECT_EQ(header_of(compressed, "Content-Encoding"), "gzip");
  EXPECT_LT(compressed.pieces.at(0).size(), first.pieces.at(0).size());
  EXPECT_EQ(get(pages, "/app.js", {}, "gzip").pieces.at(0).data(), compressed.pieces.at(0).data());
}

}  // namespace
}  // namespace memstat
