// SPDX-License-Identifier: BSD-2-Clause
// The command line of memstatctl, and its commands in one table: help, messages, parsing, completion and running come
// from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/text.h"
#include "daemon/ctl/output/report_table.h"
#include "daemon/ctl/source/prometheus.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}  // namespace CLI

namespace memstat::ctl {

struct Command;  // below

/// The release whose layout reports use; the figures are the same in all.
enum class Format { kFreeBsd15, kFreeBsd13, kFreeBsd12, kFreeBsd10 };

/// The value of --json for JSON on one line.
inline constexpr std::string_view kCompact = "compact";

inline constexpr std::int64_t kOneSecond = 1'000'000'000;

/// Default duration of the command stacks.
inline constexpr std::int64_t kStacksWindowNs = 60 * kOneSecond;

/// Default maximum of rows for the commands objects and origins.
inline constexpr std::uint64_t kListed = 100;

/// For the command counters: what to count, and where.
struct CounterOptions {
  bool is_list = false;
  bool is_user_only = false;
  std::optional<int> cpu = {};
  std::optional<int> pid = {};
  std::vector<std::string> command = {};  ///< Including its arguments.
  std::string events = {};                ///< Comma-separated; "": the default events.
};

/// For the command stacks: what to watch, and how to group it.
struct MemuseOptions {
  std::string type = {};           ///< A slab cache, as named by the user; "": all.
  std::string control_group = {};  ///< A path below the hierarchy's root, or a full path; "": all.
  unsigned frames = 8;             ///< Number of frames shown.
  unsigned match = 2;              ///< Number of frames that must be equal for two blocks to be in one group.
  /// Minimum age of an old block; empty: 10 s, or half of a shorter window.
  std::optional<std::int64_t> older_ns = {};
  std::uint64_t memory_bytes = 64ULL << 20U;  ///< Maximum kernel memory for watching.
  std::uint64_t groups = 20;                  ///< Maximum number of groups in text; 0: all.
  bool is_folded = false;
};

struct CommandLine {
  const Command* command = nullptr;  ///< Never nullptr once parsed.
  /// As for memstat_mtl_set_capture, or a URL; empty: MEMSTAT_CAPTURE if it is set, otherwise live.
  std::optional<std::string> from;
  std::vector<std::string> hosts = {};  ///< Each --from, where it may be repeated.
  std::string kernel = {};              ///< The kernel file of a FreeBSD dump; "": MEMSTAT_KERNEL, or one next to the dump.
  bool json = false;
  bool csv = false;
  std::string json_layout = {};  ///< "pretty" or kCompact.
  ReportView view;               ///< The format of the report; complete once all options are parsed.
  bool has_limit = false;        ///< --limit was given.
  Format format = Format::kFreeBsd15;
  std::optional<bool> human;                     ///< Short figures (2.3k); empty: the command's default.
  std::vector<std::string> words;                ///< For the commands process (names and numbers) and resident (paths).
  std::vector<std::uint64_t> addresses;          ///< For the command node.
  CounterOptions counters;                       ///< For the command counters.
  MemuseOptions memuse;                          ///< For the command stacks.
  ServerOptions server;                          ///< For prometheus:URL.
  std::string group_by = {};                     ///< A label, or release or os; "": none.
  bool is_of_fleet = false;                      ///< For the command leaks: compare hosts.
  std::optional<double> later = {};              ///< For the command diff: as ServerOptions::at, for the second state.
  std::vector<std::string> states;               ///< For the command diff: two sources, or none: now, and after `window_ns`.
  std::optional<std::int64_t> window_ns = {};    ///< Time to watch.
  std::string shell = {};                        ///< For the command completion: one of kShells.
  std::string type = {};                         ///< ALLOCATOR/TYPE or a name, for commands about one type.
  std::string incident = {};                     ///< For the command why: a number or a file; "": none.
  std::string word = {};                         ///< For the command explain.
  std::string question = {};                     ///< For the command who.
  std::optional<std::int64_t> interval_ns = {};  ///< Between two reads; empty: the command's default.
  std::optional<std::uint64_t> count = {};       ///< Maximum number of reads.
  std::string output = {};                       ///< For the command record.
  bool is_thinned = false;                       ///< For the command record.
  std::uint64_t max_bytes = 1ULL << 30U;         ///< For the command record: maximum size on disk; 0: no limit.
  std::string label = {};                        ///< For the command record.
  bool has_who = false;                          ///< For the command record.
  std::string capture = {};                      ///< For the command replay.
  std::optional<double> speed = {};              ///< For the command replay; empty: without waiting.
  bool is_list = false;                          ///< For the command replay.
  bool is_verbose = false;                       ///< For the command why, and for queries to a server.
  bool is_followed = false;                      ///< For the command why.
  std::string dump = {};                         ///< For the command objects; empty: MEMSTAT_CAPTURE.

  /// The maximum number of rows; `usual` if --limit was not given.
  [[nodiscard]] std::size_t limit_or(std::size_t usual) const { return has_limit ? view.limit : usual; }
};

/// An option or argument of a command, as data for parsing, --help and completion. Static.
struct Option {
  /// Stores a checked value; "" for an option without a value.
  using Set = void (*)(CommandLine& line, const std::string& value);
  /// Checks a value. Returns "" or an error.
  using Check = std::string (*)(const std::string& value);
  /// The number of values that an argument has.
  struct Range {
    unsigned least = 0;
    unsigned most = 1;  ///< kAny: no limit.
  };

  const char* name;   ///< "--limit", with former names after commas; for an argument its title, "TYPE".
  const char* value;  ///< Name of the value in --help; "" for arguments, and for options without a value.
  const char* help;
  Set set;
  Check check;
  Range range;
  const char* against = "";  ///< Options and arguments that exclude this one, separated by commas.

  static constexpr unsigned kAny = 1U << 29U;
  [[nodiscard]] constexpr bool is_argument() const { return name[0] != '-'; }
  /// "--for" of "--for,--seconds", "--json" of "--json{pretty}".
  [[nodiscard]] std::string_view word() const {
    const std::string_view names(name);
    return names.substr(0, names.find_first_of(",{"));
  }
};

/// An option without a value.
constexpr Option flag(const char* name, const char* help, Option::Set set, Option::Check check = nullptr,
                      const char* against = "") {
  return {.name = name, .value = "", .help = help, .set = set, .check = check, .range = {0, 0}, .against = against};
}
/// An option with a value.
constexpr Option valued(const char* name, const char* value, const char* help, Option::Set set,
                        Option::Check check = nullptr, const char* against = "", unsigned most = 1) {
  return {.name = name, .value = value, .help = help, .set = set, .check = check, .range = {0, most}, .against = against};
}
constexpr Option argument(const char* title, Option::Range range, const char* help, Option::Set set,
                          Option::Check check = nullptr, const char* against = "") {
  return {.name = title, .value = "", .help = help, .set = set, .check = check, .range = range, .against = against};
}

/// Stores a checked value in the member that `kMembers` select: true, the text or its number; a list gets it at its end.
template <auto... kMembers>
void store(CommandLine& line, const std::string& text) {
  auto& member = (line.*....*kMembers);
  using Member = std::remove_reference_t<decltype(member)>;
  if constexpr (std::is_same_v<Member, bool>) {
    member = true;
  } else if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
    member.push_back(text);
  } else if constexpr (std::is_same_v<Member, std::vector<std::uint64_t>>) {
    member.push_back(*parse_number(text));
  } else if constexpr (std::is_assignable_v<Member&, const std::string&>) {
    member = text;
  } else {
    member = static_cast<Member>(*parse_number(text));
  }
}

/// The layouts for --format, separated by blanks.
inline constexpr std::string_view kReleases = "freebsd-15 freebsd-13 freebsd-12 freebsd-10";

/// The command line; or an exit status if the program must exit now, with all output already printed.
struct ParsedCommandLine {
  CommandLine options;
  std::optional<int> exit_status;
};

/// Throws only std::bad_alloc.
ParsedCommandLine parse_command_line(int argc, const char* const* argv);

/// Commands that are listed together, in this order.
enum class Group : std::uint8_t { kLook, kGrowth, kCaptures, kFreeBsd, kMachine, kHelp };

/// "Look", "Growth", ...
std::string_view to_string(Group group);

/// One command. A new one is a file next to this one, and a word in MEMSTAT_COMMANDS.
struct Command {
  const char* name;  ///< As users type it.
  Group group;
  const char* help;                 ///< One line for --help.
  const char* examples;             ///< Command lines, a line each, for the end of the command's --help.
  std::span<const Option> options;  ///< Options and arguments.
  /// Reads what it needs and makes the report. Throws std::bad_alloc.
  Report (*run)(const CommandLine& options);
  const char* alias = "";  ///< A former name, which is still accepted; "" for none.
};

/// Every command, in the order of the help text.
#define MEMSTAT_COMMANDS(command)                                                                                        \
  command(Why) command(Incidents) command(Top) command(Hosts) command(Demo) command(Types) command(Limits) command(Show) \
      command(Events) command(Diff) command(Watch) command(Leaks) command(Origins) command(Stacks) command(Record)       \
          command(Replay) command(Objects) command(Malloc) command(Zones) command(Mbufs) command(Who) command(Process)   \
              command(Node) command(Resident) command(Counters) command(Explain) command(Doctor) command(Completion)

#define MEMSTAT_DECLARATION(name) extern const Command k##name##Command;
MEMSTAT_COMMANDS(MEMSTAT_DECLARATION)
#undef MEMSTAT_DECLARATION

/// All commands, in the order of the help text. Static.
std::span<const Command* const> commands();

/// The command of that name or alias; nullptr when no command has it.
const Command* find_command(std::string_view name);

/// "malloc, zones and types" with " and " as the last separator.
std::string command_names(std::string_view last_separator);

}  // namespace memstat::ctl
