// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/endpoints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "core/base/amount_text.h"
#include "core/base/text.h"
#include "core/model/accounts.h"
#include "daemon/serve/plain_html.h"
#include "daemon/serve/runbook_pages.h"

namespace memstat {
namespace {

constexpr std::size_t kTypesShown = 15;

constexpr std::string_view kPerCpuPath = "/metrics/percpu";

std::string human_bytes(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

std::string share_cell(double share) { return "<td class=number>" + percent_text(share); }

/// The cell of a type's name. A kernel's names are long, so the allocator follows instead of having a column.
std::string type_cell(const Snapshot& snapshot, std::size_t row) {
  const RowLabels labels = snapshot.labels(row);
  return "<td><code>" + escaped_html(labels.escaped_type()) + "</code> <span class=quiet>" +
         escaped_html(labels.allocator()) + "</span>";
}

/// Appends the memory account; nothing if no source provides one.
void append_accounts(std::string& html, const Snapshot& snapshot) {
  const auto total = snapshot.samples(kTotalBytes);
  const auto unaccounted = snapshot.samples(kUnaccountedBytes);
  const auto accounted = snapshot.samples(kAccountedBytes);
  if (total.empty() || total[0].bits == 0 || accounted.empty()) return;
  std::vector<Snapshot::MachineSample> parts(accounted.begin(), accounted.end());
  std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.bits > b.bits; });
  html += "<h2>Memory, " + human_bytes(total[0].bits) +
          " in all</h2>\n<table><tr><th>part<th class=number>bytes<th class=number>of all</tr>\n";
  const auto row = [&](std::string_view part, std::uint64_t bytes) {
    html += "<tr><td class=name>" + escaped_html(part) + "<td class=number>" + human_bytes(bytes) +
            share_cell(static_cast<double>(bytes) / static_cast<double>(total[0].bits)) + "</tr>\n";
  };
  for (const Snapshot::MachineSample& part : parts) {
    if (part.bits == 0) continue;
    snapshot.labels_at(part.labels, kAccountedBytes.label_names()).for_each([&](std::string_view, std::string_view name) {
      row(name, part.bits);
    });
  }
  if (!unaccounted.empty())
    row("unaccounted",
        static_cast<std::uint64_t>(std::max(std::bit_cast<std::int64_t>(unaccounted[0].bits), std::int64_t{0})));
  html += "</table>\n<p class=quiet>The remainder is free memory.</p>\n";
}

/// The first few files that a source reads.
std::string origin_cell(std::string_view origin) {
  constexpr int kShown = 3;
  std::size_t end = 0;
  for (int i = 0; i < kShown && end != std::string_view::npos; ++i) end = origin.find(", ", end + (i == 0 ? 0 : 1));
  if (end == std::string_view::npos) return escaped_html(origin);
  std::size_t more = 0;
  for (std::size_t at = end; at != std::string_view::npos; at = origin.find(", ", at + 1)) ++more;
  return "<span title=\"" + escaped_html(origin) + "\">" + escaped_html(origin.substr(0, end)) + " and " +
         std::to_string(more) + " more</span>";
}

void append_sources(std::string& html, const SourceStatuses& sources) {
  html += "<h2>Sources</h2>\n<table class=sources><tr><th>source<th>reads<th>state<th class=number>types</tr>\n";
  for (const SourceStatus& source : sources.statuses()) {
    html += "<tr><td class=name><code>" + escaped_html(source.name) + "</code><td>" + origin_cell(source.origin) +
            (source.state == SourceState::kDown ? "<td class=down>" : "<td>") + escaped_html(to_string(source.state));
    if (!source.needs.empty()) html += escaped_html(", needs " + source.needs);
    if (!source.error.empty()) {
      std::string_view why = source.error;
      if (why.starts_with(source.name + ": "))
        why.remove_prefix(source.name.size() + 2);  // the row already names the source
      html += ": " + escaped_html(why);
    }
    if (!source.note.empty()) html += "; left out: " + escaped_html(source.note);
    // A source may provide figures of the machine only.
    const bool has_types = source.state == SourceState::kUp && source.types != 0;
    html += "<td class=number>" + (has_types ? std::to_string(source.types) : std::string("-")) + "</tr>\n";
  }
  html += "</table>\n";
}

void append_largest(std::string& html, const Snapshot& snapshot) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (snapshot.has(Field::kBytes, row)) rows.push_back(row);
  }
  const std::size_t shown = std::min(rows.size(), kTypesShown);
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown), rows.end(),
      [&](std::size_t a, std::size_t b) { return snapshot.value(Field::kBytes, a) > snapshot.value(Field::kBytes, b); });
  html +=
      "<h2>Largest memory types, as of the last poll</h2>\n"
      "<table><tr><th>type<th class=number>in use<th class=number>objects<th class=number>failures</tr>\n";
  const auto cell = [&](Figure figure, std::size_t row, bool is_bytes) {
    html += "<td class=number>";
    if (!snapshot.has(figure, row)) {
      html += "-";
    } else {
      const std::uint64_t value = snapshot.value(figure, row);
      html += is_bytes ? human_bytes(value) : std::to_string(value);
    }
  };
  for (std::size_t i = 0; i < shown; ++i) {
    html += "<tr>" + type_cell(snapshot, rows[i]);
    cell(Field::kBytes, rows[i], true);
    cell(Field::kCount, rows[i], false);
    cell(Field::kFailures, rows[i], false);
    html += "</tr>\n";
  }
  html += "</table>\n<p class=quiet>Allocators often share memory: never add the figures of different allocators.</p>\n";
}

/// Types with a limit, in descending order of the used share.
void append_nearest(std::string& html, const Snapshot& snapshot) {
  constexpr std::size_t kShown = 8;
  std::vector<std::pair<double, std::size_t>> rows;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (!snapshot.has(TrackedFigure::kLimitUsed, row)) continue;
    rows.emplace_back(std::bit_cast<double>(snapshot.value(TrackedFigure::kLimitUsed, row)), row);
  }
  if (rows.empty()) return;
  const std::size_t shown = std::min(rows.size(), kShown);
  std::partial_sort(
      rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(shown), rows.end(),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  html +=
      "<h2>Nearest to their limits</h2>\n"
      "<table><tr><th>type<th>limit<th class=number>used</tr>\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const auto [used, row] = rows[i];
    html += "<tr>" + type_cell(snapshot, row) + "<td>";
    if (snapshot.has(Field::kCountLimit, row)) {
      html += std::to_string(snapshot.value(Field::kCountLimit, row)) + " objects";
      if (snapshot.has(Field::kBytesLimit, row)) html += " or ";
    }
    if (snapshot.has(Field::kBytesLimit, row)) html += human_bytes(snapshot.value(Field::kBytesLimit, row));
    if (snapshot.has(TrackedFigure::kLimitConfigured, row)) html += ", configured";
    html += share_cell(used) + "</tr>\n";
  }
  html += "</table>\n<p class=quiet>For a type with two limits, the share of the nearer one.</p>\n";
}

/// The deadline of a scraper: its timeout minus the time for sending.
std::chrono::steady_clock::time_point scrape_deadline(const HttpRequest& request, const Clock& clock) {
  constexpr double kReserveSeconds = 0.25;
  constexpr double kUsualSeconds = 10;  // Prometheus's default
  constexpr double kMaxSeconds = 60;
  double seconds = kUsualSeconds;
  if (const auto header = request.header("X-Prometheus-Scrape-Timeout-Seconds")) {
    seconds = parse_decimal(*header).value_or(kUsualSeconds);
  }
  const double patience = std::clamp(seconds - kReserveSeconds, 0.0, kMaxSeconds);
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(clock.monotonic_ns())) +
         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(patience));
}

/// The state of the machine in one sentence, as verdict() of daemon/web/view.js has it.
std::string verdict_of(const Diagnosis& diagnosis, bool has_types) {
  const auto counted = [](std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  if (!diagnosis.findings.empty()) {
    const std::size_t more = diagnosis.findings.size() - 1;
    return diagnosis.findings[0].headline + "." +
           (more == 0 ? "" : " " + counted(more, "more finding") + ": memstatctl why.");
  }
  if (!has_types) return "There are no memory types: no source has reported any.";
  const bool is_whole = diagnosis.view.is_whole();
  return (is_whole ? "Nothing is wrong: " : "Nothing is wrong in the part that can be seen: ") +
         counted(diagnosis.ruled_out.size(), "cause") + " examined, " + std::to_string(diagnosis.not_checked.size()) +
         " could not be checked" + (is_whole ? "." : ": " + diagnosis.view.words_and_permit() + ".");
}

/// Appends what the verdict counts: the causes, and why some could not be checked, the most frequent reason first.
void append_causes(std::string& html, const Diagnosis& diagnosis) {
  if (diagnosis.ruled_out.empty() && diagnosis.not_checked.empty()) return;
  std::map<std::string_view, std::vector<std::string_view>> causes;
  for (const NotChecked& one : diagnosis.not_checked) causes[one.why].push_back(one.cause);
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> by_reason(causes.begin(), causes.end());
  std::stable_sort(by_reason.begin(), by_reason.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  html += "<details><summary>" + std::to_string(diagnosis.ruled_out.size()) + " causes ruled out, " +
          std::to_string(diagnosis.not_checked.size()) + " not checked: which, and why</summary>\n<ul>\n";
  for (const auto& [why, names] : by_reason) {
    html += "<li>Not checked: " + escaped_html(why) + ": " + escaped_html(separated(names, ", ")) + "\n";
  }
  html += "<li>Ruled out: " + escaped_html(separated(diagnosis.ruled_out, ", ")) + "\n</ul></details>\n";
}

HttpResponse not_allowed(const std::string& allowed) {
  HttpResponse response = plain(405, "Method not allowed; use " + allowed + ".\n");
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace

HttpResponse Pages::metrics(const HttpRequest& request) {
  const Result<PageRequest> wanted = parse_page_request(request.query);
  if (!wanted) return plain(400, wanted.error().detail + "\n");
  if (options_.refresh) options_.refresh(scrape_deadline(request, clock_));
  const ExpositionFormat format = negotiate_format(request.headers);
  const ContentCoding coding = can_gzip() ? negotiate_coding(request.headers) : ContentCoding::kIdentity;
  if (request.path == kPerCpuPath) {
    return cache_.per_cpu(format, coding, *wanted, options_.has_per_cpu && options_.has_per_cpu());
  }
  return wanted->is_whole() ? cache_.page(format, coding) : cache_.part(format, coding, *wanted);
}

HttpResponse Pages::healthy(const HttpRequest&) { return plain(200, "memstatd is healthy.\n"); }

HttpResponse Pages::ready(const HttpRequest&) {
  for (const SourceStatus& source : sources_.statuses()) {
    if (source.state == SourceState::kUp) return plain(200, "memstatd is ready.\n");
  }
  std::string text = "Not ready: no source is up.\n";
  for (const SourceStatus& source : sources_.statuses()) {
    text +=
        source.name + ": " + std::string(to_string(source.state)) + (source.error.empty() ? "" : ": " + source.error) + "\n";
  }
  return plain(503, text);
}

HttpResponse Pages::plain_page(const HttpRequest&) {
  std::string html(kPlainHead);
  html +=
      "<h1>memstatd <span class=quiet>" + escaped_html(options_.version) +
      "</span></h1>\n<p>Where the kernel's memory went, which allocations failed, and what is about to hit its limit.</p>\n"
      "<nav><a href=\"/metrics\">/metrics</a><a href=\"/metrics/percpu\">/metrics/percpu</a>"
      "<a href=\"/-/healthy\">/-/healthy</a><a href=\"/-/ready\">/-/ready</a></nav>\n";
  if (!options_.host.warning.empty()) {
    html += "<p class=down>" + escaped_html(options_.host.warning) + "</p>\n";
  }
  if (const std::shared_ptr<const Snapshot> snapshot = pool_.current(); snapshot != nullptr) {
    const Diagnosis diagnosis = options_.diagnostician != nullptr ? options_.diagnostician->diagnosis() : Diagnosis{};
    const bool is_urgent = !diagnosis.findings.empty() && diagnosis.findings[0].severity <= Severity::kSoon;
    html +=
        (is_urgent ? "<p class=down>" : "<p>") + escaped_html(verdict_of(diagnosis, snapshot->row_count() != 0)) + "</p>\n";
    append_causes(html, diagnosis);
    append_accounts(html, *snapshot);
    append_largest(html, *snapshot);
    append_nearest(html, *snapshot);
  }
  append_sources(html, sources_);
  html += "</body></html>\n";
  return {.content_type = "text/html; charset=utf-8", .text = std::move(html)};
}

HttpResponse Pages::reload(const HttpRequest&) {
  if (!options_.enable_reload) {
    return plain(404, "Reloading over HTTP is off; set enable_reload: true, or send SIGHUP, which always works.\n");
  }
  const std::vector<std::string> problems = options_.reload();
  if (problems.empty()) return plain(200, "The configuration was reloaded.\n");
  std::string text = "The previous configuration remains in force:\n";
  for (const std::string& problem : problems) text += problem + "\n";
  return plain(500, text);
}

HttpResponse Pages::respond(const HttpRequest& request) {
  struct Route {
    std::string_view path;
    std::string_view method;
    HttpResponse (Pages::*page)(const HttpRequest& request);
  };
  const bool is_api = request.path.starts_with(Api::kPrefix);
  const bool is_runbook = RunbookPages::has(request.path);
  if (is_api || is_runbook || WebPages::has(request.path)) {
    if (request.method == "GET") {
      if (is_runbook) return RunbookPages::respond(request);
      return is_api ? api_.respond(request) : web_.respond(request);
    }
    return not_allowed("GET, HEAD");
  }
  static constexpr std::array kRoutes{
      Route{"/metrics", "GET", &Pages::metrics},  Route{kPerCpuPath, "GET", &Pages::metrics},
      Route{"/plain", "GET", &Pages::plain_page}, Route{"/-/healthy", "GET", &Pages::healthy},
      Route{"/-/ready", "GET", &Pages::ready},    Route{"/-/reload", "POST", &Pages::reload},
  };
  for (const Route& route : kRoutes) {
    if (request.path != route.path) continue;
    if (request.method != route.method) return not_allowed(route.method == "GET" ? "GET, HEAD" : "POST");
    return (this->*route.page)(request);
  }
  return plain(404,
               "Not found. The pages are /, /plain, /metrics, /metrics/percpu, /api/v1/types, /runbooks/, /-/healthy and "
               "/-/ready.\n");
}

}  // namespace memstat
