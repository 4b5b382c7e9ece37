// SPDX-License-Identifier: BSD-2-Clause
// The words of both programs' command lines: --help, and errors in options. The library's own texts do not appear.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/values.h"

namespace memstat {

/// Formats --help: "-h, --help", "--json[=LAYOUT]", "--for DURATION", "(with --once)", "(not with --pid)".
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("SUBCOMMAND", "COMMAND"); }

  [[nodiscard]] std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return option->get_name(true, false);
    std::string names;
    for (const std::string& name : option->get_snames()) names.append(names.empty() ? "-" : ", -").append(name);
    for (const std::string& name : option->get_lnames()) names.append(names.empty() ? "--" : ", --").append(name);
    const bool has_default = option->get_name(false, true).find('{') != std::string::npos;
    return names + (has_default ? "[=LAYOUT]" : "");
  }

  [[nodiscard]] std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0 && !option->get_type_name().empty()) text.append(" ").append(option->get_type_name());
    if (is_list(option)) text += " ...";
    text += condition(" (with ", option->get_needs());
    return text + condition(" (not with ", option->get_excludes());
  }

  [[nodiscard]] std::string make_option_usage(const CLI::Option* option) const override {
    std::string text = option->get_name(true, false);
    if (is_list(option)) {
      text += "...";
    } else {
      for (int i = 1; i < option->get_expected_max(); ++i) text.append(" ").append(option->get_name(true, false));
    }
    return option->get_required() ? text : "[" + text + "]";
  }

 private:
  static bool is_list(const CLI::Option* option) {
    return option->get_expected_max() >= CLI::detail::expected_max_vector_size;
  }
  template <typename Options>
  static std::string condition(std::string_view words, const Options& options) {
    std::vector<std::string> names;
    for (const CLI::Option* const option : options) names.push_back(option->get_name());
    std::sort(names.begin(), names.end());  // the library orders them by address
    std::string text;
    for (const std::string& name : names) text.append(text.empty() ? words : std::string_view(", ")).append(name);
    return text.empty() ? text : text + ")";
  }
};

/// The option that a message of the library begins with; nullptr if it begins with none.
inline const CLI::Option* option_of_message(const CLI::App& app, std::string_view message) {
  const std::string name(message.substr(0, message.find_first_of(": ")));
  if (name.empty()) return nullptr;
  const CLI::Option* const option = app.get_option_no_throw(name);
  return option != nullptr ? option : app.get_option_no_throw("--" + name);
}

/// "--for DURATION needs a value"; "may be given once only".
inline std::string wrong_count(const CLI::Option& option) {
  const std::string name = option.get_name();
  const int most = option.get_items_expected_max();
  const auto count = static_cast<int>(option.count());
  if (most == 0) return name + ": takes no value";
  if (count == 0) return name + ": needs a value: " + name + " " + option.get_type_name();
  if (most == 1 && count > 1) return name + ": may be given once only";
  return name + ": takes " + std::to_string(count > most ? most : option.get_items_expected_min()) + " values, not " +
         std::to_string(count);
}

/// "unexpected argument "x""; "unknown option --intervall; did you mean --interval?"
inline std::string unexpected(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty()) return "unexpected argument";
  const std::string_view word = std::string_view(words.front()).substr(0, words.front().find('='));
  if (!word.starts_with('-')) return "unexpected argument " + quoted(word);
  std::vector<std::string> names{"--help"};
  for (const CLI::Option* const option : app.get_options()) names.push_back(option->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view nearest = nearest_word(word, known);
  return "unknown option " + shortened(word) + (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?");
}

/// Describes what is wrong with a command line, without CLI11's message. `app`: the program, or the subcommand that was
/// named.
inline std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string_view what = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return unexpected(app, app.remaining(true));
  const CLI::Option* const option = option_of_message(app, what);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (option != nullptr && option->get_items_expected_max() == 0) return option->get_name() + ": takes no value";
    return option == nullptr ? "wrong number of arguments" : wrong_count(*option);
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr && option != nullptr) {
    for (const CLI::Option* const other : option->get_excludes()) {
      if (other->count() != 0) return option->get_name() + ": not together with " + other->get_name();
    }
  }
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr && option != nullptr) {
    for (const CLI::Option* const other : option->get_needs()) {
      if (other->count() == 0) return option->get_name() + ": works only with " + other->get_name();
    }
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && option != nullptr) {
    return option->get_name() + " is missing";
  }
  const bool is_foreign = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr ||
                          dynamic_cast<const CLI::InvalidError*>(&error) != nullptr;
  if (!is_foreign) return std::string(what);  // a check's own words
  for (const CLI::Option* const one : app.get_options()) {
    if (what.find(one->get_name()) != std::string_view::npos && one->get_type_size() == 0)
      return one->get_name() + ": takes no value";
  }
  return "a value has the wrong form";
}

}  // namespace memstat
