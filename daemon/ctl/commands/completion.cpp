// SPDX-License-Identifier: BSD-2-Clause
// Shell completion for memstatctl. The scripts are generated from the table of commands, so they include every option.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/inspect/inspection.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/explain/explain.h"

namespace memstat {
// bash_completion.in, ..., embedded.
std::string_view bash_completion_text();
std::string_view zsh_completion_text();
std::string_view fish_completion_text();
}  // namespace memstat

namespace memstat::ctl {
namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

/// The first line of an option's help, without what only the second line would complete.
std::string first_line(std::string_view help) {
  std::string line(help.substr(0, help.find('\n')));
  line.erase(line.find_last_not_of(",;: ") + 1);
  return line;
}

/// A command's options with their descriptions, including --help.
std::vector<std::pair<const Option*, std::string_view>> options_of(const Command& command) {
  static constexpr Option kHelp = flag("--help", "Print this help message and exit", nullptr);
  std::vector<std::pair<const Option*, std::string_view>> options{{&kHelp, kHelp.word()}};
  for (const Option& option : command.options) {
    if (!option.is_argument()) options.emplace_back(&option, option.word());
  }
  return options;
}

bool takes_argument(const Command& command, std::string_view name) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [name](const Option& option) { return option.name == name; });
}

/// Words in place of a command, with their descriptions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOtherWords{
    {{"help", "Prints what a command does and its options"}, {"version", "Prints the version"}}};

std::string shell_names() { return separated(kShells, " "); }

/// The commands that take a type, as a bash pattern: "watch|cpu".
std::string commands_of_types() {
  std::string pattern;
  for (const Command* const command : commands()) {
    if (takes_argument(*command, "TYPE")) pattern.append(pattern.empty() ? "" : "|").append(command->name);
  }
  return pattern;
}

/// The words for `explain`, separated by blanks.
std::string words_of_explain() {
  std::string words;
  for (const std::string& word : explained_words()) {
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == std::string::npos) {
      words += (words.empty() ? "" : " ") + word;
    }
  }
  return words;
}

std::string questions_of_who() { return separated(question_names(), " "); }

/// Shell code that prints, from a list of types, the names of allocator $kind, alone and with the allocator.
constexpr std::string_view kNamesOfTypes =
    R"(LC_ALL=C sed -n "1d;h;s/^$kind,\([^,]*\),.*/\1/p;g;s/^\($kind\),\([^,]*\),.*/\1\/\2/p")";

/// A template next to this file, without the license in its first line, and with the values of its @WORDS@.
std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string script(text.substr(text.find('\n') + 1));
  for (const auto& [name, value] : values) {
    const std::string word = "@" + std::string(name) + "@";
    for (std::size_t at = script.find(word); at != std::string::npos; at = script.find(word, at + value.size())) {
      script.replace(at, word.size(), value);
    }
  }
  return script;
}

std::string bash_script() {
  std::string cases;
  for (const Command* const command : commands()) {
    const std::string options = separated(options_of(*command), " ", [](const auto& option) { return option.second; });
    cases += "    " + std::string(command->name) + ") words='" + options + "' ;;\n";
  }
  return filled(bash_completion_text(), {{"COMMANDS", separated(commands(), " ", &Command::name)},
                                         {"RELEASES", std::string(kReleases)},
                                         {"SHELLS", shell_names()},
                                         {"WORDS", words_of_explain()},
                                         {"QUESTIONS", questions_of_who()},
                                         {"COMMANDS_OF_TYPES", commands_of_types()},
                                         {"NAMES_OF_TYPES", std::string(kNamesOfTypes)},
                                         {"OPTIONS", cases}});
}

/// The argument of a command as zsh's _arguments takes it.
std::string zsh_argument(const Command& command) {
  if (takes_argument(command, "SHELL")) return "1:shell:(" + shell_names() + ")";
  if (takes_argument(command, "WORD")) return "1:word:(" + words_of_explain() + ")";
  if (takes_argument(command, "QUESTION")) return "1:question:(" + questions_of_who() + ")";
  return takes_argument(command, "TYPE") ? "1:type:_memstatctl_types" : "*:argument:_files";
}

std::string zsh_script() {
  std::string names;
  std::string cases;
  for (const Command* const command : commands()) {
    names += "    " + in_quotes(std::string(command->name) + ":" + command->help) + "\n";
    cases += "  " + std::string(command->name) + ") _arguments";
    for (const auto& [option, word] : options_of(*command)) {
      std::string spec = std::string(word) + "[";
      for (const char c : first_line(option->help))
        spec += std::string_view("[]\\:").find(c) != std::string_view::npos ? std::string{'\\', c} : std::string{c};
      spec += "]";
      if (word == "--format") {
        spec += ":release:(" + std::string(kReleases) + ")";
      } else if (option->range.most != 0) {
        spec += word == "--from" || word == "--kernel" ? ":source:_files" : ":value:";
      }
      cases += " \\\n    " + in_quotes(spec);
    }
    cases += " \\\n    " + in_quotes(zsh_argument(*command)) + " ;;\n";
  }
  for (const auto& [word, help] : kOtherWords) {
    names += "    " + in_quotes(std::string(word) + ":" + std::string(help)) + "\n";
  }
  cases += "  help) _describe command commands ;;\n";
  return filled(zsh_completion_text(),
                {{"NAMES_OF_TYPES", std::string(kNamesOfTypes)}, {"COMMANDS", names}, {"OPTIONS", cases}});
}

std::string fish_script() {
  std::string lines;
  for (const Command* const command : commands()) {
    const std::string name(command->name);
    lines +=
        "complete -c memstatctl -n __fish_use_subcommand -f -a " + name + " -d " + in_quotes(command->help, "\\") + "\n";
    const std::string within = "complete -c memstatctl -n '__fish_seen_subcommand_from " + name + "' ";
    for (const auto& [option, word] : options_of(*command)) {
      lines += within + "-l " + std::string(word.substr(2));
      if (word == "--format") {
        lines += " -x -a " + in_quotes(std::string(kReleases));
      } else if (option->range.most != 0) {
        lines += " -r";
      }
      lines += " -d " + in_quotes(first_line(option->help), "\\") + "\n";
    }
    if (takes_argument(*command, "TYPE")) lines += within + "-f -a '(__memstatctl_types)'\n";
    if (takes_argument(*command, "QUESTION")) lines += within + "-f -a " + in_quotes(questions_of_who()) + "\n";
    if (takes_argument(*command, "WORD")) lines += within + "-f -a " + in_quotes(words_of_explain()) + "\n";
    if (takes_argument(*command, "SHELL")) lines += within + "-f -a " + in_quotes(shell_names()) + "\n";
  }
  for (const auto& [word, help] : kOtherWords) {
    lines +=
        "complete -c memstatctl -n __fish_use_subcommand -f -a " + std::string(word) + " -d " + in_quotes(help, "\\") + "\n";
  }
  lines += "complete -c memstatctl -n '__fish_seen_subcommand_from help' -f -a " +
           in_quotes(separated(commands(), " ", &Command::name)) + "\n";
  lines.pop_back();  // the template ends the last line
  return filled(fish_completion_text(), {{"NAMES_OF_TYPES", std::string(kNamesOfTypes)}, {"COMMANDS", lines}});
}

constexpr std::array kCompletionOptions{
    argument("SHELL", {1, 1}, "bash, zsh or fish", store<&CommandLine::shell>, [](const std::string& text) {
      const bool is_known = std::find(kShells.begin(), kShells.end(), text) != kShells.end();
      return is_known ? std::string() : "\"" + text + "\" is not one of " + shell_names();
    })};

Report run_completion(const CommandLine& options) {
  return {.output = options.shell == "bash" ? bash_script() : options.shell == "zsh" ? zsh_script() : fish_script()};
}

}  // namespace

const Command kCompletionCommand{"completion",
                                 Group::kHelp,
                                 "Prints the completion script for bash, zsh or fish",
                                 "source <(memstatctl completion bash)\n"
                                 "memstatctl completion fish | source",
                                 kCompletionOptions,
                                 run_completion};

}  // namespace memstat::ctl
