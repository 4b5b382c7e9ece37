// SPDX-License-Identifier: BSD-2-Clause
// Socket memory at the limits of its protocols, and the resulting drops.
#include <algorithm>
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/holder.h"
#include "core/diagnosis/limit_state.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::socket_memory {
namespace {

constexpr std::string_view kEvents = "memstat_socket_events_total";
constexpr std::string_view kTableEvents = "memstat_table_events_total";
constexpr std::string_view kThreshold = "memstat_socket_pressure_threshold_bytes";

Fact moved_fact(const Evidence& evidence, double moved, std::string_view what, std::string_view source) {
  return {.text = count_text(moved) + " " + std::string(what) + " in " + duration_words(evidence.recent_seconds),
          .source = std::string(source),
          .value = moved,
          .window_seconds = evidence.recent_seconds};
}

struct Protocol {
  std::string_view name;
  std::string_view type;
  std::string_view effect;
  std::string_view who;
  std::string_view limit;
  std::array<std::string_view, 1> needs;
};
constexpr std::array kProtocols{Protocol{.name = "tcp_memory_full",
                                         .type = "TCP",
                                         .effect = "Received data is dropped, writers wait, and connections are reset.",
                                         .who = "ss -tmpn | grep -A1 'ESTAB\\|CLOSE-WAIT' | head -40",
                                         .limit = "sysctl net.ipv4.tcp_mem",
                                         .needs = {"socket/TCP"}},
                                Protocol{.name = "udp_memory_full",
                                         .type = "UDP",
                                         .effect = "Datagrams are dropped.",
                                         .who = "ss -uampn | head -40",
                                         .limit = "sysctl net.ipv4.udp_mem",
                                         .needs = {"socket/UDP"}},
                                Protocol{.name = "fragments_full",
                                         .type = "FRAG",
                                         .effect = "All fragmented packets are lost until timers free the old ones.",
                                         .who = "nstat -az | grep -i reasm",
                                         .limit = "sysctl net.ipv4.ipfrag_high_thresh",
                                         .needs = {"socket/FRAG"}},
                                Protocol{.name = "fragments6_full",
                                         .type = "FRAG6",
                                         .effect = "All fragmented packets are lost until timers free the old ones.",
                                         .who = "nstat -az | grep -i reasm",
                                         .limit = "sysctl net.ipv6.ip6frag_high_thresh",
                                         .needs = {"socket/FRAG6"}}};

void look_at_limit(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Protocol& protocol = kProtocols[cause.row];
  const TypeEvidence* const type = evidence.type(Allocator::kSocket, protocol.type);
  if (type == nullptr) return;
  const auto state = limit_state(evidence, *type);
  if (!state) return;
  const auto judgement = judge(evidence, *state);
  if (!judgement) return;
  // Pressure now is more specific than the effect of the limit.
  const bool is_pressed = evidence.value("memstat_socket_memory_pressure", protocol.type).value_or(0) > 0;
  if (is_pressed && judgement->severity == Severity::kNotable) return;
  Finding& finding = add_finding(found, cause, judgement->severity, judgement->certainty,
                                 limit_headline("Memory of " + std::string(protocol.type), judgement->severity, *state));
  add_limit_facts(evidence, *type, *state, finding);
  finding.bytes = type->bytes.value_or(0);
  name_holder(evidence, kSocketMemory, Holds::kNow, type->bytes.value_or(0) / 3, finding);
  finding.is_about("socket", protocol.type).leads_to(protocol.effect).then(protocol.who).then(protocol.limit);
}

/// UDP has no pressure state: above the first number of udp_mem, sockets above udp_rmem_min are refused.
void look_at_pressure(const Evidence& evidence, const Cause& cause, Findings& found) {
  const TypeEvidence* const tcp = evidence.type(Allocator::kSocket, "TCP");
  const bool is_pressed = evidence.value("memstat_socket_memory_pressure", "TCP").value_or(0) > 0;
  const auto threshold = evidence.value(kThreshold, "TCP");
  const bool is_above = tcp != nullptr && tcp->bytes && threshold && *tcp->bytes > *threshold;
  if (!is_pressed && !is_above) return;
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, is_pressed && is_above ? Certainty::kLikely : Certainty::kPossible,
                  "TCP is short of memory: buffers of sockets stop growing");
  if (tcp != nullptr && tcp->bytes) {
    finding.fact({.text = bytes_text(*tcp->bytes) + " in use" +
                          (threshold ? ", pressure from " + bytes_text(*threshold) + " on" : ""),
                  .source = "socket/TCP",
                  .value = tcp->bytes,
                  .limit = threshold});
  }
  if (tcp != nullptr) finding.bytes = tcp->bytes.value_or(0);
  if (tcp != nullptr) name_holder(evidence, kSocketMemory, Holds::kNow, tcp->bytes.value_or(0) / 3, finding);
  finding.is_about("socket", "TCP")
      .leads_to("Transfers are slower.")
      .then("ss -tmpn | head -40")
      .then("sysctl net.ipv4.tcp_mem");
}

struct Drops {
  std::string_view name;
  std::string_view metric;
  std::string_view type;
  std::string_view kind;
  Severity severity;
  std::string_view headline;  ///< follows the number
  std::string_view effect;
  std::string_view who;
  std::array<std::string_view, 1> needs;
  std::string_view holds_as = {};                      ///< the holders of `memstatctl who queues` that matter; "": none
  std::array<std::string_view, 3> further_kinds = {};  ///< counters of similar losses, which are only possible ones
};
constexpr std::array kDrops{
    Drops{.name = "udp_buffer_full",
          .metric = kEvents,
          .type = "UDP",
          .kind = "RcvbufErrors",
          .severity = Severity::kNow,
          .headline = " datagrams dropped: a program reads its UDP socket too slowly",
          .effect = "Its senders lose data.",
          .who = "ss -uampn | grep -v 'd0)' | head -40",
          .needs = {kEvents},
          .holds_as = "udp"},
    Drops{.name = "tcp_receive_dropped",
          .metric = kEvents,
          .type = "TCP",
          .kind = "TCPRcvQDrop",
          .severity = Severity::kNow,
          .headline = " TCP segments dropped: no memory for receive queues",
          .effect = "Data is sent again, and connections stall.",
          .who = "ss -tmpn | head -40",
          .needs = {kEvents},
          .holds_as = "receive",
          .further_kinds = {"RcvPruned", "TCPBacklogDrop"}},
    Drops{.name = "listen_overflow",
          .metric = kEvents,
          .type = "TCP",
          .kind = "ListenOverflows",
          .severity = Severity::kNow,
          .headline = " connections refused: a program accepts too slowly, its queue is full",
          .effect = "Clients wait and retry.",
          .who = "ss -ltn | awk '$2 > $3'",
          .needs = {kEvents},
          .holds_as = "accept"},
    Drops{.name = "syn_queue_full",
          .metric = kEvents,
          .type = "TCP",
          .kind = "TCPReqQFullDrop",
          .severity = Severity::kNow,
          .headline = " new connections dropped: the queue of half-open ones is full",
          .effect = "Clients wait and retry.",
          .who = "ss -tan state syn-recv | wc -l; sysctl net.ipv4.tcp_max_syn_backlog",
          .needs = {kEvents}},
    Drops{.name = "syn_cookies",
          .metric = kEvents,
          .type = "TCP",
          .kind = "TCPReqQFullDoCookies",
          .severity = Severity::kNotable,
          .headline = " new connections answered with cookies: the queue of half-open ones is full",
          .effect = "TCP options are lost. It may be an attack.",
          .who = "ss -tan state syn-recv | wc -l; sysctl net.ipv4.tcp_max_syn_backlog",
          .needs = {kEvents}},
    Drops{.name = "conntrack_evicts",
          .metric = kTableEvents,
          .type = "conntrack",
          .kind = "early_drop",
          .severity = Severity::kWasteful,
          .headline = " tracked connections evicted to make room: conntrack is full",
          .effect = "Idle or half-open connections lose their state.",
          .who = "conntrack -L | awk '{print $4}' | sort | uniq -c | sort -rn | head",
          .needs = {"table/conntrack"}},
    Drops{.name = "neighbours_collected",
          .metric = kTableEvents,
          .type = "arp_cache",
          .kind = "forced_gc_runs",
          .severity = Severity::kWasteful,
          .headline = " forced collections of IPv4 neighbours: their table is too small",
          .effect = "Each new neighbour costs a search of the table.",
          .who = "ip -4 -s neigh show nud all | head",
          .needs = {"table/arp_cache"}},
    Drops{.name = "neighbours6_collected",
          .metric = kTableEvents,
          .type = "ndisc_cache",
          .kind = "forced_gc_runs",
          .severity = Severity::kWasteful,
          .headline = " forced collections of IPv6 neighbours: their table is too small",
          .effect = "Each new neighbour costs a search of the table.",
          .who = "ip -6 -s neigh show nud all | head",
          .needs = {"table/ndisc_cache"}},
};

/// Healthy machines drop a few. Rejected clients retry at ever longer intervals, so their rate is lower.
constexpr double kMinDropsPerSecond = 1;
constexpr double kMinRefusedPerSecond = 0.1;
/// Connections of clients that wait long before they retry.
constexpr double kMinNotablePerSecond = 1.0 / 120;

bool is_of_connections(const Drops& drops) { return drops.kind == "ListenOverflows" || drops.kind == "TCPReqQFullDrop"; }

double least_rate(const Drops& drops) {
  if (drops.severity != Severity::kNow) return 1.0 / 60;
  return is_of_connections(drops) ? kMinRefusedPerSecond : kMinDropsPerSecond;
}

bool is_tcp_short(const Evidence& evidence) {
  const TypeEvidence* const tcp = evidence.type(Allocator::kSocket, "TCP");
  return evidence.value("memstat_socket_memory_pressure", "TCP").value_or(0) > 0 || tcp == nullptr ||
         tcp->limit_used.value_or(1) >= kNearShare;
}
constexpr std::string_view kUnread = " TCP segments dropped: programs leave receive queues full";

/// Whether so much waits in a socket that its queue may be full: half of the usual backlog, nearly all of the usual buffer.
bool may_be_full(const Holder& holder, std::string_view kind) {
  constexpr double kConnections = 64;
  constexpr double kBufferBytes = 212992;  // net.core.rmem_default
  const auto count = static_cast<double>(holder.count.value_or(0));
  if (kind == "accept") return count >= kConnections;
  return holder.name.find("receive") != std::string::npos &&
         static_cast<double>(holder.bytes.value_or(0)) >= kNearShare * kBufferBytes * std::max(count, 1.0);
}

/// The counters are of this network namespace, and count only what arrives. What waits in sockets of any namespace is in
/// `memstatctl who queues`.
void look_at_waiting(const Evidence& evidence, const Cause& cause, const Drops& drops, Findings& found) {
  const InspectionAnswer* const answer = evidence.inspection("queues");
  const bool is_accepted = drops.holds_as == "accept";
  if (answer == nullptr || (!is_accepted && drops.holds_as != "udp")) return;
  for (const Holder& holder : answer->holders) {
    const bool is_wanted = holder.name.find(drops.holds_as) != std::string::npos;
    if (!is_wanted || !may_be_full(holder, drops.holds_as)) continue;
    const bool is_elsewhere = holder.name.ends_with(']');
    const std::string amount =
        is_accepted ? count_text(static_cast<double>(holder.count.value_or(0))) + " connections wait to be accepted"
                    : bytes_text(static_cast<double>(holder.bytes.value_or(0))) + " of datagrams wait to be read";
    Finding& finding =
        add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                    amount + (is_elsewhere ? " in another network namespace" : "") + ", perhaps a full queue");
    finding.fact(
        {.text = short_name(holder.name), .source = "who/queues", .value = static_cast<double>(holder.count.value_or(0))});
    finding.leads_to(drops.effect).then((is_elsewhere ? "nsenter -n -t PID " : "") + std::string(drops.who));
    return;
  }
}

bool is_further_kind(const Drops& drops, std::string_view kind) {
  return std::find(drops.further_kinds.begin(), drops.further_kinds.end(), kind) != drops.further_kinds.end();
}

void look_at_drops(const Evidence& evidence, const Cause& cause, Findings& found) {
  const Drops& drops = kDrops[cause.row];
  const auto is_counted = [&](const MetricEvidence& one) {
    return one.labels[0].starts_with(drops.type) && (one.labels[1] == drops.kind || is_further_kind(drops, one.labels[1]));
  };
  double moved = 0;
  double further = 0;
  for (const MetricEvidence& one : evidence.samples(drops.metric)) {
    if (is_counted(one)) (one.labels[1] == drops.kind ? moved : further) += one.change.recent;
  }
  const bool is_similar = moved <= 0 && further > 0;
  if (is_similar) moved = further;
  const bool is_often = evidence.rate(moved) >= least_rate(drops);
  if (moved <= 0) look_at_waiting(evidence, cause, drops, found);
  constexpr double kFew = 5;
  const double least = is_of_connections(drops) ? kMinNotablePerSecond : kMinRefusedPerSecond;
  if (moved <= 0 || (!is_often && (moved < kFew || evidence.rate(moved) < least))) return;
  // A receive queue may also be full at its socket's own limit, because its program does not read.
  const bool is_own_limit = drops.holds_as == "receive" && !is_tcp_short(evidence);
  Finding& finding = add_finding(found, cause, is_own_limit || !is_often || is_similar ? Severity::kNotable : drops.severity,
                                 is_similar ? Certainty::kPossible : Certainty::kConfirmed,
                                 count_text(moved) + std::string(is_own_limit ? kUnread : drops.headline));
  finding.fact(moved_fact(evidence, moved, is_similar ? drops.further_kinds[0] : drops.kind, drops.metric));
  if (drops.kind == "ListenOverflows") finding.is_about("table", "accept_queues");
  finding.leads_to(drops.effect).then(drops.who);
  mark_ended(ended(evidence, drops.metric, is_counted), finding);
}

constexpr std::string_view kPressureNeeds[] = {"memstat_socket_memory_pressure"};
constexpr std::string_view kPressureUses[] = {kThreshold, kGroupParts};
constexpr std::string_view kLimitUses[] = {kGroupParts, "memstat_socket_memory_pressure"};
constexpr std::string_view kDropUses[] = {kTableEvents, kEvents, "memstat_socket_memory_pressure"};
constexpr std::string_view kQueueUses[] = {"memstat_socket_memory_pressure", "who/queues"};
constexpr std::string_view kFullExplains[] = {"tcp_pressure", "tcp_receive_dropped", "udp_buffer_full"};
constexpr std::string_view kPressureExplains[] = {"sockets_large"};

constexpr auto kCauses = [] {
  std::array<Cause, kProtocols.size() + 1 + kDrops.size()> causes{};
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    causes[i] = {.name = kProtocols[i].name,
                 .looks_for = "A protocol's memory is at its limit, and data is dropped.",
                 .system = CauseSystem::kLinux,
                 .needs = kProtocols[i].needs,
                 .uses = kLimitUses,
                 .explains = kFullExplains,
                 .runbook = "MemstatSocketPressure",
                 .inspection = kProtocols[i].type.starts_with("FRAG") ? "" : "queues",
                 .look = look_at_limit,
                 .row = i};
  }
  causes[kProtocols.size()] = {.name = "tcp_pressure",
                               .looks_for = "TCP uses so much memory that socket buffers no longer grow.",
                               .system = CauseSystem::kLinux,
                               .needs = kPressureNeeds,
                               .uses = kPressureUses,
                               .explains = kPressureExplains,
                               .runbook = "MemstatSocketPressure",
                               .inspection = "queues",
                               .look = look_at_pressure};
  for (std::size_t i = 0; i < kDrops.size(); ++i) {
    const bool is_of_datagrams = kDrops[i].holds_as == "udp";
    causes[kProtocols.size() + 1 + i] = {
        .name = kDrops[i].name,
        .looks_for = "Packets or entries are dropped for lack of room.",
        .system = CauseSystem::kLinux,
        .watches = Watches::kChange,
        .needs = kDrops[i].needs,
        .uses = kDrops[i].holds_as.empty() ? std::span<const std::string_view>(kDropUses) : kQueueUses,
        .inspection = kDrops[i].holds_as.empty() ? ""
                      : is_of_datagrams          ? "losses"
                                                 : "queues",
        .older_inspection = is_of_datagrams ? "queues" : "",
        .holds_as = kDrops[i].holds_as,
        .is_of_messages = is_of_datagrams,
        .look = look_at_drops,
        .row = i};
  }
  return causes;
}();

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::socket_memory
