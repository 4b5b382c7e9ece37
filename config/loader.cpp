// SPDX-License-Identifier: BSD-2-Clause
// Two steps: yaml_tree.h builds a small tree; Loader walks it with one table of keys, and collects all problems.
#include "config/loader.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "config/key_reader.h"
#include "config/yaml_tree.h"
#include "core/base/text.h"

namespace memstat {
namespace {

using std::chrono::nanoseconds;
class Loader : private KeyReader {
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

  using KeyReader::add;
  ConfigResult finish(std::string_view file_name) {
    ConfigProblems problems = problems_of(file_name);
    if (problems.lines.empty()) return std::move(config_);
    return problems;
  }

 private:
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
          const std::size_t before = problem_count();
          parsed(NamePattern::compile, setting.pattern, "a regular expression", "\".*\"")(node, path);
          const bool is_set = problem_count() == before && node.text != option.default_pattern;
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
    const std::size_t problems_before = problem_count();
    map({{"allocator", parsed(NamePattern::compile, limit.allocator, "a regular expression", any)},
         {"type", parsed(NamePattern::compile, limit.type, "a regular expression", any)},
         {"bytes", size(limit.bytes, "2GiB")},
         {"objects", number(std::numeric_limits<std::uint64_t>::max(), "100000",
                            [&](std::uint64_t value) { limit.objects = value; })}})(node, path);
    if (problem_count() != problems_before) return;
    for (const char* key : {"allocator", "type"}) {
      if (written(path + "." + key) == nullptr) {
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
    const std::size_t problems_before = problem_count();
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
    if (problem_count() != problems_before) return;
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
                  const std::size_t problems_before = problem_count();
                  map({{"allocator", parsed(NamePattern::compile, pattern.allocator, "a regular expression", "\".*\"")},
                       {"type", parsed(NamePattern::compile, pattern.type, "a regular expression", "\".*\"")}})(node, path);
                  if (problem_count() != problems_before) return;
                  if (written(path + ".allocator") == nullptr && written(path + ".type") == nullptr) {
                    return problem(node, path,
                                   "has neither allocator nor type; write one of them, such as type: \"kmalloc-.*\"");
                  }
                  place.push_back(std::move(pattern));
                });
  }

  /// Checks keys against each other.
  void check_together() {
    const Node* const allow = written("allow");
    const bool has_allow = allow != nullptr && !allow->children.empty();
    for (std::size_t i = 0; i < listen_nodes_.size(); ++i) {
      const auto result = check_listen_address(config_.listen[i], has_allow);
      if (!result) problem(*listen_nodes_[i].first, listen_nodes_[i].second, result.error().detail);
    }
    if (problem_count() != 0) return;  // the rest compares values, which must be valid
    const std::string interval = duration_text(config_.poll.interval);
    for (const auto& [name, source] : config_.sources) {
      if (source.interval && *source.interval < config_.poll.interval) {
        const std::string path = "sources." + name + ".interval";
        problem(*written(path), path,
                quoted(duration_text(*source.interval)) + " is shorter than poll.interval (" + interval +
                    "), and sources are read at polls only; write " + interval + " or more");
      }
    }
    if (config_.growth_window < config_.poll.interval) {
      // One of the two keys is in the file, because the defaults are consistent.
      const std::string path = written("growth.window") != nullptr ? "growth.window" : "poll.interval";
      problem(*written(path), path,
              "growth.window (" + duration_text(config_.growth_window) + ") is shorter than poll.interval (" + interval +
                  "), so no growth could be seen; write growth: {window: " + interval + "} or more");
    }
  }

  const ConfigContext& context_;
  Config config_;
  std::vector<std::pair<const Node*, std::string>> listen_nodes_;  ///< and path, for each entry of config_.listen
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
  YamlNode root;
  try {
    if (auto problem = read_yaml_tree(yaml, root)) {
      loader.add(*std::move(problem));
    } else {
      loader.read(root);
    }
  } catch (const std::bad_alloc&) {  // not an error in the file
    throw;
  } catch (const std::exception& error) {
    loader.add({{}, std::string(kYamlFileKey), std::string("cannot be read: ") + error.what() + "; try again"});
  }
  return loader.finish(file_name);
}

}  // namespace memstat
