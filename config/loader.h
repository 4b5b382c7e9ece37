// SPDX-License-Identifier: BSD-2-Clause
// Reads a configuration file: YAML to Config, reporting all problems of the file at once.
//
// A problem is one line, `file:line:column: key: what is wrong; what would be right`. `key` is the dotted path
// ("limits[0].bytes"), or "(file)" for a problem without a key. Columns count bytes from 1.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "core/source_option.h"

namespace memstat {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// The loader's input from the rest of the program. The names must outlive the call.
struct ConfigContext {
  std::span<const std::string_view> sources;  ///< names of the sources of this build
  /// The options of each source, by its index in `sources`; if shorter, the others have none.
  std::span<const std::span<const SourceOption>> options = {};
  bool is_readable_by_all = false;  ///< every account may read the file, so it must not contain secrets
};

/// The problems of a file: at least one line for people, in the order of the file.
struct ConfigProblems {
  std::vector<std::string> lines;
};

/// A Config, or the problems that prevented it.
class [[nodiscard]] ConfigResult : public std::optional<Config> {
 public:
  ConfigResult(Config config) : optional(std::move(config)) {}               // NOLINT(google-explicit-constructor)
  ConfigResult(ConfigProblems problems) : problems_(std::move(problems)) {}  // NOLINT(google-explicit-constructor)

  /// Empty if there is a configuration.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_.lines; }

 private:
  ConfigProblems problems_;
};

/// Parses `yaml`; an empty text gives the defaults. `file_name` is the prefix of the messages. `yaml` may contain any bytes.
/// Throws nothing except std::bad_alloc.
ConfigResult load_config_text(std::string_view yaml, std::string_view file_name, const ConfigContext& context);

/// "listen and user": the changed keys that take effect only at start; "": none.
std::string changed_restart_keys(const Config& before, const Config& after);

}  // namespace memstat
