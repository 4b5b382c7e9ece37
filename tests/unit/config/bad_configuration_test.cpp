// SPDX-License-Identifier: BSD-2-Clause
// The messages of wrong configurations, word by word: they are what a user sees at 3 in the morning.
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "config/loader.h"

namespace memstat {
namespace {

constexpr std::array<std::string_view, 3> kKnownSources = {"freebsd_malloc", "freebsd_uma", "linux_slabinfo"};

struct BadConfiguration {
  std::string yaml;
  std::vector<std::string> problems;  ///< Without the file's name and the colon behind it.
};

const BadConfiguration kBadConfigurations[] = {
    {"pol: {interval: 5s}\n", {"1:1: pol: is not a known key; did you mean poll?"}},
    {"poll: {intervall: 5s}\n", {"1:8: poll.intervall: is not a known key; did you mean interval?"}},
    {"Poll: {interval: 5s}\n", {"1:1: Poll: is not a known key; did you mean poll?"}},
    {"quux: 1\n",
     {"1:1: quux: is not a known key; the keys here are listen, allow, user, enable_reload, basic_auth, poll, tier, "
      "per_cpu, sources, "
      "filters, limits, counters, min_bytes, series_limit, created_series, growth, retention, history, capture, textfile, "
      "log, events, "
      "sandbox, lock_memory"}},
    {"- tier: full\n",
     {"1:1: (file): must be a map of keys, not a list; write some of its keys (listen, allow, user, enable_reload, "
      "basic_auth, poll, "
      "tier, per_cpu, sources, filters, limits, counters, min_bytes, series_limit, created_series, growth, retention, "
      "history, "
      "capture, "
      "textfile, log, events, "
      "sandbox, lock_memory)"}},
    {"tier\n",
     {"1:1: (file): must be a map of keys, not \"tier\"; write some of its keys (listen, allow, user, enable_reload, "
      "basic_auth, poll, "
      "tier, per_cpu, sources, filters, limits, counters, min_bytes, series_limit, created_series, growth, retention, "
      "history, "
      "capture, "
      "textfile, log, events, "
      "sandbox, lock_memory)"}},
    {"tier: fast\n", {"1:7: tier: \"fast\" is not a known value; write minimal, default or full"}},
    {"tier: [full]\n", {"1:7: tier: must be minimal, default or full, not a list; write default"}},
    {"tier:\n", {"1:1: tier: has no value; write default, or remove the key"}},
    {"tier: full\nuser: x\ntier: minimal\n", {"3:1: tier: appears twice, first in line 1; keep one of the two"}},
    {"poll:\n  interval: 10s\n  timeout: 1s\n  interval: 5s\n",
     {"4:3: poll.interval: appears twice, first in line 2; keep one of the two"}},
    {"poll: 10s\n",
     {"1:7: poll: must be a map of keys, not \"10s\"; write some of its keys (interval, timeout, on_scrape)"}},
    {"poll:\n", {"1:1: poll: has no value; write some of its keys (interval, timeout, on_scrape), or remove the key"}},
    {"poll: []\n", {"1:7: poll: must be a map of keys, not a list; write some of its keys (interval, timeout, on_scrape)"}},
    {"poll: {interval: 10}\n", {"1:18: poll.interval: \"10\" has no unit; write 10s if seconds are meant"}},
    {"poll: {interval: \"\"}\n", {"1:18: poll.interval: \"\" is not a duration; write a number and a unit, such as 10s"}},
    {"poll: {interval: abc}\n", {"1:18: poll.interval: \"abc\" is not a duration; write a number and a unit, such as 10s"}},
    {"poll: {interval: 10 s}\n",
     {"1:18: poll.interval: \"10 s\" has the unknown unit \" s\"; the units are d, h, m, s, ms, us, ns, as in 1m30s"}},
    {"poll: {interval: 10sec}\n",
     {"1:18: poll.interval: \"10sec\" has the unknown unit \"sec\"; the units are d, h, m, s, ms, us, ns, as in 1m30s"}},
    {"poll: {interval: 1.5s}\n", {"1:18: poll.interval: \"1.5s\" has a fraction; write whole numbers, such as 1s500ms"}},
    {"poll: {interval: -5s}\n", {"1:18: poll.interval: \"-5s\" is negative; write a duration from 0s up, such as 10s"}},
    {"poll: {interval: 0s}\n", {"1:18: poll.interval: \"0s\" is too short; write at least 100ms"}},
    {"poll: {interval: 0}\n", {"1:18: poll.interval: \"0\" has no unit; write 0s if seconds are meant"}},
    {"poll: {interval: 99ms}\n", {"1:18: poll.interval: \"99ms\" is too short; write at least 100ms"}},
    {"poll: {interval: 25h}\n", {"1:18: poll.interval: \"25h\" is too long; write at most 24h"}},
    {"poll: {interval: 1s1m}\n",
     {"1:18: poll.interval: \"1s1m\" has its units out of order or twice; write the largest first, as in 1h30m"}},
    {"poll: {interval: 1m30}\n", {"1:18: poll.interval: \"1m30\" ends in a number without a unit; write it like 1m30s"}},
    {"poll: {interval: 999999999999d}\n",
     {"1:18: poll.interval: \"999999999999d\" is longer than 292 years; write a shorter duration"}},
    {"poll: {interval: 1m1m}\n",
     {"1:18: poll.interval: \"1m1m\" has its units out of order or twice; write the largest first, as in 1h30m"}},
    {"poll: {interval: [10s]}\n", {"1:18: poll.interval: must be a duration, not a list; write 10s"}},
    {"poll: {timeout: 0s}\n", {"1:17: poll.timeout: \"0s\" is too short; write at least 1ms"}},
    {"poll: {timeout: 2h}\n", {"1:17: poll.timeout: \"2h\" is too long; write at most 1h"}},
    {"poll: {interval: 2h}\n",
     {"1:18: poll.interval: growth.window (1h) is shorter than poll.interval (2h), so no growth could be seen; write "
      "growth: {window: 2h} or more"}},
    {"growth: {window: 5s}\n",
     {"1:18: growth.window: growth.window (5s) is shorter than poll.interval (10s), so no growth could be seen; write "
      "growth: {window: 10s} or more"}},
    {"growth: {window: 48h}\n", {"1:18: growth.window: \"48h\" is too long; write at most 24h"}},
    {"growth: {window: 0s}\n", {"1:18: growth.window: \"0s\" is too short; write at least 1s"}},
    {"listen: 127.0.0.1:8947\n",
     {"1:9: listen: must be a list of addresses, not \"127.0.0.1:8947\"; write [\"127.0.0.1:8947\"]"}},
    {"listen: []\n", {"1:9: listen: is an empty list, so no client could connect; write [\"127.0.0.1:8947\"]"}},
    {"listen: [\"[::1]:8947\"]\n",
     {"1:10: listen[0]: \"[::1]:8947\" is an IPv6 address, which the HTTP server (Debian's civetweb) cannot listen on; "
      "write an IPv4 one, such as 127.0.0.1:8947, and put a reverse proxy in front for IPv6"}},
    {"listen: [8947]\n", {"1:10: listen[0]: \"8947\" is a port without an address; write 127.0.0.1:8947"}},
    {"listen: [\"127.0.0.1\"]\n", {"1:10: listen[0]: \"127.0.0.1\" has no port; write 127.0.0.1:8947"}},
    {"listen: [\":8947\"]\n",
     {"1:10: listen[0]: \":8947\" has no address before the port; write 127.0.0.1:8947, or 0.0.0.0:8947 and the key allow"}},
    {"listen: [\"localhost:8947\"]\n", {"1:10: listen[0]: \"localhost:8947\" names its host; write 127.0.0.1:8947"}},
    {"listen: [\"127.0.0.1:65536\"]\n",
     {"1:10: listen[0]: \"127.0.0.1:65536\" has a port that is not a number from 0 (any) to 65535; write one such as "
      "127.0.0.1:8947"}},
    {"listen: [\"127.0.0.1:http\"]\n",
     {"1:10: listen[0]: \"127.0.0.1:http\" has a port that is not a number from 0 (any) to 65535; write one such as "
      "127.0.0.1:8947"}},
    {"listen: [\"127.0.0.256:8947\"]\n",
     {"1:10: listen[0]: \"127.0.0.256:8947\" has a host that is not an IPv4 address; write four numbers from 0 to 255, such "
      "as 127.0.0.1:8947"}},
    {"listen: [\"127.0.0.01:8947\"]\n",
     {"1:10: listen[0]: \"127.0.0.01:8947\" has a host that is not an IPv4 address; write four numbers from 0 to 255, such "
      "as 127.0.0.1:8947"}},
    {"listen: [\"127.0.0.1:1\", \"127.0.0.1:1\"]\n",
     {"1:25: listen[1]: \"127.0.0.1:1\" is in the list twice; keep one of the two"}},
    {"listen: [\"0.0.0.0:8947\"]\n",
     {"1:10: listen[0]: \"0.0.0.0:8947\" can be reached from other machines, and no list of clients is set: the page "
      "has values that the kernel shows to root only (/proc/slabinfo is mode 0400); add allow: [\"192.0.2.0/24\"] with the "
      "networks of your Prometheus, or listen on 127.0.0.1"}},
    {"listen: [\"127.0.0.1:1\", \"192.0.2.7:8947\"]\nallow: []\n",
     {"1:25: listen[1]: \"192.0.2.7:8947\" can be reached from other machines, and no list of clients is set: the page "
      "has values that the kernel shows to root only (/proc/slabinfo is mode 0400); add allow: [\"192.0.2.0/24\"] with the "
      "networks of your Prometheus, or listen on 127.0.0.1"}},
    {"listen: [{host: a}]\n", {"1:10: listen[0]: must be an address with a port, not a map; write 127.0.0.1:8947"}},
    {"listen:\n  -\n", {"2:3: listen[0]: has no value; write 127.0.0.1:8947, or remove the key"}},
    {"allow: 10.0.0.0/8\n", {"1:8: allow: must be a list of networks, not \"10.0.0.0/8\"; write [\"10.0.0.0/8\"]"}},
    {"allow: [\"10.0.0.1/8\"]\n",
     {"1:9: allow[0]: \"10.0.0.1/8\" has bits set beyond its prefix, so it would match no address; write 10.0.0.0/8"}},
    {"allow: [\"10.0.0.1\"]\n",
     {"1:9: allow[0]: \"10.0.0.1\" has no prefix length; write 10.0.0.1/32 for this one address"}},
    {"allow: [\"10.0.0.0/33\"]\n",
     {"1:9: allow[0]: \"10.0.0.0/33\" has a prefix length that is not a number from 0 to 32; write 10.0.0.0/8"}},
    {"allow: [\"::1/128\"]\n",
     {"1:9: allow[0]: \"::1/128\" is an IPv6 network, which the HTTP server (Debian's civetweb) does not know; write an "
      "IPv4 network, such as 10.0.0.0/8"}},
    {"allow: [\"office\"]\n", {"1:9: allow[0]: \"office\" is not an IPv4 network; write one such as 10.0.0.0/8"}},
    {"user: -x\n", {"1:7: user: \"-x\" is not the name of a user; write one such as nobody"}},
    {"user: \"a b\"\n", {"1:7: user: \"a b\" is not the name of a user; write one such as nobody"}},
    {"enable_reload: yes\n", {"1:16: enable_reload: \"yes\" is not a truth value; write true or false, without quotes"}},
    {"enable_reload: \"true\"\n",
     {"1:16: enable_reload: the text \"true\" is not a truth value; write true or false, without quotes"}},
    {"sandbox: 1\n", {"1:10: sandbox: \"1\" is not a truth value; write true or false, without quotes"}},
    {"lock_memory: {}\n", {"1:14: lock_memory: must be true or false, not a map; write true"}},
    {"retention: 0\n", {"1:12: retention: \"0\" is not a whole number from 1 to 100000; write one such as 6"}},
    {"retention: many\n", {"1:12: retention: \"many\" is not a whole number from 1 to 100000; write one such as 6"}},
    {"retention: -1\n", {"1:12: retention: \"-1\" is not a whole number from 1 to 100000; write one such as 6"}},
    {"retention: 100001\n", {"1:12: retention: \"100001\" is not a whole number from 1 to 100000; write one such as 6"}},
    {"history: -1\n", {"1:10: history: \"-1\" is negative; write a size from 0 up, such as 64MiB"}},
    {"history: []\n", {"1:10: history: must be a size, not a list; write 2MiB, or 0 for none"}},
    {"retention: \"6\"\n", {"1:12: retention: the text \"6\" is not a whole number from 1 to 100000; write one such as 6"}},
    {"per_cpu: {types: \"kmalloc\"}\n",
     {"1:18: per_cpu.types: must be a list of regular expressions, not \"kmalloc\"; write [\"kmalloc-.*\"]"}},
    {"per_cpu: {types: [\"kmalloc-(\"]}\n",
     {"1:19: per_cpu.types[0]: \"kmalloc-(\" is not a regular expression: it has \"(\" without \")\"; write POSIX extended "
      "syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {types: [\"a)\"]}\n",
     {"1:19: per_cpu.types[0]: \"a)\" is not a regular expression: it has \")\" without \"(\"; write POSIX extended syntax "
      "for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {types: [\"*a\"]}\n",
     {"1:19: per_cpu.types[0]: \"*a\" is not a regular expression: a repetition (* + ? {) has nothing to repeat; write "
      "POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {types: [\"[a\"]}\n",
     {"1:19: per_cpu.types[0]: \"[a\" is not a regular expression: it has \"[\" without \"]\"; write POSIX extended syntax "
      "for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"\\\\d+\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"\\d+\" is not a regular expression: POSIX does not define a backslash before that "
      "character (for \\d write [0-9], for \\w [[:alnum:]_]); write POSIX extended syntax for the whole name, such as "
      "kmalloc-.*"}},
    {"per_cpu: {allocators: [\"\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"\" is not a regular expression: it is empty; write POSIX extended syntax for the "
      "whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"(a|)\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"(a|)\" is not a regular expression: a group or an alternative in it is empty; write "
      "POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"a{3\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"a{3\" is not a regular expression: \"{\" starts no repetition such as {2,4}; write "
      "POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"a{3,2}\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"a{3,2}\" is not a regular expression: a repetition has the larger number first; write "
      "POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"a{256}\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"a{256}\" is not a regular expression: a repetition count is above 255; write POSIX "
      "extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"((a{100}){100}){100}\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"((a{100}){100}){100}\" is not a regular expression: its nested repetitions take too "
      "many steps; write POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"(?:a)\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"(?:a)\" is not a regular expression: a repetition (* + ? {) has nothing to repeat; "
      "write POSIX extended syntax for the whole name, such as kmalloc-.*"}},
    {"per_cpu: {allocators: [\"(a)\\\\1\"]}\n",
     {"1:24: per_cpu.allocators[0]: \"(a)\\1\" is not a regular expression: POSIX does not define a backslash before that "
      "character (for \\d write [0-9], for \\w [[:alnum:]_]); write POSIX extended syntax for the whole name, such as "
      "kmalloc-.*"}},
    {"per_cpu: {cpus: [0]}\n", {"1:11: per_cpu.cpus: is not a known key; the keys here are allocators, types"}},
    {"sources: {linux_slab: {enabled: on}}\n",
     {"1:11: sources.linux_slab: is not a source of this build; write one of: freebsd_malloc, freebsd_uma, linux_slabinfo"}},
    {"sources: [linux_slabinfo]\n",
     {"1:10: sources: must be a map of sources, not a list; write {} or {NAME: {enabled: off}}"}},
    {"sources: {linux_slabinfo: off}\n",
     {"1:27: sources.linux_slabinfo: must be a map of keys, not \"off\"; write some of its keys (enabled, interval)"}},
    {"sources: {linux_slabinfo: {enabled: true}}\n",
     {"1:37: sources.linux_slabinfo.enabled: \"true\" is not a known value; write auto, on or off"}},
    {"sources: {linux_slabinfo: {enable: on}}\n",
     {"1:28: sources.linux_slabinfo.enable: is not a known key; did you mean enabled?"}},
    {"sources: {linux_slabinfo: {interval: 5s}}\n",
     {"1:38: sources.linux_slabinfo.interval: \"5s\" is shorter than poll.interval (10s), and sources are read at polls "
      "only; write 10s or more"}},
    {"sources: {linux_slabinfo: {interval: 60}}\n",
     {"1:38: sources.linux_slabinfo.interval: \"60\" has no unit; write 60s if seconds are meant"}},
    {"limits: {type: x}\n",
     {"1:9: limits: must be a list of limits, not a map; write [{allocator: slab, type: \"dentry\", bytes: 2GiB}]"}},
    {"limits: [dentry]\n",
     {"1:10: limits[0]: must be a map of keys, not \"dentry\"; write some of its keys (allocator, type, bytes, objects)"}},
    {"limits: [{allocator: slab, type: dentry}]\n",
     {"1:10: limits[0]: sets neither bytes nor objects; write a limit, such as bytes: 2GiB"}},
    {"limits: [{type: dentry, bytes: 1GiB}]\n",
     {"1:10: limits[0].allocator: is missing; write allocator: \".*\" to match every one"}},
    {"limits: [{allocator: slab, bytes: 1GiB}]\n",
     {"1:10: limits[0].type: is missing; write type: \".*\" to match every one"}},
    {"limits: [{allocator: slab, type: dentry, bytes: 0}]\n",
     {"1:49: limits[0].bytes: \"0\" leaves no room; write a size above 0, such as 2GiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: 2GB2}]\n",
     {"1:49: limits[0].bytes: \"2GB2\" has the unknown unit \"GB2\"; the units are B, kB, MB, GB, TB, PB (1000) and KiB, "
      "MiB, GiB, TiB, PiB (1024), as in 64MiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: 2G}]\n",
     {"1:49: limits[0].bytes: \"2G\" has the unknown unit \"G\"; the units are B, kB, MB, GB, TB, PB (1000) and KiB, MiB, "
      "GiB, TiB, PiB (1024), as in 64MiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: 1.5GiB}]\n",
     {"1:49: limits[0].bytes: \"1.5GiB\" has a fraction; write a whole number of a smaller unit, such as 1536MiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: -1}]\n",
     {"1:49: limits[0].bytes: \"-1\" is negative; write a size from 0 up, such as 64MiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: 99999999999PiB}]\n",
     {"1:49: limits[0].bytes: \"99999999999PiB\" is more than 64 bits can count; write at most 16383PiB"}},
    {"limits: [{allocator: slab, type: dentry, bytes: GiB}]\n",
     {"1:49: limits[0].bytes: \"GiB\" is not a size; write a whole number of bytes or a unit with it, such as 64MiB"}},
    {"limits: [{allocator: slab, type: dentry, objects: 1k}]\n",
     {"1:51: limits[0].objects: \"1k\" is not a whole number from 1 to 18446744073709551615; write one such as 100000"}},
    {"limits: [{allocator: slab, type: dentry, objects: 0}]\n",
     {"1:51: limits[0].objects: \"0\" is not a whole number from 1 to 18446744073709551615; write one such as 100000"}},
    {"limits: [{allocator: slab, type: dentry, byte: 1}]\n",
     {"1:42: limits[0].byte: is not a known key; did you mean bytes?"}},
    {"capture: {record: [a]}\n", {"1:19: capture.record: must be a path, not a list; write \"\" for none"}},
    {"capture: {record: /tmp/a.tar.gz}\n",
     {"1:19: capture.record: \"/tmp/a.tar.gz\" names an archive format that memstatd cannot write; write a name that ends "
      "in .tar.zst or .tar, or the name of a directory"}},
    {"capture: {max_bytes: 0}\n", {"1:22: capture.max_bytes: \"0\" leaves no room; write a size above 0, such as 1GiB"}},
    {"capture: {max_age: 0s}\n", {"1:20: capture.max_age: \"0s\" is too short; write at least 1s"}},
    {"log: {level: loud}\n", {"1:14: log.level: \"loud\" is not a known value; write trace, debug, info, warning or error"}},
    {"log: {format: xml}\n", {"1:15: log.format: \"xml\" is not a known value; write text or json"}},
    {"log: debug\n", {"1:6: log: must be a map of keys, not \"debug\"; write some of its keys (level, format)"}},
    {"basic_auth: {me: hash}\n",
     {"1:18: basic_auth.me: is not a hash of bcrypt with a cost of 4 to 15; htpasswd -nBC 10 NAME prints one"}},
    {"basic_auth: {me: \"$2y$16$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu\"}\n",
     {"1:18: basic_auth.me: is not a hash of bcrypt with a cost of 4 to 15; htpasswd -nBC 10 NAME prints one"}},
    {"basic_auth: {\"a:b\": \"$2y$04$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu\"}\n",
     {"1:14: basic_auth.a:b: \"a:b\" is not the name of a client; write one without colons, such as prometheus"}},
    {"basic_auth: [me]\n",
     {"1:13: basic_auth: must be a map of names and hashes, not a list; write {} or {NAME: \"$2y$10$...\"}"}},
    {"basic_auth: {a: \"$2y$04$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu\", b: "
     "\"$2b$05$ajqBJ3yPvgxzwk/Lv7zVAeIBKbBbgtFsN5WMnJ6dfVD3gqpk3Cpgu\"}\n",
     {"1:84: basic_auth.b: has another cost than the one before, so that the time of an answer would tell names; make all "
      "alike"}},
    {"poll: {on_scrape: \"off\"}\n",
     {"1:19: poll.on_scrape: \"off\" is not a duration; write a number and a unit, such as 10s"}},
    {"poll: {on_scrape: 0s}\n", {"1:19: poll.on_scrape: \"0s\" is too short; write at least 1ms"}},
    {"poll: {on_scrape: true}\n",
     {"1:19: poll.on_scrape: \"true\" is not a duration; write a number and a unit, such as 10s"}},
    {"filters: {exclud: []}\n", {"1:11: filters.exclud: is not a known key; did you mean exclude?"}},
    {"filters: []\n", {"1:10: filters: must be a map of keys, not a list; write some of its keys (include, exclude)"}},
    {"filters: {include: slab}\n",
     {"1:20: filters.include: must be a list of filters, not \"slab\"; write [{allocator: slab, type: \"kmalloc-.*\"}]"}},
    {"filters: {include: [slab]}\n",
     {"1:21: filters.include[0]: must be a map of keys, not \"slab\"; write some of its keys (allocator, type)"}},
    {"filters: {exclude: [{}]}\n",
     {"1:21: filters.exclude[0]: has neither allocator nor type; write one of them, such as type: \"kmalloc-.*\""}},
    {"filters: {exclude: [{type: a}, {tipe: b}]}\n",
     {"1:33: filters.exclude[1].tipe: is not a known key; did you mean type?"}},
    {"filters: {include: [{type: \"(\"}]}\n",
     {"1:28: filters.include[0].type: \"(\" is not a regular expression: it has \"(\" without \")\"; write POSIX extended "
      "syntax "
      "for the whole name, such as kmalloc-.*"}},
    {"min_bytes: -1\n", {"1:12: min_bytes: \"-1\" is negative; write a size from 0 up, such as 64MiB"}},
    {"min_bytes: []\n", {"1:12: min_bytes: must be a size, not a list; write 1MiB, or 0 for none"}},
    {"series_limit: 0\n", {"1:15: series_limit: \"0\" is not a whole number from 1 to 10000000; write one such as 20000"}},
    {"series_limit: 10000001\n",
     {"1:15: series_limit: \"10000001\" is not a whole number from 1 to 10000000; write one such as 20000"}},
    {"series_limit: unlimited\n",
     {"1:15: series_limit: \"unlimited\" is not a whole number from 1 to 10000000; write one such as 20000"}},
    {"events: {mode: all}\n", {"1:16: events.mode: \"all\" is not a known value; write off, failures, counters or full"}},
    {"events: {budget: 1}\n", {"1:18: events.budget: \"1\" is no percentage; write one of one CPU, such as 1%"}},
    {"events: {budget: 0.125%}\n",
     {"1:18: events.budget: \"0.125%\" is no percentage with at most two decimals; write one such as 1% or 0.25%"}},
    {"events: {budget: 1.%}\n",
     {"1:18: events.budget: \"1.%\" is no percentage with at most two decimals; write one such as 1% or 0.25%"}},
    {"events: {budget: -1%}\n",
     {"1:18: events.budget: \"-1%\" is no percentage with at most two decimals; write one such as 1% or 0.25%"}},
    {"events: {budget: 0.00%}\n",
     {"1:18: events.budget: \"0.00%\" is out of range; write 0.01% to 6400%, or remove the key for 1%"}},
    {"events: {budget: 6400.01%}\n",
     {"1:18: events.budget: \"6400.01%\" is out of range; write 0.01% to 6400%, or remove the key for 1%"}},
    {"events: off\n", {"1:9: events: must be a map of keys, not \"off\"; write some of its keys (mode, budget)"}},
    {"textfile: memstat.prom\n",
     {"1:11: textfile: \"memstat.prom\" is not the absolute path of a file; write one such as "
      "/var/lib/memstatd/memstat.prom"}},
    {"textfile: /var/lib/\n",
     {"1:11: textfile: \"/var/lib/\" is not the absolute path of a file; write one such as /var/lib/memstatd/memstat.prom"}},
    {"textfile: []\n", {"1:11: textfile: must be a path, not a list; write \"\" for none"}},
    {"tier: full\n---\ntier: full\n",
     {"2:1: (file): holds a second YAML document; keep one and remove the line \"---\" before the other"}},
    {"user: &me nobody\n", {"1:7: (file): uses a YAML anchor or alias (& or *); write the value itself, or quote it"}},
    {"user: *me\n", {"1:7: (file): uses a YAML anchor or alias (& or *); write the value itself, or quote it"}},
    {"<<: {tier: full}\n",
     {"1:1: <<: is not a known key; the keys here are listen, allow, user, enable_reload, basic_auth, poll, tier, per_cpu, "
      "sources, "
      "filters, limits, counters, min_bytes, series_limit, created_series, growth, retention, history, capture, textfile, "
      "log, events, "
      "sandbox, lock_memory"}},
    {"retention: !!int 6\n", {"1:12: (file): uses a YAML tag (!); remove it, or quote the value"}},
    {"[a]: 1\n", {"1:1: (file): has a list as a key; write a word"}},
    {"poll: {[a]: 1}\n", {"1:8: poll: has a list as a key; write a word"}},
    {"poll: {interval: 10s\n",
     {"2:1: (file): is not valid YAML: end of map flow not found; check indentation (spaces, no tabs), quotes and brackets "
      "here and above"}},
    {"poll:\n\tinterval: 10s\n",
     {"2:10: (file): is not valid YAML: illegal map value; check indentation (spaces, no tabs), quotes and brackets here "
      "and above"}},
    {"tier: full\n  user: x\n",
     {"2:7: (file): is not valid YAML: illegal map value; check indentation (spaces, no tabs), quotes and brackets here and "
      "above"}},
    {"user: \"a\\0b\"\n", {"1:7: (file): holds a NUL byte in a text; remove \\0"}},
    {"user: \"unclosed\n", {"1:7: (file): has an open quote; close it"}},
    {"%YAML 9.9\n---\ntier: full\n",
     {"1:1: (file): is not valid YAML: YAML major version too large; check indentation (spaces, no tabs), quotes and "
      "brackets here and above"}},
    {"a: " + std::string(64, '[') + "1" + std::string(64, ']') + "\n",
     {"1:67: (file): nests lists and maps too deeply; no key needs more than 3 levels"}},
    {"tier: fast\npoll: {interval: 10, timeout: x}\nbogus: 1\n",
     {"1:7: tier: \"fast\" is not a known value; write minimal, default or full",
      "2:18: poll.interval: \"10\" has no unit; write 10s if seconds are meant",
      "2:31: poll.timeout: \"x\" is not a duration; write a number and a unit, such as 10s",
      "3:1: bogus: is not a known key; the keys here are listen, allow, user, enable_reload, basic_auth, poll, tier, "
      "per_cpu, sources, "
      "filters, limits, counters, min_bytes, series_limit, created_series, growth, retention, history, capture, textfile, "
      "log, events, "
      "sandbox, lock_memory"}},
};

TEST(BadConfiguration, IsRefusedWithTheMessage) {
  for (const BadConfiguration& bad : kBadConfigurations) {
    const ConfigResult result = load_config_text(bad.yaml, "f.yaml", ConfigContext{kKnownSources});
    std::vector<std::string> expected;
    for (const std::string& problem : bad.problems) expected.push_back("f.yaml:" + problem);
    EXPECT_FALSE(result) << bad.yaml;
    EXPECT_EQ(result.problems(), expected) << bad.yaml;
  }
}

TEST(BadConfiguration, TheTableIsAsLongAsPromised) { EXPECT_GE(std::size(kBadConfigurations), 60U); }

}  // namespace
}  // namespace memstat
