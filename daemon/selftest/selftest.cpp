// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/selftest/selftest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/collect/view_table.h"
#include "core/kernel/open_view.h"
#include "core/model/partial_view.h"
#include "core/query.h"
#include "daemon/selftest/installation.h"

namespace memstat {

namespace {

constexpr std::chrono::seconds kPatience{10};

constexpr const char* kRefusedToRoot =
    "root may not read it here either: a container, a security module or kernel lockdown forbids it; start "
    "memstatd outside of the container, or allow it there";

/// The state of one trial, shared with its thread, which may hang in the kernel forever.
struct Attempt {
  Attempt(std::shared_ptr<KernelView> shown, const SourceDescriptor& source) : view(std::move(shown)), reader(source) {}

  const std::shared_ptr<KernelView> view;
  SourceReader reader;  // belongs to the thread until it is done
  Mutex mutex;
  CondVar changed;
  std::optional<Result<void>> outcome MEMSTAT_GUARDED_BY(mutex);
};

/// Whether the source reads nothing until a top-level configuration key selects what to read.
bool waits_for_key(const SourceDescriptor& source) {
  return std::any_of(source.options.begin(), source.options.end(),
                     [](const SourceOption& option) { return option.kind == SourceOption::Kind::kKey; });
}

/// Sets the key's default value, so that the trial shows whether the source would work.
void configure_as_usual(SourceReader& reader) {
  for (std::size_t i = 0; i < reader.descriptor->options.size(); ++i) {
    const SourceOption& option = reader.descriptor->options[i];
    if (option.kind == SourceOption::Kind::kKey) {
      reader.state->options[i].text = std::string("usual all ") + std::string(option.default_pattern);
    }
  }
}

Result<void> try_source(Attempt& attempt) {
  try {
    configure_as_usual(attempt.reader);
    if (auto opened = open_source(attempt.reader, *attempt.view); !opened) return opened;
    if (auto read = read_source(attempt.reader, *attempt.view); !read) return read;
    return parse_source(attempt.reader);
  } catch (const std::exception& exception) {
    return no_memory_error({}, exception.what());
  }
}

void run_attempt(const std::shared_ptr<Attempt>& kept) {
  Attempt& attempt = *kept;
  Result<void> outcome = try_source(attempt);
  const MutexLock lock(attempt.mutex);
  attempt.outcome = std::move(outcome);
  attempt.changed.notify_one();
}

SourceHealth health_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotPresent: return SourceHealth::kAbsent;
    case ErrorCode::kPermission: return SourceHealth::kNoPermission;
    case ErrorCode::kTimeout: return SourceHealth::kStuck;
    default: return SourceHealth::kFails;
  }
}

/// "mode 0400, owner root" for an existing file.
std::string mode_of(const std::string& path) {
  struct stat status {};
  if (path.empty() || path[0] != '/' || ::stat(path.c_str(), &status) != 0) return {};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "mode %04o, owner %s", static_cast<unsigned>(status.st_mode & 07777U),
                status.st_uid == 0 ? "root" : std::to_string(status.st_uid).c_str());
  return text.data();
}

std::string advice_of(const SourceDescriptor& source, SourceHealth health, const Error& error, unsigned user) {
  switch (health) {
    case SourceHealth::kNoPermission:
    case SourceHealth::kNotPermitted: {
      if (user == 0) return kRefusedToRoot;
      const std::string mode = mode_of(error.path);
      return "run it as root" + (mode.empty() ? std::string() : " (" + error.path + ": " + mode + ")") +
             "; memstatd opens its files before it drops root";
    }
    case SourceHealth::kStuck: return "the kernel does not answer: type `dmesg`; memstatd continues without it";
    case SourceHealth::kFails:
      return "if it persists: type `memstatctl record --count 3 bug.tar.zst` and report it with this file";
    case SourceHealth::kAbsent: return std::string(source.notes);
    default: break;
  }
  return {};
}

/// The error without what other columns show. If the kernel lacks something, errno adds no information.
std::string reason_of(Error error) {
  error.source.clear();
  if (error.code == ErrorCode::kNotPresent && !error.detail.empty()) error.system_errno = 0;
  return to_string(error);
}

SourceTrial trial_of(const std::shared_ptr<KernelView>& view, const SourceDescriptor& source,
                     std::chrono::nanoseconds patience, unsigned user, const SelfTestProgress& progress) {
  SourceTrial trial{.source = std::string(source.name),
                    .origin = std::string(source.origin),
                    .is_on_by_default = source.is_on_by_default && !waits_for_key(source),
                    .health = SourceHealth::kStuck,
                    .max_files = source.max_files};
  if (progress) progress(source.name);
  const auto kept = std::make_shared<Attempt>(view, source);
  std::thread thread(run_attempt, kept);
  Attempt& attempt = *kept;
  const MutexLock lock(attempt.mutex);
  constexpr std::chrono::nanoseconds kStep = std::chrono::milliseconds(100);
  for (std::chrono::nanoseconds left = patience; left.count() > 0 && !attempt.outcome; left -= kStep) {
    attempt.changed.wait_for(attempt.mutex, std::min(kStep, left),
                             [&attempt]() MEMSTAT_REQUIRES(attempt.mutex) { return attempt.outcome.has_value(); });
    if (progress) progress(source.name);
  }
  // Abandoned only if the kernel blocks it, because a later fork requires a single thread.
  attempt.outcome ? thread.join() : thread.detach();
  Error error{.code = ErrorCode::kTimeout};
  if (!attempt.outcome) {
    error.detail = "no answer within " + std::to_string(patience / std::chrono::seconds(1)) + " s";
  } else if (*attempt.outcome) {
    trial.health = SourceHealth::kWorks;
    trial.types = attempt.reader.staging.types().size();
    return trial;
  } else {
    error = attempt.outcome->error();
    trial.health = health_of(error.code);
  }
  if (trial.health == SourceHealth::kNoPermission) trial.needs = source.needs;
  trial.reason = reason_of(error);
  trial.advice = advice_of(source, trial.health, error, user);
  return trial;
}

/// Whether the source only adds values, or replaces a roster that works.
bool is_optional(const SourceDescriptor& source, std::span<const SourceTrial> trials) {
  return !source.is_roster && !source.needs.empty() &&
         (source.replaces.empty() || std::any_of(trials.begin(), trials.end(), [&source](const SourceTrial& trial) {
            return trial.source == source.replaces && trial.health == SourceHealth::kWorks;
          }));
}

/// The first of the source's places, and the number of others.
std::string shortened_origin(std::string_view origin) {
  const auto more = std::count(origin.begin(), origin.end(), ',');
  std::string text(origin.substr(0, origin.find(',')));
  if (more != 0) text += " and " + std::to_string(more) + " more";
  return text;
}

/// The descriptor limit, for the column FILES.
std::string files_text(std::size_t max_files) {
  return max_files == SourceDescriptor::kFilesVary ? "varies" : std::to_string(max_files);
}

std::string in_columns(std::string_view text, std::size_t width) {
  std::string cell(text);
  cell.resize(std::max(width, cell.size()), ' ');
  return cell;
}

}  // namespace

std::string_view to_string(SourceHealth health) {
  switch (health) {
    case SourceHealth::kWorks: return "works";
    case SourceHealth::kAbsent: return "absent";
    case SourceHealth::kNoPermission: return "no permission";
    case SourceHealth::kNotPermitted: return "not permitted";
    case SourceHealth::kFails: return "fails";
    case SourceHealth::kStuck: return "stuck";
    case SourceHealth::kOff: return "off";
    case SourceHealth::kReplaced: return "replaced";
    case SourceHealth::kUnread: return "not read yet";
  }
  return "";
}

bool SourceTrial::is_failure() const {
  return is_on_by_default &&
         (health == SourceHealth::kNoPermission || health == SourceHealth::kFails || health == SourceHealth::kStuck);
}

bool SelfTest::lacks_proc() const {
  return std::any_of(mounts.begin(), mounts.end(), [](const std::string& line) { return line.starts_with("proc "); });
}

bool SelfTest::is_healthy() const {
  return warning.empty() && !lacks_proc() &&
         std::none_of(trials.begin(), trials.end(), [](const SourceTrial& trial) { return trial.is_failure(); });
}

SelfTest run_selftest(const std::shared_ptr<KernelView>& view, std::span<const SourceDescriptor* const> sources,
                      std::chrono::nanoseconds patience, unsigned user, const SelfTestProgress& progress) {
  SelfTest test;
  test.kernel = std::string(to_string(view->os())) + " " + view->os_release();
  test.account = user == 0 ? "root"
                           : "user " + std::to_string(user) +
                                 ", not root: what only root may read shows as \"no permission\" or \"not permitted\"; run "
                                 "it as root as well to "
                                 "see what memstatd, which is started as root, can read";
  for (const SourceDescriptor* const source : sources) {
    if (source->os == view->os()) test.trials.push_back(trial_of(view, *source, patience, user, progress));
  }
  for (const SourceDescriptor* const source : sources) {
    for (SourceTrial& trial : test.trials) {
      const bool is_refused = trial.source == source->name && trial.health == SourceHealth::kNoPermission;
      if (is_refused && is_optional(*source, test.trials)) trial.health = SourceHealth::kNotPermitted;
    }
  }
  test.mounts = missing_mounts(*view, sources);
  return test;
}

namespace {

constexpr std::string_view kDropIns = "/etc/systemd/system/memstatd.service.d/";

/// The directory of this installation, below any prefix, that has examples for the service.
std::string examples_directory() {
  constexpr std::string_view kExamples = "share/doc/memstatd/examples";
  std::error_code error;
  const std::string own = installed_path(kExamples);
  return std::filesystem::is_directory(own, error) ? own : "/usr/" + std::string(kExamples);
}

/// A command line in backticks, complete as typed by root: the directory, the command that writes the drop-in, and a
/// restart.
std::string drop_in_command(const std::string& write) {
  return "type as root `mkdir -p " + std::string(kDropIns) + " && " + write +
         " && systemctl daemon-reload && systemctl restart memstatd`";
}

std::string copy_of_example(std::string_view name) {
  return drop_in_command("cp " + examples_directory() + "/" + std::string(name) + " " + std::string(kDropIns));
}

/// A drop-in that adds these capabilities, which are separated by blanks.
std::string grant_of(const std::string& capabilities) {
  return drop_in_command("printf '[Service]\\nAmbientCapabilities=" + capabilities + "\\nCapabilityBoundingSet=" +
                         capabilities + "\\n' >" + std::string(kDropIns) + "capabilities.conf");
}

/// Whether the text has names of capabilities only. Anything else from a daemon never becomes a part of a command.
bool names_capabilities(std::string_view needs) {
  return needs.starts_with("CAP_") &&
         needs.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,") == std::string_view::npos;
}

}  // namespace

std::string service_advice(std::string_view needs, std::string_view opened_as) {
  if (opened_as.starts_with("root with all")) return kRefusedToRoot;
  if (needs.empty()) needs = "CAP_DAC_READ_SEARCH";
  if (needs == "group:systemd-journal") return "it needs this group: " + copy_of_example("journal.conf");
  if (!names_capabilities(needs)) return "start memstatd as root: it opens the kernel's files before it drops root";
  std::string names(needs);
  std::replace(names.begin(), names.end(), ',', ' ');
  std::string how;
  if (needs.find("CAP_BPF") != std::string_view::npos) {
    how = "it needs " + std::string(needs) + " when it starts: " + copy_of_example("events.conf");
  } else if (needs == "CAP_SYSLOG") {
    how = "it needs CAP_SYSLOG and /dev/kmsg when it starts: " + copy_of_example("kernel-log.conf");
  } else {
    how = "it needs " + names + " when it starts: " + grant_of(names);
  }
  return how + "; in a container: --cap-add; or start it as root";
}

namespace {

/// The header: the kernel, and the account that reads it.
std::string head_of(const SelfTest& test) {
  std::string text;
  if (!test.url.empty()) {
    text = "The memstatd at " + test.url + ", version " + test.version +
           ", as it runs (--from live: what this process may read)\n";
  }
  return text + "kernel: " + test.kernel + "\naccount: " + test.account + "\n\n";
}

/// Each advice once, for all sources that share it.
std::string advice_text(const SelfTest& test) {
  std::vector<std::pair<std::string, std::string>> advice;  // advice, and the sources it applies to
  for (const SourceTrial& trial : test.trials) {
    if (trial.health == SourceHealth::kAbsent || trial.advice.empty()) continue;
    const auto same =
        std::find_if(advice.begin(), advice.end(), [&trial](const auto& one) { return one.first == trial.advice; });
    if (same == advice.end()) {
      advice.emplace_back(trial.advice, trial.source);
    } else {
      same->second += ", " + trial.source;
    }
  }
  std::string text;
  for (const auto& [what, whom] : advice) text += "  " + whom + ": " + what + "\n";
  for (const std::string& line : test.mounts) text += "  " + line + "\n";
  if (!test.warning.empty()) text += "  warning: " + test.warning + "\n";
  return text;
}

}  // namespace

std::string selftest_text(const SelfTest& test) {
  constexpr std::size_t kHealthWidth = 15;
  constexpr std::size_t kTypesWidth = 7;
  constexpr std::size_t kFilesWidth = 8;
  std::size_t name_width = std::string_view("SOURCE").size();
  for (const SourceTrial& trial : test.trials) name_width = std::max(name_width, trial.source.size());
  std::string text = head_of(test) + in_columns("SOURCE", name_width + 2) + in_columns("STATE", kHealthWidth) +
                     in_columns("TYPES", kTypesWidth) + in_columns("FILES", kFilesWidth) + "WHERE, OR WHY NOT\n";
  for (const SourceTrial& trial : test.trials) {
    const bool works = trial.health == SourceHealth::kWorks;
    text += in_columns(trial.source, name_width + 2) + in_columns(to_string(trial.health), kHealthWidth) +
            in_columns(works ? std::to_string(trial.types) : "-", kTypesWidth) +
            in_columns(files_text(trial.max_files), kFilesWidth);
    if (!trial.needs.empty()) text += "needs " + trial.needs + ": ";
    text += works || trial.reason.empty() ? shortened_origin(trial.origin) : trial.reason;
    text += trial.is_on_by_default ? "\n" : " (off unless the configuration switches it on)\n";
  }
  if (const std::string advice = advice_text(test); !advice.empty()) text += "\nWhat to do:\n" + advice;
  bool has_failed = false;
  bool has_refused = false;
  bool has_off = false;
  bool has_bad_extra = false;
  for (const SourceTrial& trial : test.trials) {
    const bool is_bad = trial.health == SourceHealth::kFails || trial.health == SourceHealth::kStuck;
    has_failed |= trial.is_failure();
    has_refused |= trial.is_on_by_default && trial.health == SourceHealth::kNotPermitted;
    has_off |= trial.health == SourceHealth::kOff;
    has_bad_extra |= !trial.is_on_by_default && is_bad;
  }
  if (test.lacks_proc()) return text + "\nWithout /proc, most sources of this kernel cannot be read.\n";
  if (has_failed) return text + "\nSome of the sources that this kernel has do not work.\n";
  if (has_bad_extra) return text + "\nEvery source that is on by default works; of those that are off, some do not.\n";
  return text + "\nEvery source that this kernel has works" +
         (has_refused ? " or is not permitted but not needed for any type" : "") +
         (has_off ? ", except those that are off" : "") + ".\n";
}

Result<SelfTest> test_this_machine(const SelfTestProgress& progress) {
  auto opened = open_view(std::string(kLiveReference));
  if (!opened) return std::move(opened.error());
  return run_selftest(std::shared_ptr<KernelView>(std::move(opened->view)), all_sources(), kPatience, ::geteuid(), progress);
}

namespace {

/// "sysfs is not mounted at /sys, where figures of ... are; to get them, ..."
std::string line_of(const std::string& lack, const std::string& remedy) {
  return lack + " are; to get them, type as root " + remedy;
}

template <typename Reads>
std::string figures_of(std::span<const SourceDescriptor* const> sources, Reads reads) {
  std::vector<std::string_view> names;
  for (const SourceDescriptor* const source : sources) {
    if (source->os == OperatingSystem::kLinux && reads(*source)) names.push_back(source->name);
  }
  return "figures of " + join_words(names, " and ");
}

}  // namespace

std::string missing_proc(KernelView& view) {
  if (view.os() != OperatingSystem::kLinux) return {};
  auto is_absent = [&view, content = Buffer()](const char* path) mutable {
    const Result<void> read = view.read_file(path, content);
    return !read && read.error().code == ErrorCode::kNotPresent;
  };
  if (!is_absent("/proc/sys/kernel/ostype")) return {};
  constexpr const char* kMountProc = "`mount -t proc proc /proc`";
  if (is_absent("/proc/self/stat")) return line_of("proc is not mounted at /proc, where most figures", kMountProc);
  if (is_absent("/proc/meminfo")) {
    return line_of("proc at /proc shows processes only (its option subset=pid), and not the files where most figures",
                   kMountProc);
  }
  return line_of("/proc/sys is missing or hidden, where limits of the kernel", kMountProc);
}

std::string missing_sysfs(KernelView& view, std::span<const SourceDescriptor* const> sources) {
  if (view.os() != OperatingSystem::kLinux) return {};
  std::vector<std::string> names;
  const Result<void> sysfs = view.list_directory("/sys/kernel", names);
  if (sysfs || sysfs.error().code != ErrorCode::kNotPresent) return {};
  const auto reads = [](const SourceDescriptor& source) { return source.origin.find("/sys/") != std::string_view::npos; };
  return line_of("sysfs is not mounted at /sys, where " + figures_of(sources, reads), "`mount -t sysfs sysfs /sys`");
}

std::vector<std::string> missing_mounts(KernelView& view, std::span<const SourceDescriptor* const> sources) {
  if (view.os() != OperatingSystem::kLinux) return {};
  std::vector<std::string> lines;
  if (std::string proc = missing_proc(view); !proc.empty()) lines.push_back(std::move(proc));
  std::vector<std::string> of_sysfs;
  std::vector<std::string> of_debugfs;
  if (std::string sysfs = missing_sysfs(view, sources); !sysfs.empty()) {
    lines.push_back(std::move(sysfs));
  } else if (view.list_directory("/sys/kernel", of_sysfs) && view.list_directory("/sys/kernel/debug", of_debugfs) &&
             of_debugfs.empty()) {
    // If the kernel has debugfs, sysfs has this directory as its mount point.
    lines.push_back(line_of("debugfs is not mounted at /sys/kernel/debug, where " + figures_of(sources, reads_debugfs),
                            "`mount -t debugfs debugfs /sys/kernel/debug`"));
  }
  PartialView seen;
  for (const std::string& reason : view_reasons(view)) seen.add(reason);
  if (!seen.is_whole()) lines.push_back("not all of the machine is visible: " + seen.words_and_permit());
  return lines;
}

}  // namespace memstat
