// SPDX-License-Identifier: BSD-2-Clause
// Explains a term: a metric, a figure, an alert, a source or a memory type, where the kernel counts it, and what to do when
// it grows. Uses the metric catalogue, the sources' descriptors, the runbooks and the table of known types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// One meaning of the word.
struct Explanation {
  std::string kind;  ///< "allocator", "metric", "value", "alert", "cause", "source", "type" or "column".
  std::string name;
  std::string what;                     ///< A sentence or two; for an alert, its section of the runbooks.
  std::vector<std::string> where = {};  ///< Its origins in the kernel, one entry per source; empty for alerts.
  std::string growth = {};              ///< Advice for when it grows; "" for none.
};

/// All meanings of the word: metrics with or without "memstat_", alerts, figures as in --list-sources ("held_bytes"),
/// sources, types ("dentry", "slab/dentry"), allocators ("slab", or "allocator" for all of them) and columns of memstatctl
/// by key or title ("USED"). Case-sensitive except for alerts. Empty: unknown.
std::vector<Explanation> explain(std::string_view word);

/// All words that explain() accepts, for suggestions, except types with pattern names.
std::vector<std::string> explained_words();

}  // namespace memstat
