// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshot/filter.h"

#include <algorithm>

#include "config/values.h"
#include "daemon/snapshot/own_metrics.h"

namespace memstat {
namespace {

constexpr std::size_t kMaxListed = 40;
constexpr std::size_t kMaxTypoSize = 64;  // Too long to be a typo, and edit distance is expensive.

Error refused(const std::string& detail) { return make_error(ErrorCode::kData, {}, detail); }

/// "no type is called "x"; did you mean "y"? There are: a, b and 3 more".
Error unknown(std::string_view what, std::string_view word, std::span<const std::string_view> known,
              std::string_view advice = {}) {
  std::string detail = "no " + std::string(what) + " is called " + quoted(word);
  const std::string_view nearest = word.size() <= kMaxTypoSize ? nearest_word(word, known) : std::string_view();
  detail += nearest.empty() ? "; there are: " : "; did you mean " + quoted(nearest) + "? There are: ";
  const std::size_t shown = std::min(known.size(), kMaxListed);
  for (std::size_t i = 0; i < shown; ++i) detail += (i == 0 ? "" : ", ") + shortened(known[i]);
  if (shown == 0) detail += "none";
  if (shown < known.size()) detail += " and " + std::to_string(known.size() - shown) + " more";
  return refused(detail + std::string(advice));
}

/// The same for metrics; only the nearest are listed.
Error unknown_metric(std::string_view word, std::vector<std::string_view> known) {
  constexpr int kMaxNear = 5;
  const std::size_t count = known.size();
  std::string near;
  for (int i = 0; i < kMaxNear && word.size() <= kMaxTypoSize; ++i) {
    const std::string_view nearest = nearest_word(word, known);
    if (nearest.empty()) break;
    near += (i == 0 ? "" : ", ") + quoted(nearest);
    known.erase(std::find(known.begin(), known.end(), nearest));
  }
  std::string detail = "no metric is called " + quoted(word);
  if (!near.empty()) detail += "; did you mean " + near + "?";
  return refused(detail + (near.empty() ? "; there are " : " There are ") + std::to_string(count) +
                 ": memstatd --list-metrics prints all except those of memstatd itself, which are at the end of /metrics");
}

/// The words, escaped as in labels and sorted, each with its index in the request.
std::vector<std::pair<std::string, std::size_t>> escaped_words(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::size_t>> escaped(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    append_escaped_label_value(escaped[i].first, words[i]);
    escaped[i].second = i;
  }
  std::sort(escaped.begin(), escaped.end());
  return escaped;
}

}  // namespace

Result<void> PageFilter::choose_allocators(const Snapshot& snapshot, const std::vector<std::string>& words) {
  allocators_ = 0;
  std::vector<std::string_view> known;
  std::vector<std::uint32_t> bits;
  for (std::size_t i = 1; i < kAllocatorCount; ++i) {
    const std::uint32_t bit = 1U << i;
    if ((snapshot.allocators_of_system & bit) == 0) continue;
    known.push_back(to_string(static_cast<Allocator>(i)));
    bits.push_back(bit);
  }
  for (const std::string& word : words) {
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) return unknown("allocator", word, known);
    allocators_ |= bits[static_cast<std::size_t>(found - known.begin())];
  }
  return {};
}

Result<void> PageFilter::choose_types(const Snapshot& snapshot, const std::vector<std::string>& types) {
  has_types_ = !types.empty();
  const auto words = escaped_words(types);
  std::vector<std::uint8_t> is_listed(words.size(), 0);  // by index in the request
  std::vector<std::string_view> known;
  const char* const labels = snapshot.label_bytes().data();
  bool has_any = false;
  rows_.assign(snapshot.row_count(), 0);
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    const Snapshot::Row& entry = snapshot.rows()[row];
    if (!has_allocator(entry.allocator)) continue;
    has_any = true;
    if (has_types_) {
      const std::string_view type = entry.labels(labels).escaped_type();
      auto word = std::lower_bound(words.begin(), words.end(), type,
                                   [](const auto& candidate, std::string_view text) { return candidate.first < text; });
      if (word == words.end() || word->first != type) continue;
      for (; word != words.end() && word->first == type; ++word) is_listed[word->second] = 1;
    }
    rows_[row] = 1;
    ++row_count_;
    label_bytes_ += entry.label_size;
  }
  const auto absent = std::find(is_listed.begin(), is_listed.end(), 0);
  if (!has_any || absent == is_listed.end()) return {};
  for (const Snapshot::Row& entry : snapshot.rows()) {
    if (has_allocator(entry.allocator)) known.push_back(entry.labels(labels).escaped_type());
  }
  return unknown("listed type", types[static_cast<std::size_t>(absent - is_listed.begin())], known,
                 ". The keys filters, min_bytes and series_limit decide which types are listed");
}

Result<void> PageFilter::choose_names(const std::vector<std::string>& names) {
  has_names_ = true;
  const std::span<const MetricDescriptor> catalogue = metric_catalogue();
  metrics_.assign(catalogue.size(), 0);
  for (const std::string& word : names) {
    const auto metric =
        std::find_if(catalogue.begin(), catalogue.end(), [&](const MetricDescriptor& one) { return one.name == word; });
    if (metric != catalogue.end()) {
      metrics_[static_cast<std::size_t>(metric - catalogue.begin())] = 1;
    } else if (!help_of_own_metric(word).empty()) {
      own_names_.emplace_back(word);
    } else {
      std::vector<std::string_view> known;
      for (const MetricDescriptor& one : catalogue) known.push_back(one.name);
      for (const OwnMetric& one : own_metrics()) known.push_back(one.name);
      return unknown_metric(word, std::move(known));
    }
  }
  return {};
}

Result<PageFilter> PageFilter::make(const Snapshot& snapshot, const PageRequest& wanted) {
  PageFilter filter;
  if (!wanted.allocators.empty()) {
    if (auto chosen = filter.choose_allocators(snapshot, wanted.allocators); !chosen) return chosen.error();
  }
  if (auto chosen = filter.choose_types(snapshot, wanted.types); !chosen) return chosen.error();
  if (!wanted.names.empty()) {
    if (auto chosen = filter.choose_names(wanted.names); !chosen) return chosen.error();
  }
  return filter;
}

bool PageFilter::shows_own(std::string_view name) const {
  return !has_names_ || std::find(own_names_.begin(), own_names_.end(), name) != own_names_.end();
}

Result<void> check_per_cpu(const Snapshot& snapshot, const PageFilter* filter) {
  constexpr std::string_view kAdvice =
      " has per-CPU values; "
      "memstatd keeps them only for the types that the key per_cpu selects, "
      "such as per_cpu: {types: [\"mbuf.*\"]}, and where the kernel has them (malloc, uma)";
  bool has_any = false;
  for (std::size_t row = 0; row < snapshot.row_count(); ++row) {
    if (filter != nullptr && !filter->shows(row)) continue;
    const Snapshot::Row& entry = snapshot.rows()[row];
    if (entry.cpu_block != 0) {
      has_any = true;
    } else if (filter != nullptr && filter->has_types()) {
      const std::string_view type = entry.labels(snapshot.label_bytes().data()).escaped_type();
      return refused("not every requested type, such as " + quoted(type) + " of " + std::string(to_string(entry.allocator)) +
                     "," + std::string(kAdvice));
    }
  }
  if (!has_any) return refused("no requested type" + std::string(kAdvice));
  return {};
}

}  // namespace memstat
