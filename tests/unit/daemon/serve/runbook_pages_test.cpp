// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/runbook_pages.h"

#include "daemon/explain/tables.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

HttpResponse get(std::string_view path, std::string_view accept) {
  const std::vector<HttpHeader> headers = {{"Accept", accept}};
  return RunbookPages::respond(
      {.method = "GET", .path = path, .query = {}, .host = {}, .remote_address = {}, .headers = headers});
}

TEST(RunbookPages, ClientsOtherThanBrowsersGetText) {
  const HttpResponse response = get("/runbooks/MemstatLimitHit", "*/*");
  EXPECT_EQ(response.content_type, "text/plain; charset=utf-8");
  EXPECT_THAT(response.text, testing::StartsWith("MemstatLimitHit\n\n"));
  EXPECT_THAT(response.text, HasSubstr("memstatctl limits"));
  EXPECT_THAT(get("/runbooks/", "*/*").text, HasSubstr("/runbooks/MemstatLimitHit\n"));
  EXPECT_THAT(get("/runbooks/open_files_full", "*/*").text, testing::StartsWith("Memstat")) << "the runbook of a cause";
  EXPECT_THAT(get("/runbooks/", "text/html").text, HasSubstr("<a href=\"/runbooks/MemstatLimitHit\">MemstatLimitHit</a>"));
}

TEST(RunbookPages, MarkdownBecomesHtml) {
  EXPECT_EQ(runbook_html("One `a<b` and\n*two*, 3 * 4.\n\n* Linux: x\n  goes on\n  * inner\n* Next:\n\n```sh\necho \"*a*\" "
                         "`b` > c\n\nd\n```\n\nEnd"),
            "<p>One <code>a&lt;b</code> and <em>two</em>, 3 * 4.</p>\n<ul><li>Linux: x goes "
            "on<ul><li>inner</li></ul>\n</li>\n<li>Next:"
            "</li></ul>\n<pre>echo &quot;*a*&quot; `b` &gt; c\n\nd\n</pre>\n<p>End</p>\n");
  EXPECT_EQ(runbook_html("[a](#memstatlimithit) [b](https://x.example/?a&b) [c](file.md#d) [e] `f"),
            "<p><a href=\"/runbooks/MemstatLimitHit\">a</a> <a href=\"https://x.example/?a&amp;b\">b</a> c [e] `f</p>\n");
  EXPECT_EQ(runbook_html(""), "");
}

}  // namespace
}  // namespace memstat
