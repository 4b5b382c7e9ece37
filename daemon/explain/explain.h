// SPDX-License-Identifier: BSD-2-Clause
// What a word of this field means: a metric, a figure, an alert, a source or a memory type; where the kernel counts it, and
// what to do when it grows. Of the metric catalogue, the sources' descriptors, the runbooks and the table of known types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memstat {

/// One thing that the word names. Thread safety: a plain value.
struct Explanation {
  std::string kind;  ///< "allocator", "metric", "value", "alert", "cause", "source", "type" or "column".
  std::string name;
  std::string what;                ///< What it is, in a sentence or two; of an alert its section of the runbooks.
  std::vector<std::string> where;  ///< Where the kernel counts it, a source each; empty for alerts.
  std::string growth;              ///< What to do when it grows; "" when there is nothing to say.
};

/// Everything that the word names: metrics with or without "memstat_", alerts, figures as --list-sources has them
/// ("held_bytes"), sources, types ("dentry", "slab/dentry"), allocators ("slab", or "allocator" for all of them) and columns
/// of memstatctl by key or title ("USED"). Capitals count, except of alerts. Empty: unknown.
std::vector<Explanation> explain(std::string_view word);

/// Every word that explain() knows, for suggestions. Types whose names are patterns are not among them.
std::vector<std::string> explained_words();

}  // namespace memstat
