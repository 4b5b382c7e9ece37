// SPDX-License-Identifier: BSD-2-Clause
// Shell completion for memstatctl. The scripts are generated from the table of commands, so they include every option.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/inspect/inspection.h"
#include "daemon/ctl/commands/commands.h"
#include "daemon/ctl/commands/shared_options.h"
#include "daemon/explain/explain.h"

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

/// Single-quotes a text for a shell. Characters in `special` are escaped with a backslash.
std::string in_quotes(const std::string& text, std::string_view special = {}) {
  std::string out = "'";
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return out + "'";
}

std::string shell_names() {
  std::string names;
  for (const std::string_view shell : kShells) names.append(names.empty() ? "" : " ").append(shell);
  return names;
}

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

std::string questions_of_who() {
  std::string names;
  for (const std::string& name : question_names()) names.append(names.empty() ? "" : " ").append(name);
  return names;
}

/// Shell code that prints, from a list of types, the names of allocator $kind, alone and with the allocator.
std::string names_of_types() {
  return R"(LC_ALL=C sed -n "1d;h;s/^$kind,\([^,]*\),.*/\1/p;g;s/^\($kind\),\([^,]*\),.*/\1\/\2/p")";
}

std::string bash_script() {
  std::string names;
  for (const Command* const command : commands()) names.append(command->name).append(" ");
  std::string script =
      "# Completion of memstatctl for bash: source <(memstatctl completion bash)\n"
      "_memstatctl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='" +
      names +
      "--help --version'\n"
      "  elif [[ $before == --format ]]; then\n"
      "    words='" +
      std::string(kReleases) +
      "'\n"
      "  elif [[ ${COMP_WORDS[1]} == completion && $word != -* ]]; then\n"
      "    words='" +
      shell_names() +
      "'\n"
      "  elif [[ ${COMP_WORDS[1]} == explain && $word != -* ]]; then\n"
      "    words='" +
      words_of_explain() +
      "'\n"
      "  elif [[ ${COMP_WORDS[1]} == who && $COMP_CWORD -eq 2 && $word != -* ]]; then\n"
      "    words='" +
      questions_of_who() +
      "'\n"
      "  elif [[ ${COMP_WORDS[1]} == @(" +
      commands_of_types() +
      ") && $word != -* && $before != --* ]]; then\n"
      "    local from=() i kind='[a-z]*' IFS=$'\\n'\n"
      "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "      [[ ${COMP_WORDS[i]} != --from ]] || from=(--from \"${COMP_WORDS[i+1]}\")\n"
      "    done\n"
      "    [[ ${COMP_WORDS[1]} != @(objects|origins) ]] || kind=slab\n"
      "    words=$(\"${COMP_WORDS[0]}\" types --csv \"${from[@]}\" 2>/dev/null | " +
      names_of_types() +
      ")\n"
      "  elif [[ $word == -* ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n";
  for (const Command* const command : commands()) {
    std::string options;
    for (const auto& [option, word] : options_of(*command)) options.append(options.empty() ? "" : " ").append(word);
    script += "    " + std::string(command->name) + ") words='" + options + "' ;;\n";
  }
  return script +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _memstatctl memstatctl\n";  // files for all other words
}

std::string zsh_script() {
  std::string script =
      "#compdef memstatctl\n"
      "# Completion of memstatctl for zsh: memstatctl completion zsh > _memstatctl, in a directory of $fpath\n"
      "_memstatctl_types() {\n"
      "  local -a from types\n"
      "  local kind='[a-z]*' at=${words[(i)--from]}\n"
      "  (( at < CURRENT )) && from=(--from ${(Q)words[at+1]})\n"
      "  [[ $words[1] == (objects|origins) ]] && kind=slab\n"
      "  types=(${(f)\"$(memstatctl types --csv $from 2>/dev/null | " +
      names_of_types() +
      ")\"})\n"
      "  compadd -a types\n"
      "}\n"
      "_memstatctl() {\n"
      "  local -a commands=(\n";
  for (const Command* const command : commands()) {
    script += "    " + in_quotes(std::string(command->name) + ":" + command->help) + "\n";
  }
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n"
      "  case $words[1] in\n";
  for (const Command* const command : commands()) {
    script += "  " + std::string(command->name) + ") _arguments";
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
      script += " \\\n    " + in_quotes(spec);
    }
    script += " \\\n    " +
              in_quotes(takes_argument(*command, "SHELL")      ? "1:shell:(" + shell_names() + ")"
                        : takes_argument(*command, "WORD")     ? "1:word:(" + words_of_explain() + ")"
                        : takes_argument(*command, "QUESTION") ? "1:question:(" + questions_of_who() + ")"
                        : takes_argument(*command, "TYPE")     ? "1:type:_memstatctl_types"
                                                               : "*:argument:_files") +
              " ;;\n";
  }
  return script +
         "  esac\n}\nif [[ $funcstack[1] == _memstatctl ]]; then _memstatctl \"$@\"; else compdef _memstatctl memstatctl; "
         "fi\n";
}

std::string fish_script() {
  std::string script =
      "# Completion of memstatctl for fish: memstatctl completion fish | source\n"
      "function __memstatctl_types\n"
      "  set -l words (commandline -opc)\n"
      "  set -l from\n"
      "  set -l kind '[a-z]*'\n"
      "  set -l at (contains -i -- --from $words); and set from --from $words[(math $at + 1)]\n"
      "  contains -- objects $words; or contains -- origins $words; and set kind slab\n"
      "  $words[1] types --csv $from 2>/dev/null | " +
      names_of_types() +
      "\n"
      "end\n";
  for (const Command* const command : commands()) {
    const std::string name(command->name);
    script +=
        "complete -c memstatctl -n __fish_use_subcommand -f -a " + name + " -d " + in_quotes(command->help, "\\") + "\n";
    const std::string within = "complete -c memstatctl -n '__fish_seen_subcommand_from " + name + "' ";
    for (const auto& [option, word] : options_of(*command)) {
      script += within + "-l " + std::string(word.substr(2));
      if (word == "--format") {
        script += " -x -a " + in_quotes(std::string(kReleases));
      } else if (option->range.most != 0) {
        script += " -r";
      }
      script += " -d " + in_quotes(first_line(option->help), "\\") + "\n";
    }
    if (takes_argument(*command, "TYPE")) script += within + "-f -a '(__memstatctl_types)'\n";
    if (takes_argument(*command, "QUESTION")) script += within + "-f -a " + in_quotes(questions_of_who()) + "\n";
    if (takes_argument(*command, "WORD")) script += within + "-f -a " + in_quotes(words_of_explain()) + "\n";
    if (takes_argument(*command, "SHELL")) script += within + "-f -a " + in_quotes(shell_names()) + "\n";
  }
  return script;
}

constexpr std::array kCompletionOptions{
    argument("SHELL", {1, 1}, "bash, zsh or fish", store<&CommandLine::shell>, [](const std::string& text) {
      const bool is_known = std::find(kShells.begin(), kShells.end(), text) != kShells.end();
      return is_known ? std::string() : "\"" + text + "\" is not one of " + shell_names();
    })};

Report run_completion(const CommandLine& options) {
  return {.output = options.shell == "bash"  ? bash_script()
                    : options.shell == "zsh" ? zsh_script()
                                             : fish_script(),
          .problem = {}};
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
