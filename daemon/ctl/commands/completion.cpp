// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/completion.h"

#include <vector>

#include "daemon/ctl/commands/commands.h"
#include "daemon/explain/explain.h"

namespace memstat::ctl {
namespace {

std::string joined_names(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + word.name;
  return text;
}

/// In single quotes for a shell; characters of `special` get a backslash before.
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

/// "watch|cpu", as a pattern of bash.
std::string commands_of_types(const std::vector<CommandWords>& all) {
  std::string pattern;
  for (const CommandWords& one : all) {
    if (one.takes_type) pattern += (pattern.empty() ? "" : "|") + one.command.name;
  }
  return pattern;
}

/// Words that `explain` knows, with blanks between.
std::string words_of_explain() {
  std::string words;
  for (const std::string& word : explained_words()) {
    if (word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./") == std::string::npos) {
      words += (words.empty() ? "" : " ") + word;
    }
  }
  return words;
}

/// What of a list of types has the names of one kind, and each with its allocator, for a shell that has it in `kind`.
std::string names_of_types() {
  return R"(LC_ALL=C sed -n "1d;h;s/^$kind,\([^,]*\),.*/\1/p;g;s/^\($kind\),\([^,]*\),.*/\1\/\2/p")";
}

std::string bash_script(const std::vector<CommandWords>& all) {
  std::vector<Word> commands;
  for (const CommandWords& one : all) commands.push_back(one.command);
  std::string script =
      "# Completion of memstatctl for bash: source <(memstatctl completion bash)\n"
      "_memstatctl() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='" +
      joined_names(commands) +
      " --help --version'\n"
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
      "  elif [[ ${COMP_WORDS[1]} == @(" +
      commands_of_types(all) +
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
  for (const auto& [command, takes_type, takes_word, options] : all) {
    script += "    " + command.name + ") words='" + joined_names(options) + "' ;;\n";
  }
  return script +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _memstatctl memstatctl\n";  // without a word: files
}

std::string zsh_script(const std::vector<CommandWords>& all) {
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
  for (const CommandWords& one : all) {
    script += "    " + in_quotes(one.command.name + ":" + one.command.help) + "\n";
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
  for (const auto& [command, takes_type, takes_word, options] : all) {
    script += "  " + command.name + ") _arguments";
    for (const Word& option : options) {
      std::string spec = option.name + "[";
      for (const char c : option.help)
        spec += std::string_view("[]\\:").find(c) != std::string_view::npos ? std::string{'\\', c} : std::string{c};
      spec += "]";
      if (option.name == "--format") {
        spec += ":release:(" + std::string(kReleases) + ")";
      } else if (option.takes_value) {
        spec += option.name == "--from" || option.name == "--kernel" ? ":source:_files" : ":value:";
      }
      script += " \\\n    " + in_quotes(spec);
    }
    script += " \\\n    " +
              in_quotes(command.name == "completion" ? "1:shell:(" + shell_names() + ")"
                        : takes_word                 ? "1:word:(" + words_of_explain() + ")"
                        : takes_type                 ? "1:type:_memstatctl_types"
                                                     : "*:argument:_files") +
              " ;;\n";
  }
  return script +
         "  esac\n}\nif [[ $funcstack[1] == _memstatctl ]]; then _memstatctl \"$@\"; else compdef _memstatctl memstatctl; "
         "fi\n";
}

std::string fish_script(const std::vector<CommandWords>& all) {
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
  for (const auto& [command, takes_type, takes_word, options] : all) {
    script += "complete -c memstatctl -n __fish_use_subcommand -f -a " + command.name + " -d " +
              in_quotes(command.help, "\\") + "\n";
    const std::string within = "complete -c memstatctl -n '__fish_seen_subcommand_from " + command.name + "' ";
    for (const Word& option : options) {
      script += within + "-l " + option.name.substr(2);
      if (option.name == "--format") {
        script += " -x -a " + in_quotes(std::string(kReleases));
      } else if (option.takes_value) {
        script += " -r";
      }
      script += " -d " + in_quotes(option.help, "\\") + "\n";
    }
    if (takes_type) script += within + "-f -a '(__memstatctl_types)'\n";
    if (takes_word) script += within + "-f -a " + in_quotes(words_of_explain()) + "\n";
    if (command.name == "completion") script += within + "-f -a " + in_quotes(shell_names()) + "\n";
  }
  return script;
}

void add_completion(OptionAdder& add) { add.shell(); }

Report run_completion(const CommandLine& options) { return {.output = completion_script(options.shell), .problem = {}}; }

}  // namespace

std::string completion_script(std::string_view shell) {
  const std::vector<CommandWords> all = command_words();
  return shell == "bash" ? bash_script(all) : shell == "zsh" ? zsh_script(all) : fish_script(all);
}

const Command kCompletionCommand{"completion",
                                 Group::kHelp,
                                 "The script that completes memstatctl's command line in bash, zsh or fish",
                                 "source <(memstatctl completion bash)\n"
                                 "memstatctl completion fish | source",
                                 add_completion,
                                 run_completion};

}  // namespace memstat::ctl
