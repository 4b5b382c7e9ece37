// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/text.h"
#include "core/diagnosis/growth.h"
#include "core/diagnosis/words.h"
#include "core/kernel/open_view.h"
#include "daemon/ctl/commands/named_type.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/ctl/source/incident_files.h"
#include "daemon/ctl/source/prometheus.h"
#include "daemon/exposition/answers.h"
#include "daemon/snapshot/active_findings.h"

namespace memstat::ctl {
namespace {

constexpr std::size_t kIndent = 9;

/// The urgency before a headline: "NOW", "6 h", "WASTE", "NOTE".
std::string urgency_of(const Finding& finding) {
  switch (finding.severity) {
    case Severity::kNow: return "NOW";
    case Severity::kSoon: return finding.seconds_left ? duration_words(*finding.seconds_left) : "SOON";
    case Severity::kWasteful: return "WASTE";
    case Severity::kNotable: break;
  }
  return "NOTE";
}

/// Adds indented lines; `text` is untrusted.
void add_lines(std::string& out, std::string_view text, std::size_t terminal, std::size_t most = kTextWidth) {
  out += wrapped(printable(text), std::string(kIndent, ' '), terminal, most);
}

/// Commands are not wrapped, so that they can be copied.
void add_command(std::string& out, std::string_view word, std::string_view command) {
  out.append(kIndent, ' ').append(word).append(printable(command)) += '\n';
}

std::size_t text_width(std::size_t terminal) { return terminal == 0 ? kTextWidth : std::min(terminal, kTextWidth); }

/// The headline, wrapped on a terminal that is narrower, and the certainty at its right.
void add_head(std::string& out, const std::string& head, const Finding& finding, std::size_t terminal) {
  const std::string_view certainty = to_string(finding.certainty);
  std::string lines;
  add_lines(lines, finding.headline, terminal, std::string::npos);
  lines.replace(0, std::min(kIndent, lines.size()), head);
  if (!lines.empty() && lines.back() == '\n') lines.pop_back();
  const std::size_t taken = width_of(std::string_view(lines).substr(lines.rfind('\n') + 1)) + 2 + certainty.size();
  if (terminal != 0 && taken > terminal) {
    lines += '\n' + to_right(certainty, text_width(terminal));
  } else {
    const std::size_t width = text_width(terminal);
    lines.append(taken > width ? 2 : 2 + width - taken, ' ').append(certainty);
  }
  out += lines + '\n';
}

void add_finding_text(std::string& out, std::size_t number, const Finding& finding, std::size_t terminal) {
  add_head(out, to_left(std::to_string(number) + ".", 3) + to_left(urgency_of(finding), kIndent - 3), finding, terminal);
  add_lines(out, separated(finding.facts, "; ", &Fact::text), terminal);
  const auto name_of = [&](const Finding::Who& one) {
    return one.kind == "process" && one.name == finding.killed ? "the victim" : one.kind + " " + one.name;
  };
  if (!finding.who.empty()) add_lines(out, "Who: " + separated(finding.who, ", ", name_of), terminal);
  add_lines(out, finding.effect, terminal);
  for (std::size_t i = 0; i < finding.next.size(); ++i) add_command(out, i == 0 ? "Next: " : "      ", finding.next[i]);
  add_command(out, finding.next.empty() ? "Next: " : "      ", "memstatctl explain " + finding.cause);
  if (finding.explains.empty()) return;
  add_lines(out, "This explains, too:", terminal);
  for (const std::string& symptom : finding.explains) add_lines(out, "  " + symptom, terminal);
}

std::string looked_at(const Diagnosis& diagnosis) {
  const std::size_t found = diagnosis.findings.size();
  if (diagnosis.polls == 0) {  // from a server, which has only findings
    return counted(static_cast<double>(found), "active finding") +
           " when the host was last scraped; memstatctl why on it, or by its URL, has the evidence";
  }
  return counted(static_cast<double>(diagnosis.ruled_out.size() + found), "cause") + " examined in " +
         counted(static_cast<double>(diagnosis.polls), "poll") +
         (diagnosis.polls > 1 ? " of " + duration_words(diagnosis.watched_seconds) : "") + ", " +
         memstat::count_text(static_cast<double>(diagnosis.not_checked.size())) + " could not be checked";
}

constexpr auto kWhyOptions = joined(
    std::array{
        kPatternsOption, kKernelOption, kFromServerOption, window_option("How long to watch a live kernel: 2s by default"),
        interval_option("Time between two reads of a live kernel: a second, or a sixtieth\nof the time that it is watched"),
        flag("--verbose",
             "Also list the causes that were ruled out, those that could not be checked, and\nthe queries to a server",
             set_verbose),
        valued("--incident", "N|FILE",
               "What was killed, failed or ran out then: its number in memstatctl incidents,\nor its file; of the memstatd "
               "or directory that --from names",
               store<&CommandLine::incident>),
        flag("--watch", "Continue until ^C, and print the findings again when they change",
             store<&CommandLine::is_followed>),
        kJsonOption},
    kServerOptions);

/// The input of the command.
struct Question {
  const CommandLine& options;
  ReportSource& source;
  double seconds = 0;                  ///< Time watched.
  std::vector<TypeRow> types = {};     ///< Of the last read.
  const Incident* incident = nullptr;  ///< Of which the source is the capture; nullptr: of none.
  std::string incident_from = {};      ///< Where others find its file.
};

/// Adds --from to the commands that read statistics, unless they are of this kernel: a report is read elsewhere, or later.
void name_source(const std::string& from, Findings& findings) {
  constexpr std::array<std::string_view, 4> kReaders{"show", "types", "limits", "events"};
  if (from.empty() || from == kLiveReference || is_prometheus(from)) return;
  for (Finding& finding : findings) {
    for (std::string& command : finding.next) {
      std::string_view rest = command;
      std::string_view word;
      if (!next_word(rest, word) || word != "memstatctl" || !next_word(rest, word)) continue;
      if (std::find(kReaders.begin(), kReaders.end(), word) != kReaders.end()) command += " --from " + shell_word(from);
    }
  }
}

bool is_type(std::span<const NamePattern> patterns, const std::string& allocator, const std::string& type) {
  return matches_any(patterns, type) || matches_any(patterns, allocator + "/" + type);
}

/// A note if no type and no cause has a name that matches; "" if one does.
std::string unknown_name(const Question& question, const Diagnosis& diagnosis) {
  const ReportView& view = question.options.view;
  const auto is_wanted = [&](std::string_view name) { return matches_any(view.patterns, name); };
  if (std::any_of(diagnosis.ruled_out.begin(), diagnosis.ruled_out.end(), is_wanted) ||
      std::any_of(diagnosis.not_checked.begin(), diagnosis.not_checked.end(),
                  [&](const NotChecked& one) { return is_wanted(one.cause); })) {
    return {};
  }
  ReportView only;
  only.patterns = view.patterns;
  return types_table(question.types).select(with_merged_names(only, question.types));
}

/// The incident that is told, of which only the log is known for one of the previous boot; nothing: none.
std::optional<ToldIncident> told_of(const Question& question) {
  if (question.incident == nullptr) return std::nullopt;
  const bool is_log_only = question.incident->cause == kPreviousBoot;
  return ToldIncident{*question.incident, is_log_only ? std::optional(question.source.events()) : std::nullopt};
}

/// The incident's own finding, although something else was more urgent in the polls that followed.
void put_first(const Incident& incident, Findings& findings) {
  const auto is_own = [&](const Finding& one) { return one.cause == incident.cause; };
  auto own = std::find_if(findings.begin(), findings.end(),
                          [&](const Finding& one) { return is_own(one) && object_of(one) == incident.object; });
  if (own == findings.end()) own = std::find_if(findings.begin(), findings.end(), is_own);
  if (own != findings.end()) std::rotate(findings.begin(), own, own + 1);
}

Report answer(const Question& question, Diagnosis& diagnosis) {
  Report report;
  const ReportView& view = question.options.view;
  const bool is_json = view.layout == Layout::kJson;
  select_findings(view.patterns, diagnosis.findings);
  report.status = exit_status_of(diagnosis.findings);
  if (question.incident != nullptr) {
    put_first(*question.incident, diagnosis.findings);
    for (Finding& finding : diagnosis.findings) {
      for (std::string& command : finding.next) command = command_at(std::move(command), question.incident->realtime_ns);
    }
  }
  // JSON is the same everywhere.
  if (!is_json)
    name_source(question.incident == nullptr ? question.options.from.value_or("") : question.incident_from,
                diagnosis.findings);
  if (is_json || view.patterns.empty() || !diagnosis.findings.empty()) {
    report.output = is_json ? why_json(diagnosis, view, told_of(question))
                            : why_text(diagnosis, question.options.is_verbose, view.width);
    return report;
  }
  const auto seconds = static_cast<std::int64_t>(std::ceil(std::max(question.seconds, 1.0)));
  const GrowthAnswer growth = question.source.growth(question.source.remembers() ? 7200 : seconds);
  if (report.problem = growth.problem; !report.problem.empty()) return report;
  report.output = growth_words(growth, view.patterns);
  if (const std::string note = unknown_name(question, diagnosis); !note.empty()) report.notes.push_back(note);
  return report;
}

/// Reads a capture or a memstatd once, a live kernel several times. Errors go to `report`.
double read_enough(const CommandLine& options, ReportSource& source, Report& report, std::vector<TypeRow>& types) {
  const auto take = [&](const Sample& sample) {
    if (!options.view.patterns.empty()) types = sample.types;
    report.notes = sample.notes;
    report.missing = sample.missing;
    report.problem = sample.is_failed() ? sample.problem : "";
    if (sample.is_failed() || sample.memory || source.poll_count() != 0 || source.remembers()) return;
    report.missing.emplace_back(
        "not in this answer: the machine's memory, which cannot be read here (is /proc mounted?), so most causes were not "
        "checked");
  };
  if (source.poll_count() != 0 || source.remembers()) {
    take(source.read());
    return 7200;
  }
  const std::int64_t window_ns = options.window_ns.value_or(2 * kOneSecond);
  const std::int64_t interval_ns = options.interval_ns.value_or(std::max(window_ns / 60, kOneSecond));
  PollWalk walk(source, {.interval_ns = interval_ns, .count = static_cast<std::uint64_t>(window_ns / interval_ns + 1)});
  while (walk.next()) take(walk.sample());
  if (report.problem.empty()) report.problem = walk.problem();
  return walk.seconds();
}

/// The causes that were not checked because the view is partial, in one line; "": none.
std::string unseen_of(const Diagnosis& diagnosis) {
  if (diagnosis.view.is_whole()) return {};
  return "not in this answer: causes that need all of the machine, not checked: " + diagnosis.view.words_and_permit();
}

/// A change of this key makes the findings print again.
std::string key_of(const Findings& findings) {
  std::string key;
  for (const Finding& finding : findings) {
    key += finding.cause + ' ' + std::string(to_string(finding.severity)) + '\n';
    for (const Finding::About& one : finding.about) key += one.allocator + '/' + one.type + '\n';
  }
  return key;
}

Report follow(const CommandLine& options, ReportSource& source) {
  PollWalk walk(source, {.first = first_poll_of(options.from),
                         .interval_ns = options.interval_ns.value_or(10 * kOneSecond),
                         .count = options.count});
  Report last;
  std::string key = "none yet";
  while (walk.next()) {
    FindingsAnswer found = source.findings();
    if (!found.problem.empty()) return {.problem = found.problem};
    Report now = answer({.options = options, .source = source, .seconds = walk.seconds(), .types = walk.sample().types},
                        found.diagnosis);
    last.status = now.status;
    const std::string before = std::exchange(key, key_of(found.diagnosis.findings));
    if (key == before) continue;
    const bool is_text = options.view.layout == Layout::kText;
    const std::string time = is_text ? time_text(walk.sample().time_ns, true) + "\n" : "";
    if (print(time + now.output) != kExitDone) return {.status = kExitFailed};
  }
  last.problem = walk.problem();
  return last;
}

/// The answer for what --from names, of `incident` if that is its capture, which others find at `incident_from`.
Report why_now(const CommandLine& options, const Incident* incident, const std::string& incident_from = {}) {
  const OpenedSource opened = open_source(options.from, options.server);
  if (opened.source == nullptr) return {.problem = opened.problem};
  if (options.is_followed) return follow(options, *opened.source);
  Report read;
  std::vector<TypeRow> types;
  const double seconds = read_enough(options, *opened.source, read, types);
  if (!read.problem.empty()) return read;
  FindingsAnswer found = opened.source->findings();
  if (!found.problem.empty()) return {.problem = found.problem};
  Report report = answer({options, *opened.source, seconds, std::move(types), incident, incident_from}, found.diagnosis);
  report.notes.insert(report.notes.begin(), read.notes.begin(), read.notes.end());
  report.missing = read.missing;
  if (std::string line = unseen_of(found.diagnosis); !line.empty()) report.missing.push_back(std::move(line));
  return report;
}

/// The same after the incident's story. Of the boot before there is nothing else.
Report why_of_incident(const CommandLine& options, const Incident& incident, const std::string& incident_from) {
  std::string story;
  const bool is_log_only = incident.cause == kPreviousBoot;
  if (options.view.layout == Layout::kText) {
    if (const OpenedSource opened = open_source(options.from); opened.source != nullptr)
      story = incident_story(incident, *opened.source, options.view.width);
  }
  Report report = is_log_only && !story.empty() ? Report() : why_now(options, &incident, incident_from);
  if (is_log_only) report.status = kExitNotable;
  report.output.insert(0, story);
  return report;
}

Report why_then(const CommandLine& options) {
  const IncidentCapture capture = find_incident(options.from, options.incident);
  if (!capture.problem.empty()) return {.problem = capture.problem};
  CommandLine question = options;
  question.incident.clear();
  question.from = capture.path;
  Report report = why_of_incident(question, capture.incident, capture.is_copy ? options.from.value_or("") : capture.path);
  if (capture.is_copy) std::remove(capture.path.c_str());
  return report;
}

/// The incident whose file --from names; nothing: it names something else.
std::optional<Incident> named_incident(const CommandLine& options) {
  if (!options.from || !is_incident_file(options.from->substr(options.from->rfind('/') + 1))) return std::nullopt;
  Incident incident = read_incident(*options.from);
  return incident.problem.empty() ? std::optional(std::move(incident)) : std::nullopt;
}

Report run_why(const CommandLine& options) {
  if (!options.incident.empty()) return why_then(options);
  if (const auto incident = named_incident(options)) return why_of_incident(options, *incident, *options.from);
  return why_now(options, nullptr);
}

}  // namespace

void select_findings(std::span<const NamePattern> patterns, Findings& findings) {
  if (patterns.empty()) return;
  std::erase_if(findings, [&](const Finding& finding) {
    return !matches_any(patterns, finding.cause) &&
           std::none_of(finding.about.begin(), finding.about.end(),
                        [&](const Finding::About& one) { return is_type(patterns, one.allocator, one.type); }) &&
           std::none_of(finding.who.begin(), finding.who.end(),
                        [&](const Finding::Who& one) { return matches_any(patterns, one.name); });
  });
}

std::string why_text(const Diagnosis& diagnosis, bool is_verbose, std::size_t width) {
  std::string out;
  std::size_t number = 0;
  for (const Finding& finding : diagnosis.findings) add_finding_text(out, ++number, finding, width);
  const std::string looked = looked_at(diagnosis);
  const bool is_blind = diagnosis.not_checked.size() > diagnosis.ruled_out.size();
  std::string_view nothing = is_blind ? "Nothing was found, but most could not be looked at: " : "Nothing is wrong: ";
  if (!is_blind && !diagnosis.view.is_whole()) nothing = "Nothing is wrong in the part that can be seen: ";
  const std::string which = is_verbose || diagnosis.not_checked.empty() ? "" : "; --verbose says why";
  out += wrapped(diagnosis.findings.empty() ? std::string(nothing) + looked + which + "." : "(" + looked + which + ")", "",
                 width);
  if (!is_verbose) return out;
  out += "Ruled out:\n";
  for (const std::string& cause : diagnosis.ruled_out) out += "  " + printable(cause) + "\n";
  out += "Not checked:\n";
  for (const NotChecked& one : diagnosis.not_checked) {
    out += fitted("  " + printable(one.cause) + ": " + printable(one.why) + "\n", width);
  }
  return out;
}

std::string why_json(const Diagnosis& diagnosis, const ReportView& view, const std::optional<ToldIncident>& told) {
  JsonWriter json("", view.is_compact);
  if (told) {
    json.open_object("incident");
    write_incident(json, told->incident);
    json.close();
    if (told->log) write_kernel_events(json, *told->log);
  }
  write_diagnosis(json, diagnosis);
  return json.finish();
}

std::string growth_words(const GrowthAnswer& answer, std::span<const NamePattern> patterns) {
  const std::string window = counted(static_cast<double>(answer.polls), "poll") + " in " + duration_words(answer.seconds);
  if (!answer.is_enough) {
    return "Nothing is wrong with it now. Whether it leaks is unknown after " + window + ": " + polls_to_go(answer) +
           " (--for 1m, or --from a memstatd).\n";
  }
  std::string out;
  for (const GrowthRow& row : answer.growing) {
    if (!is_type(patterns, row.allocator, row.name)) continue;
    out += printable(row.allocator + "/" + row.name) +
           " grows: " + amount_text(static_cast<double>(row.grew), row.is_bytes) + " in " + window +
           ", too little to be a finding. memstatctl leaks has more.\n";
  }
  for (const GrowthRow& row : answer.set_aside) {
    if (!is_type(patterns, row.allocator, row.name)) continue;
    out += printable(row.allocator + "/" + row.name) + " is not a leak: it grew by " +
           amount_text(static_cast<double>(row.grew), row.is_bytes) + " in " + window + ", but " + printable(row.why) +
           ".\n";
  }
  return out.empty() ? "Not a leak: nothing that matches grew in " + window + ".\n" : out;
}

int exit_status_of(const Findings& findings) {
  if (findings.empty()) return kExitDone;
  return findings.front().severity <= Severity::kSoon ? kExitUrgent : kExitNotable;
}

const Command kWhyCommand{"why",
                          Group::kLook,
                          "What is wrong and why: the cause, the evidence, and the next command",
                          "memstatctl why\n"
                          "memstatctl why --from http://127.0.0.1:8947 --verbose\n"
                          "memstatctl why dentry --from bug.tar.zst",
                          kWhyOptions,
                          run_why};

}  // namespace memstat::ctl
