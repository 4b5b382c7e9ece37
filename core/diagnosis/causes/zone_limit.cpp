// SPDX-License-Identifier: BSD-2-Clause
// Zones of FreeBSD's uma(9) at their limits. Cached items count against a limit, too, so a full zone may be healthy.
#include <array>

#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"
#include "core/model/type_rules.h"

namespace memstat::causes::zone_limit {
namespace {

struct Zones {
  std::string_view name;
  std::array<std::string_view, 6> zones;  ///< names; a trailing '*' matches any rest
  std::string_view what;
  std::string_view effect;
  std::string_view who;
  std::string_view limit;
  std::string_view inspection = {};  ///< the inspection that names the holder
  bool is_harmless = false;          ///< it may be full on healthy machines: at most notable
};

constexpr std::array kFamilies{Zones{.name = "mbuf_limit",
                                     .zones = {"mbuf", "mbuf_cluster", "mbuf_jumbo_*"},
                                     .what = "Network buffers: zone ",
                                     .effect = "Packets are dropped, sends fail with ENOBUFS or wait.",
                                     .who = "netstat -xan | sort -k4 -rn | head",
                                     .limit = "sysctl kern.ipc.nmbufs kern.ipc.nmbclusters kern.ipc.nmbjumbop",
                                     .inspection = "queues"},
                               Zones{.name = "socket_zone_full",
                                     .zones = {"socket", "unpcb", "tcp_inpcb", "udp_inpcb", "tcpcb"},
                                     .what = "Sockets: zone ",
                                     .effect = "socket and accept fail with ENOBUFS.",
                                     .who = "sockstat | awk '{print $2}' | sort | uniq -c | sort -rn | head",
                                     .limit = "sysctl kern.ipc.maxsockets",
                                     .inspection = "sockets"},
                               Zones{.name = "pf_full",
                                     .zones = {"pf *"},
                                     .what = "The packet filter: ",
                                     .effect = "pf refuses new connections.",
                                     .who = "pfctl -ss | head",
                                     .limit = "pfctl -sm"},
                               Zones{.name = "ipfw_full",
                                     .zones = {"IPFW *"},
                                     .what = "ipfw: ",
                                     .effect = "Packets of new dynamic states are dropped.",
                                     .who = "ipfw -d show | head",
                                     .limit = "sysctl net.inet.ip.fw.dyn_max net.inet.ip.fw.dyn_parent_max"},
                               Zones{.name = "swap_metadata_full",
                                     .zones = {"swblk", "swpctrie"},
                                     .what = "Swap metadata: zone ",
                                     .effect = "The kernel kills processes although swap is not full.",
                                     .who = "top -w -o swap -b | head -20",
                                     .limit = "sysctl vm.swap_maxpages; echo kern.maxswzone in /boot/loader.conf"},
                               Zones{.name = "syncache_full",
                                     .zones = {"syncache"},
                                     .what = "Half-open connections: zone ",
                                     .effect = "New connections are answered with cookies and lose TCP options.",
                                     .who = "netstat -sp tcp | grep syncache",
                                     .limit = "sysctl net.inet.tcp.syncache"},
                               Zones{.name = "tcp_reassembly_full",
                                     .zones = {"tcpreass"},
                                     .what = "TCP reassembly: zone ",
                                     .effect = "Segments out of order are dropped and sent again.",
                                     .who = "netstat -sp tcp | grep -i out-of-order",
                                     .limit = "sysctl net.inet.tcp.reass.maxsegments"},
                               Zones{.name = "devctl_full",
                                     .zones = {"DEVCTL"},
                                     .what = "Events for devd: zone ",
                                     .effect = "devd misses events. If devd does not run, nothing reads them.",
                                     .who = "service devd status",
                                     .limit = "sysctl hw.bus.devctl_queue",
                                     .is_harmless = true},
                               Zones{.name = "zone_full",
                                     .zones = {"*"},
                                     .what = "Zone ",
                                     .effect = "Requests of this zone fail or wait.",
                                     .who = "procstat -kka | grep zone_alloc_limit",
                                     .limit = "vmstat -z | head"}};

bool is_zone_of(const Zones& family, std::string_view zone) {
  for (const std::string_view pattern : family.zones) {
    if (pattern.empty()) continue;
    const bool is_prefix = pattern.ends_with('*');
    if (is_prefix ? zone.starts_with(pattern.substr(0, pattern.size() - 1)) : zone == pattern) return true;
  }
  return false;
}

std::size_t family_of(std::string_view zone) {
  std::size_t row = 0;
  while (!is_zone_of(kFamilies[row], zone)) ++row;
  return row;
}

/// Whether cached items rather than items in use fill the limit. The next request then takes a cached item.
bool is_filled_by_caches(const TypeEvidence& zone, const LimitState& state) {
  return state.refused <= 0 && state.sleepers <= 0 && zone.objects && *zone.objects < 0.7 * state.limit;
}

/// Senders then take clusters instead.
bool has_clusters(const Evidence& evidence) {
  const TypeEvidence* const clusters = evidence.type(Allocator::kUma, "mbuf_cluster");
  const auto state = clusters != nullptr ? limit_state(evidence, *clusters) : std::nullopt;
  return state && state->share < kNearShare;
}

void look(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& zone : evidence.types) {
    if (zone.allocator != Allocator::kUma || zone.name == "mbuf_packet" || fails_routinely(zone.allocator, zone.name))
      continue;
    if (family_of(zone.name) != cause.row) continue;
    const auto state = limit_state(evidence, zone);
    if (!state || is_filled_by_caches(zone, *state)) continue;
    const auto judgement = judge(evidence, *state);
    if (!judgement) continue;
    const Zones& family = kFamilies[cause.row];
    Finding& finding =
        add_finding(found, cause, family.is_harmless ? Severity::kNotable : judgement->severity, judgement->certainty,
                    limit_headline(std::string(family.what) + short_name(zone.name, 24), judgement->severity, *state));
    add_limit_facts(evidence, zone, *state, finding);
    const bool falls_back = zone.name == "mbuf_jumbo_page" && has_clusters(evidence);
    const bool is_of_pf_tables = zone.name.starts_with("pf table");
    finding.is_about("uma", zone.name)
        .leads_to(falls_back        ? "Sends fall back to clusters of 2 KiB. A network card with large frames drops packets."
                  : is_of_pf_tables ? "pf adds no address to its tables, and rules with larger tables do not load."
                                    : family.effect)
        .then(is_of_pf_tables ? "pfctl -vvsTables | head -40" : family.who)
        .then(family.limit);
  }
}

void look_at_caches(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const TypeEvidence& zone : evidence.types) {
    if (zone.allocator != Allocator::kUma || zone.name == "mbuf_packet" || fails_routinely(zone.allocator, zone.name))
      continue;
    const auto state = limit_state(evidence, zone);
    if (!state || state->share < kNearShare || state->refused_before <= 0 || !is_filled_by_caches(zone, *state)) continue;
    Finding& finding = add_finding(
        found, cause, Severity::kNotable, Certainty::kLikely,
        "Zone " + short_name(zone.name, 24) + ": free items in caches fill its limit of " + count_text(state->limit));
    finding.fact(
        {.text = count_text(*zone.objects) + " in use", .source = "uma/" + std::string(zone.name), .value = zone.objects});
    add_limit_facts(evidence, zone, *state, finding);
    finding.is_about("uma", zone.name)
        .leads_to("None now: requests are served from the caches. Earlier requests were refused.");
  }
}

constexpr std::string_view kNeeds[] = {"uma/*"};

constexpr auto kCauses = [] {
  std::array<Cause, kFamilies.size() + 1> causes{};
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    causes[i] = {.name = kFamilies[i].name,
                 .looks_for = "A zone of uma(9) is at its limit, so requests fail or wait.",
                 .system = CauseSystem::kFreeBsd,
                 .needs = kNeeds,
                 .runbook = "MemstatLimitHit",
                 .inspection = kFamilies[i].inspection,
                 .look = look,
                 .row = i};
  }
  causes.back() = {.name = "zone_cached",
                   .looks_for = "Free items in caches count against the limit of a zone, which once refused requests.",
                   .system = CauseSystem::kFreeBsd,
                   .needs = kNeeds,
                   .look = look_at_caches};
  return causes;
}();

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::zone_limit
