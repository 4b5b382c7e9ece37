// SPDX-License-Identifier: BSD-2-Clause
// The runbooks as pages: what an alert means and what to run next, available on the host itself without the internet.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/server.h"

namespace memstat {

/// Serves /runbooks/ALERT, ignoring case, /runbooks/CAUSE, and a list at /runbooks/. Browsers get HTML, others (curl) the
/// text of dashboards/runbooks.md.
class RunbookPages {
 public:
  [[nodiscard]] static bool has(std::string_view path);
  /// Requires has(path), and the method GET.
  [[nodiscard]] static HttpResponse respond(const HttpRequest& request);
};

/// Converts a section to HTML. Supports the Markdown used in dashboards/runbooks.md: paragraphs, lists of two levels, blocks
/// of commands, `code`, *emphasis* and [links](#alert). Links to other sections lead to their pages; links to files become
/// plain text.
std::string runbook_html(std::string_view section);

}  // namespace memstat
