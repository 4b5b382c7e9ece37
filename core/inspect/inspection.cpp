// SPDX-License-Identifier: BSD-2-Clause
#include "core/inspect/inspection.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/collect/view_table.h"
#include "core/inspect/owners.h"

namespace memstat {
namespace {

constexpr std::string_view kHead = "memstat who 1";
/// Texts chosen by others are truncated, so that answers have bounded size.
constexpr std::size_t kMaxText = 1024;
constexpr std::string_view kLacks = "lacks ";

bool is_larger(const Holder& a, const Holder& b) {
  return std::tuple(b.bytes.value_or(0), b.count.value_or(0), a.pid, std::string_view(a.name)) <
         std::tuple(a.bytes.value_or(0), a.count.value_or(0), b.pid, std::string_view(b.name));
}

void make_labels(Holder& holder) {
  for (std::string* const text : {&holder.command, &holder.user, &holder.group, &holder.name}) {
    *text = make_label_text(std::string_view(*text).substr(0, kMaxText));
  }
}

/// Sorts holders, largest first, and keeps at most kMaxHolders. A whole answer has seen everything, although some of it came
/// and went meanwhile. If more was seen than there should be, the total counts something else.
void finish(InspectionAnswer& answer) {
  if (answer.total && !answer.is_partial()) answer.total = answer.seen;
  if (answer.total && answer.seen.value_or(0) > *answer.total) answer.total.reset();
  std::vector<Holder>& all = answer.holders;
  const std::size_t kept = std::min(all.size(), kMaxHolders);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), is_larger);
  answer.unlisted = all.size() - kept;
  all.resize(kept);
}

class AnswerTable final : public TextTableSource {
 public:
  AnswerTable(KernelView& machine, const Inspection& inspection, const InspectionBounds& bounds)
      : machine_(machine), inspection_(inspection), bounds_(bounds) {}

  Result<void> open() override { return {}; }
  Result<void> read(Buffer& out) override {
    auto answer = inspect(machine_, inspection_, bounds_);
    if (!answer) return answer.error();
    out.assign(write_answer(*answer));
    return {};
  }

 private:
  KernelView& machine_;
  const Inspection& inspection_;
  const InspectionBounds& bounds_;
};

std::string number_or_nothing(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : ""; }

/// Removes the next field from a line.
std::string_view next_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\t'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return field;
}

bool read_number(std::string_view text, std::optional<std::uint64_t>& number) {
  number = parse_u64(text);
  return text.empty() || number;
}

bool read_holder(std::string_view line, Holder& holder) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs != 6 && tabs != 7) return false;
  std::optional<std::uint64_t> pid;
  if (!read_number(next_field(line), pid)) return false;
  holder.pid = pid.value_or(0);
  for (std::string* const text : {&holder.command, &holder.user, &holder.group, &holder.name}) {
    const std::string_view field = next_field(line);
    if (field.size() > kMaxText * kMaxLabelBytes) return false;
    *text = make_label_text(field);
  }
  return read_number(next_field(line), holder.count) && read_number(next_field(line), holder.bytes) &&
         read_number(line, holder.limit);
}

/// Parses " seen 7995 total 8400", each of which may be absent. Ignores facts of later versions.
bool read_share(std::string_view line, InspectionAnswer& answer) {
  std::string_view key;
  std::string_view word;
  while (next_word(line, key)) {
    if (!next_word(line, word)) return false;
    const auto number = parse_u64(word);
    if (!number) return false;
    if (key == "seen") answer.seen = number;
    if (key == "total") answer.total = number;
  }
  return true;
}

/// Parses "asked_ns 1 looked_at 2 refused 0 unlisted 0 is_cut 0", in this order, and read_share().
bool read_facts(std::string_view line, InspectionAnswer& answer) {
  constexpr std::array<std::string_view, 5> kKeys = {"asked_ns", "looked_at", "refused", "unlisted", "is_cut"};
  std::array<std::uint64_t, kKeys.size()> values{};
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    std::string_view key;
    std::string_view word;
    if (!next_word(line, key) || key != kKeys[i] || !next_word(line, word)) return false;
    const auto number = parse_u64(word);
    if (!number) return false;
    values[i] = *number;
  }
  if (values[0] > INT64_MAX) return false;
  answer.asked_ns = static_cast<std::int64_t>(values[0]);
  answer.looked_at = values[1];
  answer.refused = values[2];
  answer.unlisted = values[3];
  answer.is_cut = values[4] != 0;
  return read_share(line, answer);
}

}  // namespace

void describe(const Inspection& inspection, InspectionAnswer& answer) {
  answer.question = inspection.name;
  answer.kind = inspection.kind;
  answer.things = inspection.things;
  answer.parts = inspection.parts;
  answer.needs = inspection.needs;
}

Inspector::Inspector(KernelView& view, const InspectionBounds& bounds)
    : view_(view),
      bounds_(bounds),
      begin_ns_(view.clock().monotonic_ns()),
      begin_cpu_ns_(view.clock().thread_cpu_ns()),
      limit_{.cpu_ns = bounds.max_cpu_ns, .wall_ns = bounds.max_wall_ns, .objects = bounds.max_objects} {
  answer_.asked_ns = view.clock().realtime_ns();
}

Inspector::Used Inspector::used() {
  last_ = {.cpu_ns = view_.clock().thread_cpu_ns() - begin_cpu_ns_,
           .wall_ns = view_.clock().monotonic_ns() - begin_ns_,
           .objects = answer_.looked_at};
  return last_;
}

/// The thread computes no faster than the wall clock runs, so its own clock, which takes a system call, is read only once it
/// could have used up the rest.
bool Inspector::has_time() {
  const std::int64_t wall_ns = view_.clock().monotonic_ns() - begin_ns_;
  if (wall_ns >= limit_.wall_ns) return false;
  return last_.cpu_ns + (wall_ns - last_.wall_ns) < limit_.cpu_ns || used().cpu_ns < limit_.cpu_ns;
}

bool Inspector::take() {
  if (has_time()) return take_read();
  answer_.is_cut = true;
  return false;
}

HalfOfTheRest::HalfOfTheRest(Inspector& inspector) : inspector_(inspector), limit_(inspector.limit_) {
  const auto halfway = [](auto used, auto limit) { return used < limit ? used + (limit - used) / 2 : limit; };
  const Inspector::Used used = inspector.used();
  inspector.limit_ = {.cpu_ns = halfway(used.cpu_ns, limit_.cpu_ns),
                      .wall_ns = limit_.wall_ns,
                      .objects = halfway(used.objects, limit_.objects)};
}

void Inspector::begin_seeing(std::optional<std::uint64_t> total) {
  answer_.seen = 0;
  answer_.total = total;
}

bool Inspector::take_read() {
  if (answer_.looked_at >= limit_.objects) {
    answer_.is_cut = true;
    return false;
  }
  ++answer_.looked_at;
  if (bounds_.on_object) bounds_.on_object(answer_);
  return true;
}

std::string_view Inspector::read(std::string_view path) {
  return view_.read_file(path, bytes_) ? bytes_.view() : std::string_view();
}

Holder& Inspector::add(Holder holder) { return answer_.holders.emplace_back(std::move(holder)); }

const Inspection* find_inspection(std::string_view name, OperatingSystem os) {
  for (const Inspection* const inspection : all_inspections()) {
    if (inspection->name == name && inspection->os == os) return inspection;
  }
  return nullptr;
}

std::vector<std::string> question_names() {
  std::set<std::string> names;
  for (const Inspection* const inspection : all_inspections()) names.emplace(inspection->name);
  return {names.begin(), names.end()};
}

std::string table_name(const Inspection& inspection) {
  std::string name = "who_" + std::string(inspection.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Result<InspectionAnswer> inspect(KernelView& view, const Inspection& inspection, const InspectionBounds& bounds) {
  Inspector inspector(view, bounds);
  if (auto looked = inspection.look(inspector); !looked) return looked.error();
  InspectionAnswer answer = std::move(inspector.answer());
  describe(inspection, answer);
  for (const std::string& reason : view_reasons(view)) answer.view.add(reason);
  answer.view = answer.view.of(inspection.sees);
  finish(answer);
  name_owners(view, answer.holders);
  for (Holder& holder : answer.holders) make_labels(holder);
  return answer;
}

Result<InspectionAnswer> answer_of(KernelView& view, const Inspection& inspection, KernelView* machine,
                                   const InspectionBounds& bounds) {
  AnswerTable table(machine == nullptr ? view : *machine, inspection, bounds);
  const std::string name = table_name(inspection);
  Buffer text;
  if (auto read = view.read_table(name, table, text); !read) {
    const bool has_files = inspection.reads_polled_files && read.error().code == ErrorCode::kNotPresent;
    return has_files ? inspect(view, inspection, bounds) : Result<InspectionAnswer>(read.error());
  }
  InspectionAnswer answer;
  describe(inspection, answer);
  if (auto parsed = read_answer(text.view(), answer); !parsed) {
    parsed.error().path = name;
    return parsed.error();
  }
  return answer;
}

void remove_known(InspectionAnswer& answer, const InspectionAnswer& first) {
  std::erase_if(answer.holders, [&](const Holder& holder) {
    return std::any_of(first.holders.begin(), first.holders.end(),
                       [&](const Holder& one) { return one.name == holder.name; });
  });
}

std::string write_answer(const InspectionAnswer& answer) {
  std::string text = std::string(kHead) + "\nasked_ns " + std::to_string(answer.asked_ns) + " looked_at " +
                     std::to_string(answer.looked_at) + " refused " + std::to_string(answer.refused) + " unlisted " +
                     std::to_string(answer.unlisted) + " is_cut " + (answer.is_cut ? "1" : "0");
  if (answer.seen) text += " seen " + std::to_string(*answer.seen);
  if (answer.total) text += " total " + std::to_string(*answer.total);
  text += '\n';
  if (!answer.view.is_whole()) text += std::string(kLacks) + answer.view.names() + "\n";
  for (const Holder& holder : answer.holders) {
    text += holder.pid == 0 ? "" : std::to_string(holder.pid);
    for (const std::string* const one : {&holder.command, &holder.user, &holder.group, &holder.name}) text += '\t' + *one;
    text += '\t' + number_or_nothing(holder.count) + '\t' + number_or_nothing(holder.bytes);
    text += holder.limit ? '\t' + std::to_string(*holder.limit) + '\n' : "\n";
  }
  return text + "end " + std::to_string(answer.holders.size()) + "\n";
}

Result<void> read_answer(std::string_view text, InspectionAnswer& answer) {
  answer.holders.clear();
  answer.view = {};
  std::string_view rest = text;
  std::string_view line;
  const auto wrong = [&](std::string_view what) { return data_error("who", text.size() - rest.size(), what); };
  if (!next_line(rest, line) || line != kHead) return wrong("expected \"memstat who 1\"");
  if (!next_line(rest, line) || !read_facts(line, answer))
    return wrong("expected asked_ns, looked_at, refused, unlisted and is_cut with their numbers");
  bool is_first = true;
  while (next_line(rest, line)) {
    if (std::exchange(is_first, false) && line.starts_with(kLacks)) {
      std::string_view reason;
      for (line.remove_prefix(kLacks.size()); next_word(line, reason);) answer.view.add(reason);
      continue;
    }
    if (line.starts_with("end ")) {
      const auto count = parse_u64(line.substr(4));
      if (count != answer.holders.size() || !rest.empty()) return wrong("expected the end with the number of lines");
      return {};
    }
    if (answer.holders.size() == kMaxHolders || !read_holder(line, answer.holders.emplace_back())) {
      return wrong("expected a holder with seven or eight fields");
    }
  }
  return wrong("the data ends early");
}

}  // namespace memstat
