// SPDX-License-Identifier: BSD-2-Clause
// Two steps: yaml_tree.h builds a small tree; Loader walks it with one table of keys, and collects all problems.
#include "config/loader.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "config/yaml_tree.h"
#include "core/base/ascii.h"
#include "core/base/text.h"

namespace memstat {
namespace {

using std::chrono::nanoseconds;
constexpr std::size_t kMaxListItems = 1000, kMaxProblems = 50;
constexpr std::string_view kFileKey = kYamlFileKey;
using Node = YamlNode;
using Problem = YamlProblem;

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return quoted(node.text);
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return {};
}

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? shortened(key) : path + "." + shortened(key);
}

/// "; did you mean X?", or "; " and what else to do when no known word is near.
std::string nearest_or(std::string_view word, std::span<const std::string_view> known, const std::string& otherwise) {
  const std::string_view nearest = nearest_word(word, known);
  return "; " + (nearest.empty() ? otherwise : "did you mean " + std::string(nearest) + "?");
}

/// "write true", when the text is another word for it (yes, on, 1); otherwise "write true or false".
std::string meant_word(std::string_view text, std::string_view yes, std::string_view no) {
  constexpr std::string_view kYes[] = {"true", "yes", "on", "y", "1", "enabled"};
  constexpr std::string_view kNo[] = {"false", "no", "off", "n", "0", "disabled"};
  const std::string low = lower_case(text);
  if (std::find(std::begin(kYes), std::end(kYes), low) != std::end(kYes)) return "write " + std::string(yes);
  if (std::find(std::begin(kNo), std::end(kNo), low) != std::end(kNo)) return "write " + std::string(no);
  return "write " + std::string(yes) + " or " + std::string(no);
}

class Loader {
 public:
  explicit Loader(const ConfigContext& context) : context_(context) {}

  void read(const Node& root) {
    if (root.kind == Node::Kind::kNull) return;
    Config& c = config_;
    const std::vector<Key> keys = {
        {"listen", by(&Loader::read_listen)},
        {"allow", list("a list of networks", "[\"10.0.0.0/8\"]",
                       [this](const Node& node, const std::string& path) {
                         IpNetwork network;
                         parsed(parse_cidr, network, "a network", "10.0.0.0/8")(node, path);
                         config_.allow.push_back(network);
                       })},
        {"unix_socket", map({{"mode", parsed(parse_file_mode, c.unix_socket.mode, "the mode of a file", "\"0660\"")},
                             {"group",
                              [this](const Node& node, const std::string& path) {
                                read_account(node, path, "group", config_.unix_socket.group);
                              }}})},
        {"user", [this](const Node& node, const std::string& path) { read_account(node, path, "user", config_.user); }},
        {"enable_reload", boolean(c.enable_reload)},
        {"basic_auth", by(&Loader::read_basic_auth)},
        {"poll", map({{"interval", duration(c.poll.interval, kMinPollInterval, kMaxPollInterval, "10s")},
                      {"timeout", duration(c.poll.timeout, std::chrono::milliseconds(1), std::chrono::hours(1), "2s")},
                      {"on_scrape", by(&Loader::read_on_scrape)}})},
        {"tier", parsed(parse_tier, c.tier, "minimal, default or full", "default")},
        {"per_cpu", map({{"allocators", patterns(c.per_cpu.allocators)}, {"types", patterns(c.per_cpu.types)}})},
        {"sources", by(&Loader::read_sources)},
        {"filters", map({{"include", type_patterns(c.filters.include)}, {"exclude", type_patterns(c.filters.exclude)}})},
        {"min_bytes", parsed(parse_size, c.min_bytes, "a size", "1MiB, or 0 for none")},
        {"series_limit", number(kMaxSeriesLimit, "20000", [&c](std::uint64_t value) { c.series_limit = value; })},
        {"created_series", boolean(c.created_series)},
        {"groups", by(&Loader::read_groups)},
        {"limits", list("a list of limits", "[{allocator: slab, type: \"dentry\", bytes: 2GiB}]", by(&Loader::read_limit))},
        {"counters", list("a list of sets of events", "[{set: memory}]", by(&Loader::read_counter_set))},
        {"growth", map({{"window", duration(c.growth_window, std::chrono::seconds(1), std::chrono::hours(24), "1h")}})},
        {"retention", number(100000, "6", [&c](std::uint64_t value) { c.retention = static_cast<std::uint32_t>(value); })},
        {"history", parsed(parse_history_size, c.history_bytes, "a size", "2MiB, or 0 for none")},
        {"findings", map({{"info", boolean(c.finding_info)},
                          {"holders", boolean(c.finding_holders)},
                          {"limits", boolean(c.finding_limits)}})},
        {"capture", map({{"record", parsed(parse_record_path, c.capture.record, "a path", "\"\" for none")},
                         {"max_bytes", size(c.capture.max_bytes, "1GiB")},
                         {"max_age", duration(c.capture.max_age, std::chrono::seconds(1), nanoseconds::max(), "24h")}})},
        {"incidents",
         map({{"directory", parsed(parse_incidents_path, c.incidents.directory, "an absolute path", "\"\" for none")},
              {"max_bytes", size(c.incidents.max_bytes, "20MiB")},
              {"max_files", number(10000, "20", [&c](std::uint64_t value) { c.incidents.max_files = value; })}})},
        {"textfile", by(&Loader::read_textfile)},
        {"log", map({{"level", parsed(parse_log_level, c.log.level, "the name of a level", "info")},
                     {"format", parsed(parse_log_format, c.log.format, "text or json", "text")}})},
        {"sandbox", boolean(c.sandbox)},
        {"lock_memory", boolean(c.lock_memory)},
        {"events", map({{"mode", parsed(parse_events_mode, c.events_mode, "off, failures, counters or full", "failures")},
                        {"budget", parsed(parse_cpu_share, c.events_budget_ppm, "a percentage of one CPU", "1%")}})},
    };
    read_map(root, "", keys);
    check_together();
  }

  void add(Problem problem) { problems_.push_back(std::move(problem)); }
  ConfigResult finish(std::string_view file_name) {
    if (problems_.empty()) return std::move(config_);
    const auto place = [](const Problem& one) { return std::pair(one.position.line, one.position.column); };
    std::stable_sort(problems_.begin(), problems_.end(),
                     [&place](const Problem& left, const Problem& right) { return place(left) < place(right); });
    if (problems_.size() > kMaxProblems) {
      Problem& last = problems_[kMaxProblems - 1];
      last.text = std::to_string(problems_.size() - kMaxProblems + 1) + " more problems are not shown; correct those above";
      last.key = kFileKey;
      problems_.resize(kMaxProblems);
    }
    ConfigProblems result;
    for (const Problem& problem : problems_) {
      result.lines.push_back(std::string(file_name) + ":" + std::to_string(problem.position.line) + ":" +
                             std::to_string(problem.position.column) + ": " + problem.key + ": " + problem.text);
    }
    return result;
  }

 private:
  /// Reads the value of a key or item into its place, or adds a problem.
  using Reader = std::function<void(const Node& node, const std::string& path)>;
  struct Key {
    std::string_view name;
    Reader read;
  };

  void problem(const Node& node, const std::string& path, std::string text) {
    problems_.push_back({node.position, path, std::move(text)});
  }

  bool has_kind(const Node& node, const std::string& path, Node::Kind kind, std::string_view what,
                const std::string& advice) {
    if (node.kind == kind) return true;
    if (node.kind == Node::Kind::kNull) {
      problem(node, path, "has no value; " + advice + ", or remove the key");
    } else {
      problem(node, path, "must be " + std::string(what) + ", not " + describe(node) + "; " + advice);
    }
    return false;
  }

  bool is_text(const Node& node, const std::string& path, std::string_view what, std::string_view example) {
    return has_kind(node, path, Node::Kind::kScalar, what, "write " + std::string(example));
  }

  /// Calls `visit(key, value, path)` for each key of a map that is a word and not a duplicate.
  template <typename Visit>
  void for_each_key(const Node& map, const std::string& path, Visit visit) {
    std::map<std::string_view, int> first_lines;
    for (std::size_t i = 0; i + 1 < map.children.size(); i += 2) {
      const Node& key = map.children[i];
      if (key.kind != Node::Kind::kScalar) {
        problem(key, path.empty() ? std::string(kFileKey) : path, "has " + describe(key) + " as a key; write a word");
        continue;
      }
      const std::string key_path = join(path, key.text);
      const auto [first, is_new] = first_lines.emplace(key.text, key.position.line);
      if (!is_new) {
        problem(key, key_path, "appears twice, first in line " + std::to_string(first->second) + "; keep one of the two");
        continue;
      }
      visit(key, map.children[i + 1], key_path);
    }
  }

  void read_map(const Node& node, const std::string& path, const std::vector<Key>& keys) {
    std::vector<std::string_view> known;
    for (const Key& key : keys) known.push_back(key.name);
    const std::string choice = listing(known);
    const std::string shown_path = path.empty() ? std::string(kFileKey) : path;
    if (!has_kind(node, shown_path, Node::Kind::kMap, "a map of keys", "write some of its keys (" + choice + ")")) return;
    for_each_key(node, path, [&](const Node& key, const Node& value, const std::string& key_path) {
      for (const Key& candidate : keys) {
        if (candidate.name != key.text) continue;
        written_.emplace(key_path, &value);
        return candidate.read(value, key_path);
      }
      problem(key, key_path, "is not a known key" + nearest_or(key.text, known, "the keys here are " + choice));
    });
  }

  /// A scalar read by one of the parsers in values.h.
  template <typename T, typename Place>
  Reader parsed(Result<T> (*parse)(std::string_view), Place& place, std::string_view what, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      if (!is_text(node, path, what, example)) return;
      auto value = parse(node.text);
      if (value) {
        place = std::move(*value);
      } else {
        problem(node, path, value.error().detail);
      }
    };
  }

  template <typename Place>
  Reader duration(Place& place, nanoseconds least, nanoseconds most, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      nanoseconds value(-1);
      parsed(parse_duration, value, "a duration", example)(node, path);
      if (value < nanoseconds(0)) return;
      if (value < least) problem(node, path, quoted(node.text) + " is too short; write at least " + duration_text(least));
      if (value > most) problem(node, path, quoted(node.text) + " is too long; write at most " + duration_text(most));
      place = value;
    };
  }

  template <typename Place>
  Reader size(Place& place, std::string_view example) {
    return [=, this, &place](const Node& node, const std::string& path) {
      std::optional<std::uint64_t> value;
      parsed(parse_size, value, "a size", example)(node, path);
      if (value == 0U)
        problem(node, path, quoted(node.text) + " leaves no room; write a size above 0, such as " + std::string(example));
      if (value) place = *value;
    };
  }

  Reader number(std::uint64_t most, std::string_view example, std::function<void(std::uint64_t)> set) {
    return [=, this, set = std::move(set)](const Node& node, const std::string& path) {
      if (!is_text(node, path, "a whole number", example)) return;
      const auto value = parse_u64(node.text);
      if (!node.is_quoted && value && *value > 0 && *value <= most) return set(*value);
      problem(node, path,
              (node.is_quoted ? "the text " : "") + quoted(node.text) + " is not a whole number from 1 to " +
                  std::to_string(most) + "; write one such as " + std::string(example));
    };
  }

  Reader boolean(bool& place) {
    return [this, &place](const Node& node, const std::string& path) {
      if (!is_text(node, path, "true or false", place ? "true" : "false")) return;
      if (node.is_quoted) {
        return problem(node, path,
                       "the text " + quoted(node.text) + " is not a truth value; write true or false, without quotes");
      }
      if (node.text != "true" && node.text != "false") {
        return problem(node, path, quoted(node.text) + " is not a truth value; " + meant_word(node.text, "true", "false"));
      }
      place = node.text == "true";
    };
  }

  Reader list(std::string_view what, std::string_view example, Reader read_item) {
    return [=, this, read_item = std::move(read_item)](const Node& node, const std::string& path) {
      if (!has_kind(node, path, Node::Kind::kList, what, "write " + std::string(example))) return;
      if (node.children.size() > kMaxListItems) {
        return problem(
            node, path,
            "has " + std::to_string(node.children.size()) + " entries; write at most " + std::to_string(kMaxListItems));
      }
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        read_item(node.children[i], path + "[" + std::to_string(i) + "]");
      }
    };
  }

  Reader map(std::vector<Key> keys) {
    return [this, keys = std::move(keys)](const Node& node, const std::string& path) { read_map(node, path, keys); };
  }

  Reader patterns(std::vector<NamePattern>& place) {
    return list("a list of regular expressions", "[\"kmalloc-.*\"]",
                [this, &place](const Node& node, const std::string& path) {
                  NamePattern pattern;
                  parsed(NamePattern::compile, pattern, "a regular expression", "\"kmalloc-.*\"")(node, path);
                  place.push_back(std::move(pattern));
                });
  }

  Reader by(void (Loader::*reads)(const Node&, const std::string&)) {
    return [this, reads](const Node& node, const std::string& path) { (this->*reads)(node, path); };
  }

  void read_basic_auth(const Node& node, const std::string& path);
  void read_listen(const Node& node, const std::string& path) {
    config_.listen.clear();
    list("a list of addresses", "[\"127.0.0.1:8947\"]", by(&Loader::read_address))(node, path);
    if (node.kind == Node::Kind::kList && node.children.empty()) {
      problem(node, path, "is an empty list, so no client could connect; write [\"127.0.0.1:8947\"]");
    }
  }

  void read_address(const Node& node, const std::string& path) {
    std::optional<Endpoint> address;
    parsed(parse_listen_address, address, "an address with a port", "127.0.0.1:8947")(node, path);
    if (!address) return;
    for (const Endpoint& other : config_.listen) {
      if (other == *address && (address->port != 0 || address->is_unix())) {
        return problem(node, path, quoted(format_endpoint(*address)) + " is in the list twice; keep one of the two");
      }
    }
    config_.listen.push_back(*address);
    listen_nodes_.emplace_back(&node, path);
  }

  void read_on_scrape(const Node& node, const std::string& path) {
    config_.poll.on_scrape.reset();
    if (node.kind == Node::Kind::kScalar && !node.is_quoted && node.text == "off") return;
    duration(config_.poll.on_scrape, std::chrono::milliseconds(1), kMaxPollInterval, "off, or 1s")(node, path);
  }

  void read_textfile(const Node& node, const std::string& path) {
    if (!is_text(node, path, "a path", "\"\" for none")) return;
    if (!node.text.empty() && (node.text.front() != '/' || node.text.back() == '/')) {
      return problem(
          node, path,
          quoted(node.text) + " is not the absolute path of a file; write one such as /var/lib/memstatd/memstat.prom");
    }
    config_.textfile = node.text;
  }

  void read_sources(const Node& node, const std::string& path) {
    if (!has_kind(node, path, Node::Kind::kMap, "a map of sources", "write {} or {NAME: {enabled: off}}")) return;
    for_each_key(node, path, [this](const Node& key, const Node& value, const std::string& key_path) {
      read_source(key, value, key_path);
    });
  }

  void read_account(const Node& node, const std::string& path, const std::string& what, std::string& place) {
    if (!is_text(node, path, "the name of a " + what, "nobody")) return;
    const auto is_bad = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ':' || c == '/' || c == '\x7F'; };
    const bool is_dash_first = !node.text.empty() && node.text.front() == '-';
    if (is_dash_first || std::any_of(node.text.begin(), node.text.end(), is_bad)) {
      return problem(node, path, quoted(node.text) + " is not the name of a " + what + "; write one such as nobody");
    }
    place = node.text;
  }

  void read_source(const Node& key, const Node& node, const std::string& path) {
    const std::vector<std::string_view> known(context_.sources.begin(), context_.sources.end());
    const auto place = static_cast<std::size_t>(std::find(known.begin(), known.end(), key.text) - known.begin());
    if (place == known.size()) {
      return problem(key, path,
                     "is not a source of this build" + nearest_or(key.text, known, "write one of: " + listing(known)));
    }
    SourceConfig& source = config_.sources[key.text];
    std::vector<Key> keys = {{"enabled", switch_word(source.enabled)},
                             {"interval", duration(source.interval, kMinPollInterval, kMaxPollInterval, "60s")}};
    if (place < context_.options.size()) add_options(place, "", keys);
    map(keys)(node, path);
  }

  /// Settings of sources that stand below a top-level key.
  void read_groups(const Node& node, const std::string& path) {
    std::vector<Key> keys;
    for (std::size_t place = 0; place < context_.options.size(); ++place) add_options(place, path, keys);
    map(keys)(node, path);
  }

  void add_options(std::size_t place, std::string_view section, std::vector<Key>& keys) {
    for (const SourceOption& option : context_.options[place]) {
      if (option.kind == SourceOption::Kind::kKey || option.section != section) continue;
      keys.push_back({option.name, source_option(option, std::string(context_.sources[place]))});
    }
  }

  Reader switch_word(Switch& place) {
    return [this, &place](const Node& node, const std::string& path) {
      if (!is_text(node, path, "auto, on or off", "auto")) return;
      const auto value = parse_switch(node.text);
      if (value) {
        place = *value;
        return;
      }
      const std::string meant = meant_word(node.text, "on", "off");
      problem(node, path,
              meant == "write on or off" ? value.error().detail : quoted(node.text) + " is not a known value; " + meant);
    };
  }

  Reader source_option(const SourceOption& option, const std::string& source) {
    using Kind = SourceOption::Kind;
    return [this, &option, source](const Node& node, const std::string& path) {
      SourceSetting setting;
      std::optional<std::uint64_t> number;
      const auto text_of = [&](std::uint64_t value) {
        return option.kind == Kind::kDuration ? duration_text(nanoseconds(static_cast<std::int64_t>(value)))
                                              : std::to_string(value);
      };
      const std::string usual = text_of(option.default_number);
      switch (option.kind) {
        case Kind::kSwitch:
          if (!is_text(node, path, "on or off", option.default_number != 0 ? "on" : "off")) return;
          if (node.text == "on" || node.text == "off") {
            number = node.text == "on" ? 1 : 0;
            break;
          }
          return problem(node, path, quoted(node.text) + " is not a switch; " + meant_word(node.text, "on", "off"));
        case Kind::kNumber:
          if (!is_text(node, path, "a whole number", usual)) return;
          if (!node.is_quoted) number = parse_u64(node.text);
          if (!number) return problem(node, path, quoted(node.text) + " is not a whole number; write one such as " + usual);
          break;
        case Kind::kKey: return;  // not an option's own value
        case Kind::kBytes: parsed(parse_size, number, "a size", "64KiB")(node, path); break;
        case Kind::kDuration: {
          std::optional<nanoseconds> value;
          parsed(parse_duration, value, "a duration", "10ms")(node, path);
          if (value) number = static_cast<std::uint64_t>(value->count());
          break;
        }
        case Kind::kPattern: {
          const std::size_t before = problems_.size();
          parsed(NamePattern::compile, setting.pattern, "a regular expression", "\".*\"")(node, path);
          const bool is_set = problems_.size() == before && node.text != option.default_pattern;
          if (is_set) config_.sources[source].settings.emplace(option.name, std::move(setting));
          return;
        }
      }
      if (!number) return;  // the problem is reported already
      if (*number < option.least || *number > option.most) {
        return problem(
            node, path,
            quoted(node.text) + " is out of range; write " + text_of(option.least) + " to " + text_of(option.most));
      }
      if (*number == option.default_number) return;
      setting.number = *number;
      config_.sources[source].settings.emplace(option.name, std::move(setting));
    };
  }

  void read_limit(const Node& node, const std::string& path) {
    LimitConfig limit;
    const std::string_view any = "\".*\"";
    const std::size_t problems_before = problems_.size();
    map({{"allocator", parsed(NamePattern::compile, limit.allocator, "a regular expression", any)},
         {"type", parsed(NamePattern::compile, limit.type, "a regular expression", any)},
         {"bytes", size(limit.bytes, "2GiB")},
         {"objects", number(std::numeric_limits<std::uint64_t>::max(), "100000",
                            [&](std::uint64_t value) { limit.objects = value; })}})(node, path);
    if (problems_.size() != problems_before) return;
    for (const char* key : {"allocator", "type"}) {
      if (!written_.contains(path + "." + key)) {
        problem(node, path + "." + key, "is missing; write " + std::string(key) + ": \".*\" to match every one");
      }
    }
    if (!limit.bytes && !limit.objects) {
      problem(node, path, "sets neither bytes nor objects; write a limit, such as bytes: 2GiB");
    }
    config_.limits.push_back(std::move(limit));
  }

  void read_counter_set(const Node& node, const std::string& path) {
    const SourceOption* taker = nullptr;  // option of the source that counts them
    for (const std::span<const SourceOption> options : context_.options) {
      for (const SourceOption& option : options) {
        if (option.kind == SourceOption::Kind::kKey && option.name == "counters") taker = &option;
      }
    }
    if (taker == nullptr) return problem(node, path, "cannot be counted: this build has no counters; remove the key");
    if (config_.counters.size() == kMaxCounterSets) return problem(node, path, "is one set too many; write at most 16");
    CounterSetConfig set;
    const std::size_t problems_before = problems_.size();
    const auto read_event = [&](const Node& item, const std::string& item_path) {
      if (!is_text(item, item_path, "the name of an event", "page-faults")) return;
      if (const std::string why = taker->problem_with(item.text); !why.empty()) {
        return problem(item, item_path, quoted(item.text) + " " + why);
      }
      set.events.push_back(item.text);
    };
    map({{"set", parsed(parse_set_name, set.name, "a word", "memory")},
         {"events", list("a list of events", "[page-faults]", read_event)},
         {"cpus", parsed(parse_cpus, set.cpus, "all, or a list of CPUs", "0-3")}})(node, path);
    if (problems_.size() != problems_before) return;
    if (set.name.empty()) return problem(node, path, "has no name; write set: memory");
    if (set.events.empty() && set.name == "memory") {
      std::string_view usual = taker->default_pattern;
      for (std::string_view event; next_word(usual, event);) set.events.emplace_back(event);
    }
    if (set.events.empty()) return problem(node, path, "has no events; only set: memory has default events");
    check_counter_set(set, node, path);
    config_.counters.push_back(std::move(set));
  }

  /// Whether an event would be counted twice on a CPU, or there are too many.
  void check_counter_set(const CounterSetConfig& set, const Node& node, const std::string& path) {
    std::size_t count = set.events.size();
    const auto check = [&](const std::string& event, const CounterSetConfig& other, auto begin) {
      if (std::find(begin, other.events.end(), event) == other.events.end()) return;
      const std::string where = &other == &set ? "" : ", also in set " + other.name;
      problem(node, path, "counts " + quoted(event) + " twice on one CPU" + where + "; keep one of the two");
    };
    for (auto event = set.events.begin(); event != set.events.end(); ++event) check(*event, set, event + 1);
    for (const CounterSetConfig& other : config_.counters) {
      count += other.events.size();
      const bool is_common = set.cpus == "all" || other.cpus == "all" || lists_overlap(set.cpus, other.cpus);
      for (const std::string& event : set.events) {
        if (is_common) check(event, other, other.events.begin());
      }
    }
    if (count > kMaxCounterEvents)
      problem(node, path, "makes " + std::to_string(count) + " events; write at most 64 in all sets");
  }

  Reader type_patterns(std::vector<TypePattern>& place) {
    return list("a list of filters", "[{allocator: slab, type: \"kmalloc-.*\"}]",
                [this, &place](const Node& node, const std::string& path) {
                  TypePattern pattern;
                  const std::size_t problems_before = problems_.size();
                  map({{"allocator", parsed(NamePattern::compile, pattern.allocator, "a regular expression", "\".*\"")},
                       {"type", parsed(NamePattern::compile, pattern.type, "a regular expression", "\".*\"")}})(node, path);
                  if (problems_.size() != problems_before) return;
                  if (!written_.contains(path + ".allocator") && !written_.contains(path + ".type")) {
                    return problem(node, path,
                                   "has neither allocator nor type; write one of them, such as type: \"kmalloc-.*\"");
                  }
                  place.push_back(std::move(pattern));
                });
  }

  /// Checks keys against each other.
  void check_together() {
    const auto allow = written_.find("allow");
    const bool has_allow = allow != written_.end() && !allow->second->children.empty();
    for (std::size_t i = 0; i < listen_nodes_.size(); ++i) {
      const auto result = check_listen_address(config_.listen[i], has_allow);
      if (!result) problem(*listen_nodes_[i].first, listen_nodes_[i].second, result.error().detail);
    }
    if (!problems_.empty()) return;  // the rest compares values, which must be valid
    const std::string interval = duration_text(config_.poll.interval);
    for (const auto& [name, source] : config_.sources) {
      if (source.interval && *source.interval < config_.poll.interval) {
        const std::string path = "sources." + name + ".interval";
        problem(*written_.at(path), path,
                quoted(duration_text(*source.interval)) + " is shorter than poll.interval (" + interval +
                    "), and sources are read at polls only; write " + interval + " or more");
      }
    }
    if (config_.growth_window < config_.poll.interval) {
      // One of the two keys is in the file, because the defaults are consistent.
      const std::string path = written_.contains("growth.window") ? "growth.window" : "poll.interval";
      problem(*written_.at(path), path,
              "growth.window (" + duration_text(config_.growth_window) + ") is shorter than poll.interval (" + interval +
                  "), so no growth could be seen; write growth: {window: " + interval + "} or more");
    }
  }

  const ConfigContext& context_;
  Config config_;
  std::map<std::string, const Node*> written_;                     ///< values of the keys in the file, by path; in the tree
  std::vector<std::pair<const Node*, std::string>> listen_nodes_;  ///< and path, for each entry of config_.listen
  std::vector<Problem> problems_;
};

void Loader::read_basic_auth(const Node& node, const std::string& path) {
  if (!has_kind(node, path, Node::Kind::kMap, "a map of names and hashes", "write {} or {NAME: \"$2y$10$...\"}")) return;
  auto& users = config_.basic_auth;
  for_each_key(node, path, [&](const Node& key, const Node& value, const std::string& key_path) {
    std::string name;
    parsed(parse_client_name, name, "a name", "prometheus")(key, key_path);
    parsed(parse_bcrypt_hash, users[name], "a hash of bcrypt", "\"$2y$10$...\"")(value, key_path);
    if (!have_same_cost(users.begin()->second, users[name])) {
      problem(value, key_path,
              "has a different cost than the one before, so response times would reveal names; use the same cost for all");
    }
  });
  if (!users.empty() && context_.is_readable_by_all) {
    problem(node, path,
            "is in a file that every account can read; run chmod o-r, with a group that memstatd's account is in");
  }
}

}  // namespace

ConfigResult load_config_text(std::string_view yaml, std::string_view file_name, const ConfigContext& context) {
  Loader loader(context);
  Node root;
  try {
    if (auto problem = read_yaml_tree(yaml, root)) {
      loader.add(*std::move(problem));
    } else {
      loader.read(root);
    }
  } catch (const std::bad_alloc&) {  // not an error in the file
    throw;
  } catch (const std::exception& error) {
    loader.add({{}, std::string(kFileKey), std::string("cannot be read: ") + error.what() + "; try again"});
  }
  return loader.finish(file_name);
}

}  // namespace memstat
