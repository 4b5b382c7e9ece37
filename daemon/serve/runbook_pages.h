// SPDX-License-Identifier: BSD-2-Clause
// The runbooks, as pages: what an alert means and what to run next, on the host itself and without the internet.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/server.h"

namespace memstat {

/// Serves /runbooks/ALERT, in any case of letters, and the list of them at /runbooks/. Browsers get HTML, others (curl) the
/// text of dashboards/runbooks.md. Thread safety: a plain value.
class RunbookPages {
 public:
  [[nodiscard]] static bool has(std::string_view path);
  /// Requires has() of its path, and the method GET.
  [[nodiscard]] static HttpResponse respond(const HttpRequest& request);
};

/// HTML of one section: the Markdown that dashboards/runbooks.md keeps to, which is paragraphs, lists of two levels, blocks
/// of commands, `code`, *emphasis* and [links](#alert). Links to other sections lead to their pages; those to files lose
/// their target.
std::string runbook_html(std::string_view section);

}  // namespace memstat
