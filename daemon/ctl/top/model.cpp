// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/model.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/utf8.h"
#include "daemon/ctl/source/type_figures.h"

namespace memstat::ctl {
namespace {

std::uint64_t amount_of(const TypeRow& type) { return has(type, kBytesInUse) ? type.bytes : type.objects; }

}  // namespace

void TopModel::add(Sample sample, Heading heading) {
  heading_ = std::move(heading);
  if (sample.is_failed()) {  // keep the previous sample on the screen
    sample_.problem = std::move(sample.problem);
    return;
  }
  const bool is_later = sample.time_ns != sample_.time_ns || tracks_.empty();
  sample_ = std::move(sample);
  if (is_later) {
    std::map<TypeIdentity, Track> tracks;
    for (const TypeRow& type : sample_.types) {
      auto known = tracks_.extract(identity_of(type));
      Track& track = tracks[identity_of(type)];
      if (!known.empty()) track = std::move(known.mapped());
      if (track.is_new) track.first_failures = type.failures;
      track.is_new = false;
      track.failures = type.failures - std::min(type.failures, track.first_failures);
      track.amounts.push_back(amount_of(type));
      track.times_ns.push_back(sample_.time_ns);
      if (track.amounts.size() > kTrendSamples) track.amounts.pop_front();
      if (track.times_ns.size() > kGrowthSamples) track.times_ns.pop_front();
    }
    tracks_ = std::move(tracks);
  }
  arrange();
}

void TopModel::seed(const std::vector<AmountHistory>& histories) {
  for (std::size_t i = 0; i < std::min(histories.size(), sample_.types.size()); ++i) {
    Track& track = tracks_[identity_of(sample_.types[i])];
    std::deque<std::uint64_t> amounts;
    for (const auto& amount : histories[i]) {
      if (amount) amounts.push_back(*amount);
    }
    while (amounts.size() >= kTrendSamples) amounts.pop_front();
    track.amounts.insert(track.amounts.begin(), amounts.begin(), amounts.end());
    while (track.amounts.size() > kTrendSamples) track.amounts.pop_front();
  }
}

TopModel::Shown TopModel::shown_of(const TypeRow& type) const {
  Shown shown{
      .type = &type, .track = nullptr, .growth = type.growth, .used = nearest_limit(type).used, .look = LineStyle::kPlain};
  const auto track = tracks_.find(identity_of(type));
  if (track != tracks_.end()) {
    shown.track = &track->second;
    const auto& times = track->second.times_ns;
    if (!shown.growth && times.size() > 1 && times.back() > times.front() && has(type, kBytesInUse)) {
      const auto& amounts = track->second.amounts;
      const std::uint64_t before = amounts[amounts.size() - times.size()];
      shown.growth = (static_cast<double>(amounts.back()) - static_cast<double>(before)) /
                     (static_cast<double>(times.back() - times.front()) / 1e9);
    }
  }
  const bool fails_now = shown.track != nullptr && shown.track->failures != 0 && !type.fails_routinely;
  const bool has_failed = type.failures != 0 && !type.fails_routinely;
  if (fails_now || shown.used > kAtLimit) {
    shown.look = LineStyle::kCritical;
  } else if (has_failed || shown.used > kNear) {
    shown.look = LineStyle::kWarning;
  } else if (type.is_container) {
    shown.look = LineStyle::kContainer;
  }
  return shown;
}

bool TopModel::is_before(const Shown& a, const Shown& b) const {
  // Types that fail now or are near their limit come first, containers last, since they contain other types. Failures
  // from before the start do not count.
  const auto group = [](const Shown& one) {
    return one.look == LineStyle::kCritical ? 0 : one.used > kNear ? 1 : one.look == LineStyle::kContainer ? 3 : 2;
  };
  if (group(a) != group(b)) return group(a) < group(b);
  const auto weight = [this](const Shown& one) {
    constexpr double kUnknown = -1e300;
    const TypeRow& type = *one.type;
    switch (sort_) {
      case SortKey::kBytes: return has(type, kBytesInUse) ? static_cast<double>(type.bytes) : kUnknown;
      case SortKey::kHeld: return has(type, kBytesHeld) ? static_cast<double>(type.held) : kUnknown;
      case SortKey::kUse: return use_of(type).value_or(kUnknown);
      case SortKey::kSize: return has(type, kObjectSize) ? static_cast<double>(type.object_size) : kUnknown;
      case SortKey::kObjects: return has(type, kObjectsInUse) ? static_cast<double>(type.objects) : kUnknown;
      case SortKey::kGrowth: return one.growth.value_or(kUnknown);
      case SortKey::kFailureCount: return has(type, kFailures) ? static_cast<double>(type.failures) : kUnknown;
      case SortKey::kLimit: return one.used.value_or(kUnknown);
      case SortKey::kName: break;
    }
    return 0.0;
  };
  const double difference = weight(a) - weight(b);
  if (sort_ != SortKey::kName && difference != 0) return is_reversed_ ? difference < 0 : difference > 0;
  const auto name = [](const TypeRow& type) {
    return std::tie(type.name, type.allocator_number, type.allocator, type.host);
  };
  const bool is_backwards = sort_ == SortKey::kName && is_reversed_;
  return is_backwards ? name(*b.type) < name(*a.type) : name(*a.type) < name(*b.type);
}

/// Filters and sorts. The selection stays with its type, or moves to the first.
void TopModel::arrange() {
  shown_.clear();
  const auto is_wanted = [part = lower_case(filter_)](const std::string& name) {
    return lower_case(name).find(part) != std::string::npos;
  };
  for (const TypeRow& type : sample_.types) {
    if (!allocator_.empty() && type.allocator != allocator_) continue;
    if (!is_wanted(type.name) && !is_wanted(type.allocator) && !is_wanted(type.host) &&
        std::none_of(type.also.begin(), type.also.end(), is_wanted)) {
      continue;
    }
    const Shown shown = shown_of(type);
    if (is_alarming_only_ && shown.look != LineStyle::kCritical && shown.look != LineStyle::kWarning) continue;
    shown_.push_back(shown);
  }
  std::sort(shown_.begin(), shown_.end(), [this](const Shown& a, const Shown& b) { return is_before(a, b); });
  if (filter_.empty() && !is_alarming_only_) arrange_groups();
}

bool TopModel::is_folded(const TypeRow& group) const {
  const auto depth = static_cast<std::size_t>(std::count(group.name.begin(), group.name.end(), '/'));
  return (group.name != "/" && depth >= folded_from_) != toggled_.contains(identity_of(group));
}

/// Puts control groups below those above them, at the end, and hides those that are folded. Those that fail or are near a
/// limit stay where they are.
void TopModel::arrange_groups() {
  const auto is_in_tree = [](const Shown& one) {
    return one.type->allocator == "memcg" && one.type->name.starts_with('/') && one.look == LineStyle::kContainer;
  };
  const auto first = std::stable_partition(shown_.begin(), shown_.end(), [&](const Shown& one) { return !is_in_tree(one); });
  const std::vector<Shown> groups(first, shown_.end());
  shown_.erase(first, shown_.end());
  using Place = std::pair<std::string_view, std::string_view>;  // host and path
  std::set<Place> places;
  for (const Shown& one : groups) places.emplace(one.type->host, one.type->name);
  /// The nearest group above that is in the tree; "": none.
  const auto above = [&](const TypeRow& group) {
    for (std::string_view path = group.name; path.size() > 1;) {
      path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
      if (places.contains({group.host, path})) return path;
    }
    return std::string_view();
  };
  std::map<Place, std::vector<const Shown*>> below;  // in the order of the list
  for (const Shown& one : groups) below[{one.type->host, above(*one.type)}].push_back(&one);
  const auto count = [&](const auto& self, Place place) -> std::size_t {
    std::size_t sum = 0;
    if (const auto found = below.find(place); found != below.end()) {
      for (const Shown* one : found->second) sum += 1 + self(self, {place.first, one->type->name});
    }
    return sum;
  };
  const auto add = [&](const auto& self, Place place, std::size_t level) -> void {
    const auto found = below.find(place);
    if (found == below.end()) return;
    for (const Shown* one : found->second) {
      const Place own{place.first, one->type->name};
      Shown& added = shown_.emplace_back(*one);
      added.level = level;
      added.name_at = place.second.size() > 1 ? place.second.size() + 1 : 0;
      if (is_folded(*one->type)) {
        added.hidden = count(count, own);
      } else {
        self(self, own, level + 1);
      }
    }
  };
  std::set<std::string_view> hosts;
  for (const Shown& one : groups) hosts.insert(one.type->host);
  for (const std::string_view host : hosts) add(add, {host, {}}, 0);
}

/// Folds or unfolds the selected group. Folding one that has nothing to fold selects the group above it.
void TopModel::fold(bool folds) {
  if (shown_.empty()) return;
  const std::size_t at = selected_index();
  const Shown& one = shown_[at];
  const bool has_below = one.hidden != 0 || (at + 1 < shown_.size() && shown_[at + 1].level > one.level);
  if (has_below && is_folded(*one.type) != folds) {
    const TypeIdentity identity = identity_of(*one.type);
    selection_ = identity;
    if (!toggled_.erase(identity)) toggled_.insert(identity);
    arrange();
  } else if (folds && one.level > 0) {
    std::size_t up = at;
    while (up > 0 && shown_[up].level >= one.level) --up;
    move_to(up);
  }
}

/// Cycles through all allocators, each existing one, and back to all.
void TopModel::next_allocator() {
  std::map<int, std::string> known;
  for (const TypeRow& type : sample_.types) known.emplace(type.allocator_number, type.allocator);
  const auto here = std::find_if(known.begin(), known.end(), [this](const auto& one) { return one.second == allocator_; });
  const auto next = allocator_.empty() ? known.begin() : here == known.end() ? here : std::next(here);
  allocator_ = next == known.end() ? std::string() : next->second;
  selection_.reset();
  arrange();
}

TopAction TopModel::show_type(View view) {
  if (shown_.empty()) return TopAction::kNone;
  selection_ = identity_of(*selected());  // keep it selected wherever it moves
  splits_.reset();
  view_ = view;
  first_row_ = 0;
  return TopAction::kReadSplits;
}

std::size_t TopModel::selected_index() const {
  if (!selection_) return 0;
  const auto found =
      std::find_if(shown_.begin(), shown_.end(), [this](const Shown& one) { return identity_of(*one.type) == *selection_; });
  return found == shown_.end() ? 0 : static_cast<std::size_t>(found - shown_.begin());
}

const TypeRow* TopModel::selected() const { return shown_.empty() ? nullptr : shown_[selected_index()].type; }

void TopModel::move_to(std::size_t index) {
  if (shown_.empty()) return;
  // The first row selects a position, not a type: whatever is at the top stays selected until the cursor moves.
  const std::size_t last = shown_.size() - 1;
  if (index == 0) {
    selection_.reset();
  } else {
    selection_ = identity_of(*shown_[std::min(index, last)].type);
  }
}

TopAction TopModel::press_in_filter(const KeyPress& press) {
  switch (press.key) {
    case Key::kEnter: is_typing_ = false; break;
    case Key::kEscape:
      is_typing_ = false;
      filter_.clear();
      break;
    case Key::kBackspace:
      while (!filter_.empty()) {
        const bool is_rest = (static_cast<unsigned char>(filter_.back()) & 0xC0U) == 0x80U;
        filter_.pop_back();
        if (!is_rest) break;
      }
      break;
    case Key::kCharacter:
      if (filter_.size() < 64 && !press.character.empty() && !hidden_character(press.character)) filter_ += press.character;
      break;
    default: is_typing_ = false; return this->press(press);
  }
  first_row_ = 0;
  arrange();
  return TopAction::kNone;
}

TopAction TopModel::press(const KeyPress& press) {
  if (is_typing_) return press_in_filter(press);
  const bool is_list = view_ == View::kTypes;
  const auto scroll = [&](std::size_t index) {
    if (is_list) {
      move_to(index);
    } else {
      first_row_ = index;
    }
  };
  const std::size_t at = is_list ? selected_index() : first_row_;
  constexpr std::size_t kEnd = 1'000'000'000;
  switch (press.key) {
    case Key::kUp: scroll(at == 0 ? 0 : at - 1); return TopAction::kNone;
    case Key::kDown: scroll(at + 1); return TopAction::kNone;
    case Key::kLeft:
    case Key::kRight:
      if (is_list) fold(press.key == Key::kLeft);
      return TopAction::kNone;
    case Key::kPageUp: scroll(at < page_ ? 0 : at - page_); return TopAction::kNone;
    case Key::kPageDown: scroll(at + page_); return TopAction::kNone;
    case Key::kHome: scroll(0); return TopAction::kNone;
    case Key::kEnd: scroll(kEnd); return TopAction::kNone;
    case Key::kEnter: return is_list ? show_type(View::kType) : press_character('q');
    case Key::kEscape:
      if (!is_list) return press_character('q');
      filter_.clear();
      arrange();
      return TopAction::kNone;
    case Key::kBackspace: return TopAction::kNone;
    case Key::kCharacter: return press.character.size() == 1 ? press_character(press.character[0]) : TopAction::kNone;
  }
  return TopAction::kNone;
}

TopAction TopModel::press_character(char key) {
  if (view_ != View::kTypes) {
    const bool is_split = shows_splits();
    if (key == 'q' || (key == 'h' && !is_split)) {
      view_ = View::kTypes;
    } else if (is_split && (key == 'c' || key == 'n' || key == 't')) {
      view_ = key == 'c' ? View::kCpus : key == 'n' ? View::kNodes : View::kType;
    } else if (key == 'h' || key == '?') {
      view_ = View::kHelp;
    }
    first_row_ = 0;
    return TopAction::kNone;
  }
  constexpr std::string_view kSortKeys = "bmusogfln";  // by SortKey
  if (const std::size_t sort = kSortKeys.find(key); sort != std::string_view::npos) {
    sort_ = static_cast<SortKey>(sort);
    is_reversed_ = false;
    selection_.reset();
    arrange();
    return TopAction::kNone;
  }
  switch (key) {
    case 'q': return TopAction::kQuit;
    case 'r':
      is_reversed_ = !is_reversed_;
      arrange();
      return TopAction::kNone;
    case 'j': return press({.key = Key::kDown});
    case 'k': return press({.key = Key::kUp});
    case '/': is_typing_ = true; return TopAction::kNone;
    case 'h':
    case '?':
      view_ = View::kHelp;
      first_row_ = 0;
      return TopAction::kNone;
    case 'c': return show_type(View::kCpus);
    case 'a': next_allocator(); return TopAction::kNone;
    case '!':
      is_alarming_only_ = !is_alarming_only_;
      arrange();
      return TopAction::kNone;
    case 'p':
    case ' ': is_paused_ = !is_paused_; return TopAction::kNone;
    case '+': return TopAction::kSlower;
    case '-': return TopAction::kFaster;
    default: return TopAction::kNone;
  }
}

}  // namespace memstat::ctl
