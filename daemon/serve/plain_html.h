// SPDX-License-Identifier: BSD-2-Clause
// Pages without JavaScript.
#pragma once

#include <string>
#include <string_view>

namespace memstat {

/// The start of a page up to and including <body>. The page must end with "</body></html>".
inline constexpr std::string_view kPlainHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>memstatd</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: #8882; padding: .6rem .8rem; overflow-x: auto; } .down { color: #c33; font-weight: 600; } .quiet { opacity: .7; } code { font-size: .92em; }
nav a { margin-right: 1.2rem; } .name { white-space: nowrap; } summary { cursor: pointer; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; }
  .sources th { display: none; }
  .sources tr, .sources td { display: block; padding: 0; text-align: left; border: 0; }
  .sources tr { padding: .3rem 0; border-bottom: 1px solid #8884; }
  .sources .number::before { content: "types: "; }
}
</style></head><body>
)";

/// Text escaped for element content and quoted attributes.
inline std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace memstat
