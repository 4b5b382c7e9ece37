// SPDX-License-Identifier: BSD-2-Clause
// FreeBSD's TCP: what it refused or dropped for lack of memory or room, and its connections by state. net.inet.tcp.stats is
// struct tcpstat of 64-bit counters (sys/netinet/tcp_var.h). Releases inserted counters in the middle, so the structure's
// size determines where each is; the counters of a structure of unknown size are omitted. net.inet.tcp.states has a counter
// for each state (tcp_fsm.h). Both are of this VNET.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "core/base/text.h"
#include "core/collect/sysctl_list.h"
#include "core/model/table_metrics.h"
#include "core/source.h"

namespace memstat::sources::freebsd_tcp {
namespace {

constexpr SystemMetric kTcpConnections =
    gauge_metric("memstat_tcp_connections", Tier::kDefault, "TCP connections and listeners now, by state.", {"state"});

constexpr std::string_view kOrigin = "sysctl net.inet.tcp";
constexpr std::string_view kStats = "net.inet.tcp.stats";
constexpr std::string_view kStates = "net.inet.tcp.states";
constexpr std::size_t kBundlePart = 0;

constexpr std::array<std::string_view, 11> kStateNames = {"closed",      "listen",     "syn_sent",   "syn_received",
                                                          "established", "close_wait", "fin_wait_1", "closing",
                                                          "last_ack",    "fin_wait_2", "time_wait"};

/// A counter, and its index in the structure of 13.0.
struct TcpCounter {
  std::string_view name;
  std::size_t place;
};
constexpr TcpCounter kTcpCounters[] = {
    {"tcps_rcvreassfull", 32},  // segments dropped: net.inet.tcp.reass.maxsegments
    {"tcps_listendrop", 62},    // connections dropped: the accept queue is full
    {"tcps_sc_dropped", 67},   {"tcps_sc_bucketoverflow", 69}, {"tcps_sc_cacheoverflow", 70},
    {"tcps_sc_zonefail", 76},  {"tcps_sc_sendcookie", 77},
};

/// Number of counters that kernels since 13.0 have inserted before those below, by the number of counters in the structure;
/// nothing if no known kernel has this number.
std::optional<std::size_t> added_before(std::size_t counters) {
  switch (counters) {
    case 113: return 0;  // 13.0 to 13.2
    case 125: return 1;  // 15.0: tcps_progdrops before all of these
    default: return std::nullopt;
  }
}

/// Returns false if the bytes are not counters.
bool take_stats(std::string_view bytes, StagedStatistics& statistics) {
  constexpr std::size_t kSize = sizeof(std::uint64_t);
  if (bytes.empty() || bytes.size() % kSize != 0) return false;
  const auto added = added_before(bytes.size() / kSize);
  if (!added) return true;
  for (const TcpCounter& counter : kTcpCounters) {
    statistics.add(kSocketEvents, load<std::uint64_t>(bytes, (counter.place + *added) * kSize), {"TCP", counter.name});
  }
  return true;
}

/// The kernel adds up the counters of CPUs without a lock, so a sum may be below 0 for a moment.
bool take_states(std::string_view bytes, StagedStatistics& statistics) {
  constexpr std::size_t kSize = sizeof(std::int64_t);
  if (bytes.size() != kStateNames.size() * kSize) return bytes.size() % kSize == 0 && !bytes.empty();
  for (std::size_t i = 0; i < kStateNames.size(); ++i) {
    const auto count = std::max<std::int64_t>(load<std::int64_t>(bytes, i * kSize), 0);
    statistics.add(kTcpConnections, static_cast<std::uint64_t>(count), {kStateNames[i]});
  }
  return true;
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  const auto take = [&](std::string_view name, std::string_view bytes) {
    if (name == kStats) return take_stats(bytes, staging.statistics());
    return name != kStates || take_states(bytes, staging.statistics());
  };
  return for_each_listed_sysctl(kOrigin, raw.parts[kBundlePart].view(), take);
}

struct State final : ReaderState, SysctlListState {};

Result<void> find_sysctls(KernelView& view, SysctlListState& state) {
  state.clear();
  for (const std::string_view name : {kStats, kStates}) {
    if (auto result = list_sysctl(view, kOrigin, name, state); !result) return result;
  }
  if (!state.list.empty() && state.list.front() == kStats) return {};
  state.list.clear();
  return system_error(kOrigin, ENOENT, kStats);
}

constexpr SysctlRules kRules{.find = find_sysctls, .is_needed = [](std::string_view name) { return name == kStats; }};

Result<void> open(KernelView& view, RawBytes&, State& state) { return find_sysctls(view, state); }
Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return read_listed_sysctls(view, kOrigin, kRules, state, raw.parts[kBundlePart]);
}

constexpr MetricOrigin kOrigins[] = {
    {kSocketEvents, "counters of net.inet.tcp.stats by their names, of structures of 113 or 125 counters"},
    {kTcpConnections, "net.inet.tcp.states"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "freebsd_tcp",
    .origin = "sysctl net.inet.tcp",
    .os = OperatingSystem::kFreeBsd,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .notes =
        "no privilege needed; counts this network stack (VNET) only; if the kernel's structure of counters has another "
        "size, memstat_socket_events_total is missing",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::freebsd_tcp
