// SPDX-License-Identifier: BSD-2-Clause
// The command line of memstatctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ctl/output/report_table.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}  // namespace CLI

namespace memstat::ctl {

struct Command;  // a row of the table in commands.h

/// As which release's tools reports look; the figures are the same in all.
enum class Format { kFreeBsd15, kFreeBsd13, kFreeBsd12, kFreeBsd10 };

/// What --json says for JSON on one line.
inline constexpr std::string_view kCompact = "compact";

inline constexpr std::int64_t kOneSecond = 1'000'000'000;

/// How long the command stacks watches unless it is told.
inline constexpr std::int64_t kStacksWindowNs = 60 * kOneSecond;

/// How many objects the command objects lists unless it is told, and how many lines origins.
inline constexpr std::uint64_t kListed = 100;

/// Of the command counters: what to count, and of whom.
struct CounterOptions {
  bool is_list = false;
  bool is_user_only = false;
  std::optional<int> cpu = {};
  std::optional<int> pid = {};
  std::vector<std::string> command = {};  ///< With its arguments.
  std::string events = {};                ///< Separated by commas; "": what memory costs.
};

/// Of the command stacks: what to watch, and how to put it together.
struct MemuseOptions {
  std::string type = {};                      ///< A slab cache, as users name it; "": all.
  std::string control_group = {};             ///< A path below the hierarchy's root, or whole; "": all.
  unsigned frames = 8;                        ///< Of a stack that are shown.
  unsigned match = 2;                         ///< Of these, that must be equal for two blocks to belong together.
  std::int64_t older_ns = 10'000'000'000;     ///< From that age on a block is old.
  std::uint64_t memory_bytes = 64ULL << 20U;  ///< Of the kernel, at most, for watching.
  std::uint64_t groups = 20;                  ///< Shown as text; 0: all.
  bool is_folded = false;
};

struct CommandLine {
  const Command* command = nullptr;  ///< Never nullptr once parsed.
  /// As memstat_mtl_set_capture, or a URL; none: MEMSTAT_CAPTURE when it is set, else live.
  std::optional<std::string> from;
  std::vector<std::string> hosts = {};  ///< Of the command top: each --from.
  std::string kernel = {};              ///< The kernel file of a FreeBSD dump; "": MEMSTAT_KERNEL, or one beside the dump.
  bool json = false;
  bool csv = false;
  std::string json_layout = {};  ///< "pretty" or kCompact.
  ReportView view;               ///< How the report is written; made of the options when all are known.
  bool has_limit = false;        ///< --limit was given.
  Format format = Format::kFreeBsd15;
  std::optional<bool> human;                     ///< Figures as 2.3k; none: the command's own default.
  std::vector<std::string> words;                ///< Of the commands process (names and numbers) and resident (paths).
  std::vector<std::uint64_t> addresses;          ///< Of the command node.
  CounterOptions counters;                       ///< Of the command counters.
  MemuseOptions memuse;                          ///< Of the command stacks.
  std::vector<std::string> states;               ///< Of the command diff: two as `from`, or none: now and `window_ns` later.
  std::optional<std::int64_t> window_ns = {};    ///< For how long to watch.
  std::string shell = {};                        ///< Of the command completion: one of kShells.
  std::string type = {};                         ///< ALLOCATOR/TYPE or a name, of commands about one type.
  std::string word = {};                         ///< Of the command explain.
  std::string question = {};                     ///< Of the command who.
  std::optional<std::int64_t> interval_ns = {};  ///< Between two reads; none: the command's own.
  std::optional<std::uint64_t> count = {};       ///< Reads at most.
  std::string output = {};                       ///< Of the command record.
  std::uint64_t max_bytes = 1ULL << 30U;         ///< Of the command record, on the disk; 0: no bound.
  std::string label = {};                        ///< Of the command record.
  bool has_who = false;                          ///< Of the command record.
  std::string capture = {};                      ///< Of the command replay.
  std::optional<double> speed = {};              ///< Of the command replay; none: without waiting.
  bool is_list = false;                          ///< Of the command replay.
  bool is_verbose = false;                       ///< Of the command why.
  bool is_followed = false;                      ///< Of the command why.
  std::string dump = {};                         ///< Of the command objects; empty: MEMSTAT_CAPTURE.

  /// The most rows; `usual` where none was given.
  [[nodiscard]] std::size_t limit_or(std::size_t usual) const { return has_limit ? view.limit : usual; }
};

/// An option or an argument of a command, as data: parsing, --help and completion are made of it. Static.
struct Option {
  const char* name;        ///< "--limit", with former names behind commas; of an argument its title, "TYPE".
  const char* value = "";  ///< What --help calls the value; "" for an argument, and for an option without one.
  const char* help;
  /// Takes a value that was checked; "" of an option without one.
  void (*set)(CommandLine& line, const std::string& value);
  /// "" or what is wrong with a value.
  std::string (*check)(const std::string& value) = nullptr;
  unsigned most = 1;         ///< Values; kAny: no bound.
  unsigned least = 0;        ///< Of an argument.
  const char* against = "";  ///< Options and arguments with which it cannot be given, separated by commas.

  static constexpr unsigned kAny = 1U << 29U;
  [[nodiscard]] constexpr bool is_argument() const { return name[0] != '-'; }
  /// "--for" of "--for,--seconds", "--json" of "--json{pretty}".
  [[nodiscard]] std::string_view word() const {
    const std::string_view names(name);
    return names.substr(0, names.find_first_of(",{"));
  }
};

/// The layouts that --format knows, separated by blanks.
inline constexpr std::string_view kReleases = "freebsd-15 freebsd-13 freebsd-12 freebsd-10";

/// The command line, or the exit status with which to end at once (what there is to say has been printed).
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Throws std::bad_alloc only.
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace memstat::ctl
