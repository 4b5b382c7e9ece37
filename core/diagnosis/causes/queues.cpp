// SPDX-License-Identifier: BSD-2-Clause
// Unread queues of sockets, and sockets of other network namespaces.
#include <array>

#include "core/diagnosis/ended.h"
#include "core/diagnosis/words.h"

namespace memstat::causes::queues {
namespace {

constexpr std::string_view kQueued = "memstat_socket_queued_bytes";
constexpr std::string_view kDropped = "memstat_socket_dropped_messages";
constexpr std::string_view kAllocated = "memstat_socket_allocated_objects";

/// A queue that was full before the first poll, and whose sender has given up.
void look_at_full_queues(const Evidence& evidence, const Cause& cause, Findings& found) {
  constexpr double kNearlyFull = 0.7 * 212992;  // net.core.rmem_default
  for (const MetricEvidence& one : evidence.samples(kQueued)) {
    const MetricEvidence* const dropped = evidence.sample(kDropped, one.labels[0]);
    if (one.value < kNearlyFull || dropped == nullptr || dropped->value <= 0 || dropped->change.recent > 0) continue;
    Finding& finding = add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                                   "A program may not read its " + std::string(one.labels[0]) +
                                       " socket: " + bytes_text(one.value) + " wait, and messages were lost");
    finding.fact({.text = counted(dropped->value, "message") + " lost, none lately",
                  .source = std::string(kDropped),
                  .value = dropped->value});
    finding.is_about("socket", one.labels[0]).leads_to("It misses events of the network, devices or audit.");
    finding.then("awk '$9 > 0' /proc/net/netlink");
  }
}

void look_at_drops(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& one : evidence.samples(kDropped)) {
    constexpr double kFew = 5;
    const bool is_often = evidence.rate(one.change.recent) >= 0.1;
    if (one.change.recent <= 0 || (!is_often && one.change.recent < kFew)) continue;
    Finding& finding =
        add_finding(found, cause, is_often ? Severity::kNow : Severity::kNotable, Certainty::kConfirmed,
                    counted(one.change.recent, "kernel message") + " lost: a program does not read its netlink socket");
    finding.fact({.text = counted(one.change.recent, "drop") + " in " + duration_words(evidence.recent_seconds),
                  .source = std::string(kDropped),
                  .value = one.change.recent,
                  .window_seconds = evidence.recent_seconds});
    finding.is_about("socket", one.labels[0]).leads_to("It misses events of the network, devices or audit.");
    finding.then("awk '$9 > 0' /proc/net/netlink");
    mark_ended(ended(evidence, one.change), finding);
  }
  look_at_full_queues(evidence, cause, found);
}

void look_at_queues(const Evidence& evidence, const Cause& cause, Findings& found) {
  for (const MetricEvidence& one : evidence.samples(kQueued)) {
    if (evidence.share(one.value) < 0.01) continue;
    Finding& finding =
        add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                    bytes_text(one.value) + " wait unread in sockets of family " + std::string(one.labels[0]));
    finding.fact({.text = percent_text(evidence.share(one.value)) + " of all memory",
                  .source = std::string(kQueued),
                  .value = one.value});
    finding.bytes = one.value;
    finding.holds_as = one.labels[0] == "PACKET" ? "packet" : "netlink";
    finding.is_about("socket", one.labels[0])
        .leads_to("Their programs do not read them.")
        .then("ss -0pm; ss -f netlink -pm");
  }
}

/// TCP counts allocated sockets over all namespaces, and sockets in use per namespace.
void look_elsewhere(const Evidence& evidence, const Cause& cause, Findings& found) {
  if (evidence.view.lacks(ViewPart::kNetwork)) return;  // from inside a container, all others are elsewhere
  const double all = evidence.value(kAllocated, "TCP").value_or(0);
  double here = 0;
  for (const std::string_view protocol : {"TCP", "TCPv6"}) {
    const TypeEvidence* const type = evidence.type(Allocator::kSocket, protocol);
    if (type != nullptr) here += type->objects.value_or(0);
  }
  const TypeEvidence* const orphans = evidence.type(Allocator::kTable, "tcp_orphans");
  const double elsewhere = all - here - (orphans != nullptr ? orphans->objects.value_or(0) : 0);
  const TypeEvidence* const tcp = evidence.type(Allocator::kSocket, "TCP");
  const double bytes = tcp == nullptr ? 0 : tcp->bytes.value_or(0);
  if (all < 100 || elsewhere < 0.5 * all || evidence.share(bytes) < 0.01) return;
  Finding& finding =
      add_finding(found, cause, Severity::kNotable, Certainty::kPossible,
                  count_text(elsewhere) + " of " + count_text(all) + " TCP sockets are in other network namespaces");
  finding.fact({.text = bytes_text(bytes) + " of TCP memory in all",
                .source = std::string(kAllocated),
                .value = elsewhere,
                .limit = all});
  finding.leads_to("ss shows only those of its own namespace.").then("lsns -t net").then("nsenter -t PID -n ss -tmp");
}

constexpr std::string_view kDropNeeds[] = {kDropped};
constexpr std::string_view kFullQueueUses[] = {kQueued};
constexpr std::string_view kQueueNeeds[] = {kQueued};
/// Data and heads of the packets that wait.
constexpr std::string_view kQueueSymptoms[] = {"packets_held", "kmalloc_leak", "kmalloc_large", "unaccounted_growth",
                                               "unaccounted_large"};
constexpr std::string_view kAllocatedNeeds[] = {kAllocated};
constexpr std::array kCauses{Cause{.name = "netlink_queue",
                                   .looks_for = "A program does not read its netlink socket, and messages are lost.",
                                   .system = CauseSystem::kLinux,
                                   .watches = Watches::kChange,
                                   .needs = kDropNeeds,
                                   .uses = kFullQueueUses,
                                   .inspection = "losses",
                                   .holds_as = "netlink",
                                   .is_of_messages = true,
                                   .look = look_at_drops},
                             Cause{.name = "unread_queues",
                                   .looks_for = "Much memory waits unread in packet or netlink sockets.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kQueueNeeds,
                                   .explains = kQueueSymptoms,
                                   .inspection = "queues",
                                   .look = look_at_queues},
                             Cause{.name = "sockets_elsewhere",
                                   .looks_for = "Most TCP sockets are in other network namespaces.",
                                   .system = CauseSystem::kLinux,
                                   .needs = kAllocatedNeeds,
                                   .look = look_elsewhere}};

}  // namespace
extern constinit const std::span<const Cause> causes = kCauses;
}  // namespace memstat::causes::queues
