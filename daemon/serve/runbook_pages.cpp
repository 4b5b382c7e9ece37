// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/runbook_pages.h"

#include <algorithm>
#include <cstddef>

#include "core/base/ascii.h"
#include "daemon/explain/tables.h"
#include "daemon/serve/plain_html.h"

namespace memstat {
namespace {

constexpr std::string_view kPrefix = "/runbooks/";

/// The runbook of an alert or of a cause.
const Runbook* find(std::string_view name) {
  if (const std::string_view alert = runbook_of_cause(name); !alert.empty()) name = alert;
  static const std::vector<Runbook> all = runbooks();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Runbook& runbook) { return equals_ignoring_case(runbook.alert, name); });
  return found == all.end() ? nullptr : &*found;
}

/// Takes the text before `end` and skips `end`. Takes nothing if `end` is missing.
bool take_until(std::string_view& text, std::string_view end, std::string_view& taken) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return false;
  taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return true;
}

void append_inline(std::string& out, std::string_view text);

/// Parses "name](target)" after a "[".
bool append_link(std::string& out, std::string_view& text) {
  std::string_view rest = text, name, target;
  if (!take_until(rest, "](", name) || !take_until(rest, ")", target)) return false;
  text = rest;
  const Runbook* runbook = target.starts_with('#') ? find(target.substr(1)) : nullptr;
  const bool is_link = runbook != nullptr || target.starts_with("https://");
  if (is_link) {
    out += "<a href=\"" +
           escaped_html(runbook != nullptr ? std::string(kPrefix) + std::string(runbook->alert) : std::string(target)) +
           "\">";
  }
  append_inline(out, name);
  if (is_link) out += "</a>";
  return true;
}

void append_inline(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const char c = text.front();
    std::string_view rest = text.substr(1), inside;
    if (c == '`' && take_until(rest, "`", inside)) {
      out += "<code>" + escaped_html(inside) + "</code>";
    } else if (c == '*' && !rest.starts_with(' ') && take_until(rest, "*", inside)) {
      out += "<em>" + escaped_html(inside) + "</em>";
    } else if (c != '[' || !append_link(out, rest)) {
      rest = text.substr(1);
      out += escaped_html(text.substr(0, 1));
    }
    text = rest;
  }
}

/// Writes blocks from Markdown, line by line.
class Writer {
 public:
  void add(std::string_view line) {
    if (line.starts_with("```")) return fence();
    if (is_code_) {
      html_ += escaped_html(line) + '\n';
      return;
    }
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view words = line.substr(indent);
    if (words.empty()) return close();
    if (words.starts_with("* ")) return item(indent == 0 ? 1 : 2, words.substr(2));
    text_ += (text_.empty() ? "" : " ") + std::string(words);
  }

  std::string finish() {
    close();
    return std::move(html_);
  }

 private:
  void fence() {
    if (!is_code_) close();
    html_ += is_code_ ? "</pre>\n" : "<pre>";
    is_code_ = !is_code_;
  }
  /// Starts a list item at this level, inside the item above it.
  void item(int level, std::string_view words) {
    flush();
    while (level_ > level) leave();
    if (level_ == level) html_ += "</li>\n<li>";
    while (level_ < level) {
      html_ += "<ul><li>";
      ++level_;
    }
    text_ = words;
  }
  void flush() {
    if (text_.empty()) return;
    if (level_ == 0) html_ += "<p>";
    append_inline(html_, text_);
    if (level_ == 0) html_ += "</p>\n";
    text_.clear();
  }
  void leave() {
    html_ += "</li></ul>\n";
    --level_;
  }
  void close() {
    flush();
    while (level_ > 0) leave();
  }

  std::string html_;
  std::string text_;  // text of the current paragraph or item
  int level_ = 0;     // nesting level of the list
  bool is_code_ = false;
};

bool wants_html(const HttpRequest& request) {
  const auto accept = request.header("Accept");
  return accept && accept->find("text/html") != std::string_view::npos;
}

}  // namespace

std::string runbook_html(std::string_view section) {
  Writer writer;
  while (!section.empty()) {
    const std::size_t end = std::min(section.find('\n'), section.size());
    writer.add(section.substr(0, end));
    section.remove_prefix(std::min(end + 1, section.size()));
  }
  return writer.finish();
}

bool RunbookPages::has(std::string_view path) {
  return path.starts_with(kPrefix) && (path == kPrefix || find(path.substr(kPrefix.size())) != nullptr);
}

HttpResponse RunbookPages::respond(const HttpRequest& request) {
  const Runbook* runbook = find(std::string_view(request.path).substr(kPrefix.size()));
  std::string text;
  if (!wants_html(request)) {
    if (runbook != nullptr) return plain(200, std::string(runbook->alert) + "\n\n" + std::string(runbook->section) + "\n");
    for (const Runbook& each : runbooks()) text += std::string(kPrefix) + std::string(each.alert) + "\n";
    return plain(200, std::move(text));
  }
  text = kPlainHead;
  if (runbook != nullptr) {
    text += "<nav><a href=\"/\">status</a><a href=\"/runbooks/\">runbooks</a></nav>\n<h1>" + escaped_html(runbook->alert) +
            "</h1>\n" + runbook_html(runbook->section);
  } else {
    text += "<nav><a href=\"/\">status</a></nav>\n<h1>Runbooks</h1>\n<ul>\n";
    for (const Runbook& each : runbooks()) {
      text += "<li><a href=\"/runbooks/" + std::string(each.alert) + "\">" + std::string(each.alert) + "</a></li>\n";
    }
    text += "</ul>\n";
  }
  text += "</body></html>\n";
  HttpResponse response{.content_type = "text/html; charset=utf-8", .text = std::move(text)};
  response.headers.emplace_back("Content-Security-Policy",
                                "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'");
  return response;
}

}  // namespace memstat
