// SPDX-License-Identifier: BSD-2-Clause
// Protocols and the memory of their sockets, one type per line of /proc/net/protocols (net/core/sock.c, proto_seq_printf):
//
//   protocol  size sockets  memory press maxhdr  slab module     cl co di ...
//   TCPv6     2432      0      54   no     192   yes  kernel      y  y  y ...
//
// size is the bytes of one socket. memory is the pages of all sockets' data (-1: not counted). press is whether the
// protocol is under memory pressure (NI: not implemented). Columns are found by name.
//
// Several protocols share one memory account: TCP, TCPv6, MPTCP and MPTCPv6 that of TCP; UDP, UDPv6, UDP-Lite and UDPLITEv6
// that of UDP; SCTP and SCTPv6 that of SCTP. The kernel repeats it in each line. Here only the first of each has it, with
// its limit, so that nothing counts twice. sockets are those of our network namespace; memory and limits are those of the
// machine.
//
// Related files: the limits tcp_mem, udp_mem and sctp_mem ("min pressure max", in pages; only the initial namespace has
// them). TCP and SCTP grow up to the third number. UDP has no pressure state: above the first number the kernel refuses each
// socket that has more than its own minimum (__sk_mem_raise_allocated() in net/core/sock.c), so that number is its limit.
// IP fragments that wait for reassembly are in /proc/net/sockstat and sockstat6 ("FRAG: inuse 0 memory 0", in bytes, limited
// by ipfrag_high_thresh and ip6frag_high_thresh, in bytes). Events of our network namespace are in /proc/net/netstat and
// snmp (a line of names, a line of values; net/ipv4/proc.c) and snmp6 (a name and a value per line).

#include "core/collect/plan_reader.h"
#include "core/model/table_metrics.h"
#include "core/parse/header_table.h"
#include "core/source.h"

namespace memstat::sources::linux_socket {
namespace {

constexpr SystemMetric kSocketPressure = gauge_metric(
    "memstat_socket_memory_pressure", Tier::kDefault,
    "1 while the protocol is under memory pressure because its sockets use more than the threshold, else 0.", {"type"});

constexpr SystemMetric kSocketPressureBytes =
    gauge_metric("memstat_socket_pressure_threshold_bytes", Tier::kDefault,
                 "Total bytes of the protocol's sockets above which it is under memory pressure.", {"type"});

constexpr SystemMetric kSocketPressureSeconds =
    counter_metric("memstat_socket_pressure_seconds_total", Tier::kDefault,
                   "Seconds of memory pressure of the protocol since boot, counted when a period of pressure ends.",
                   {"type"}, ValueFormat::kDouble);

constexpr SystemMetric kSocketsAllocated = gauge_metric("memstat_socket_allocated_objects", Tier::kDefault,
                                                        "Sockets of the protocol now, in all network namespaces.", {"type"});

constexpr SystemMetric kSocketQueuedBytes =
    gauge_metric("memstat_socket_queued_bytes", Tier::kDefault, "Unread bytes in sockets of the family now.", {"type"});

constexpr SystemMetric kSocketDrops =
    gauge_metric("memstat_socket_dropped_messages", Tier::kDefault,
                 "Messages lost by the open sockets of the family because their programs did not read them.", {"type"});

constexpr PlannedFile kPlan[] = {
    // Counts are kept open, because opening a file in /proc/net costs as much as reading it.
    {.path = "/proc/net/protocols", .need = ReadNeed::kRequired, .is_kept_open = true},
    {.path = "/proc/net/sockstat", .is_kept_open = true},
    {.path = "/proc/net/sockstat6", .is_kept_open = true},
    {.path = "/proc/net/netstat", .is_kept_open = true},
    {.path = "/proc/net/snmp", .is_kept_open = true},
    {.path = "/proc/net/snmp6", .is_kept_open = true},
    {.path = "/proc/sys/net/ipv4/tcp_mem", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/udp_mem", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/sctp/sctp_mem", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv4/ipfrag_high_thresh", .time = ReadTime::kSeldom},
    {.path = "/proc/sys/net/ipv6/ip6frag_high_thresh", .time = ReadTime::kSeldom},
    {.path = "/proc/net/packet", .time = ReadTime::kSeldom},
    {.path = "/proc/net/netlink", .time = ReadTime::kSeldom},
};
constexpr auto kPaths = paths_of(kPlan);
using SocketFiles = PlannedFiles<kPaths>;
using File = SocketFiles::File;
constexpr File kProtocols = "/proc/net/protocols";
constexpr File kSockstat = "/proc/net/sockstat";

/// The protocol that reports a memory account, and the file of its limits.
struct Account {
  std::string_view protocol;
  File limits;
  std::size_t limit_place;  ///< Index of the number that is the limit.
  bool has_pressure;        ///< Whether the second one is a threshold.
};
constexpr Account kAccounts[] = {{"TCP", "/proc/sys/net/ipv4/tcp_mem", 2, true},
                                 {"UDP", "/proc/sys/net/ipv4/udp_mem", 0, false},
                                 {"SCTP", "/proc/sys/net/sctp/sctp_mem", 2, true}};
/// Protocols that share another's account.
constexpr std::string_view kSharers[] = {"TCPv6", "MPTCP", "MPTCPv6", "UDPv6", "UDP-Lite", "UDPLITEv6", "SCTPv6"};

const Account* account_of(std::string_view protocol) {
  const auto* const found = std::find_if(std::begin(kAccounts), std::end(kAccounts),
                                         [protocol](const Account& account) { return account.protocol == protocol; });
  return found == std::end(kAccounts) ? nullptr : found;
}
bool is_sharer(std::string_view protocol) {
  return std::find(std::begin(kSharers), std::end(kSharers), protocol) != std::end(kSharers);
}

/// In the order of Linux 6.18.
constexpr std::string_view kTcpCounters[] = {"PruneCalled",     "RcvPruned",          "OfoPruned",
                                             "ListenOverflows", "TCPRcvCollapsed",    "TCPAbortOnMemory",
                                             "TCPAbortFailed",  "TCPMemoryPressures", "TCPMemoryPressuresChrono",
                                             "TCPBacklogDrop",  "PFMemallocDrop",     "TCPReqQFullDoCookies",
                                             "TCPReqQFullDrop", "TCPOFODrop",         "TCPZeroWindowDrop",
                                             "TCPRcvQDrop",     "TCPWqueueTooBig"};
constexpr std::string_view kPressureTime = "TCPMemoryPressuresChrono";
constexpr std::string_view kUdpCounters[] = {"RcvbufErrors", "SndbufErrors", "MemErrors"};
constexpr std::string_view kUdp6Counters[] = {"Udp6RcvbufErrors",     "Udp6SndbufErrors",     "Udp6MemErrors",
                                              "UdpLite6RcvbufErrors", "UdpLite6SndbufErrors", "UdpLite6MemErrors"};
// Exported as failures of the account, not again as events.
constexpr std::string_view kTcpFailure = "TCPAbortOnMemory";
constexpr std::string_view kUdpFailure = "MemErrors";

/// The sum of the counters that make up a protocol's failures. Nothing if the kernel has none of them.
using Failures = std::optional<std::uint64_t>;

/// Fills `numbers` from a line of names and a line of values. False if there is no such file, or it is damaged.
bool read_counters(SocketFiles& files, File file, std::string_view prefix, std::span<KeyedNumber> numbers) {
  const auto text = files.text(file);
  if (!text) return false;
  const auto wrong = read_paired_numbers(*text, prefix, numbers);
  if (wrong) files.refuse(file, *wrong, "expected a line of names and a line of as many numbers");
  return !wrong;
}

void add_tcp_events(SocketFiles& files, Failures& failures, Staging& staging) {
  auto numbers = keyed_numbers(kTcpCounters);
  if (!read_counters(files, "/proc/net/netstat", "TcpExt:", numbers)) return;
  for (const KeyedNumber& number : numbers) {
    if (!number.value) continue;
    if (number.key == kPressureTime) {
      staging.statistics().add_double(kSocketPressureSeconds, static_cast<double>(*number.value) / 1e3, {"TCP"});
    } else if (number.key == kTcpFailure) {
      failures = number.value;
    } else {
      staging.statistics().add(kSocketEvents, *number.value, {"TCP", number.key});
    }
  }
}

void add_udp_event(std::string_view protocol, std::string_view kind, const std::optional<std::uint64_t>& number,
                   Failures& failures, Staging& staging) {
  if (!number) return;
  if (kind == kUdpFailure) {
    failures = failures.value_or(0) + *number;
  } else {
    staging.statistics().add(kSocketEvents, *number, {protocol, kind});
  }
}

/// MemErrors exist since Linux 5.11. UDP-Lite was removed in 7.2.
void add_udp_events(SocketFiles& files, Failures& failures, Staging& staging) {
  struct Lines {
    std::string_view prefix;
    std::string_view protocol;
  };
  for (const Lines& lines : {Lines{"Udp:", "UDP"}, {"UdpLite:", "UDP-Lite"}}) {
    auto numbers = keyed_numbers(kUdpCounters);
    if (!read_counters(files, "/proc/net/snmp", lines.prefix, numbers)) break;
    for (const KeyedNumber& number : numbers) add_udp_event(lines.protocol, number.key, number.value, failures, staging);
  }
  const auto text = files.text("/proc/net/snmp6");
  if (!text) return;
  auto numbers = keyed_numbers(kUdp6Counters);
  if (const auto offset = read_keyed_numbers(*text, numbers)) {
    return files.refuse("/proc/net/snmp6", *offset, "expected a line with a counter and its value");
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t kind = i % std::size(kUdpCounters);
    add_udp_event(i == kind ? "UDPv6" : "UDPLITEv6", kUdpCounters[kind], numbers[i].value, failures, staging);
  }
}

/// Adds the limit and the pressure threshold from "min pressure max", in pages. 2^64 bytes or more mean no limit.
void add_limits(SocketFiles& files, const Account& account, std::uint64_t page_size, StagedType& type, Staging& staging) {
  std::array<std::uint64_t, 3> bytes{};
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    const auto pages = files.number(account.limits, place);
    if (!pages) return;
    if (__builtin_mul_overflow(*pages, page_size, &bytes[place])) bytes[place] = 0;
  }
  if (account.has_pressure && bytes[1] != 0) staging.statistics().add(kSocketPressureBytes, bytes[1], {account.protocol});
  if (bytes[account.limit_place] != 0) type.set(Field::kBytesLimit, bytes[account.limit_place]);
}

/// Indexes of the wanted columns.
struct Columns {
  std::size_t name, size, sockets, memory, pressure;
};
std::optional<Columns> find_columns(std::string_view header) {
  const auto name = column_of(header, "protocol");
  const auto size = column_of(header, "size");
  const auto sockets = column_of(header, "sockets");
  const auto memory = column_of(header, "memory");
  const auto pressure = column_of(header, "press");
  if (!name || !size || !sockets || !memory || !pressure) return std::nullopt;
  return Columns{*name, *size, *sockets, *memory, *pressure};
}

struct Protocol {
  std::string_view name;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> sockets;
  std::optional<std::int64_t> memory;  ///< pages
  std::string_view pressure;

  [[nodiscard]] bool is_whole() const { return !name.empty() && size && sockets && memory && !pressure.empty(); }
};
Protocol read_protocol(std::string_view line, const Columns& columns) {
  Protocol protocol;
  std::string_view word;
  for (std::size_t place = 0; next_word(line, word); ++place) {
    if (place == columns.name) protocol.name = word;
    if (place == columns.size) protocol.size = parse_u64(word);
    if (place == columns.sockets) protocol.sockets = parse_i64(word);
    if (place == columns.memory) protocol.memory = parse_i64(word);
    if (place == columns.pressure) protocol.pressure = word;
    if (protocol.is_whole()) break;
  }
  return protocol;
}

/// Sets the figures from a protocol's line. False if its memory has no 64 bits.
bool fill_type(const Protocol& protocol, std::uint64_t page_size, StagedType& type) {
  type.set(Field::kSize, *protocol.size);
  if (*protocol.sockets >= 0) type.set(Field::kCount, static_cast<std::uint64_t>(*protocol.sockets));
  if (*protocol.memory < 0 || is_sharer(protocol.name)) return true;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::uint64_t>(*protocol.memory), page_size, &bytes)) return false;
  type.set(Field::kBytes, bytes);
  return true;
}

void add_protocols(SocketFiles& files, std::uint64_t page_size, const Failures& tcp, const Failures& udp, Staging& staging) {
  const auto text = files.text(kProtocols);
  if (!text) return files.refuse(kProtocols, 0, "is missing");
  std::string_view rest = *text;
  std::string_view line;
  const auto columns = next_line(rest, line) ? find_columns(line) : std::nullopt;
  if (!columns) {
    return files.refuse(kProtocols, 0, "expected a header line with the columns protocol, size, sockets, memory and press");
  }
  std::uint32_t known = 0;  // a bit per account: shared figures are reported at the first protocol
  while (!rest.empty()) {
    const std::size_t offset = text->size() - rest.size();
    next_line(rest, line);
    const Protocol protocol = read_protocol(line, *columns);
    if (!protocol.is_whole())
      return files.refuse(kProtocols, offset, "expected a protocol with its size, sockets and memory");
    StagedType& type = staging.add(protocol.name);
    if (!fill_type(protocol, page_size, type)) {
      return files.refuse(kProtocols, offset, "reports a protocol with more than 2^64 bytes");
    }
    const Account* const account = account_of(protocol.name);
    if (account == nullptr) continue;
    const std::uint32_t bit = 1U << static_cast<unsigned>(account - kAccounts);
    if ((known & bit) != 0) continue;
    known |= bit;
    if (account->protocol == "TCP") type.set(Field::kFailures, tcp);
    if (account->protocol == "UDP") type.set(Field::kFailures, udp);
    if (protocol.pressure == "yes" || protocol.pressure == "no") {
      staging.statistics().add(kSocketPressure, protocol.pressure == "yes" ? 1 : 0, {protocol.name});
    }
    add_limits(files, *account, page_size, type, staging);
  }
  if (staging.types().empty()) files.refuse(kProtocols, text->size(), "has no protocol");
}

/// Adds `alloc` of the line "TCP: inuse N orphan N tw N alloc N mem N", the only one that has it.
void add_allocated(SocketFiles& files, Staging& staging) {
  const auto text = files.text(kSockstat);
  std::string_view rest = text.value_or("");
  std::string_view line;
  std::string_view word;
  std::string_view value;
  while (next_line(rest, line)) {
    const auto offset = static_cast<std::size_t>(line.data() - text->data());
    if (!next_word(line, word) || word != "TCP:") continue;
    while (next_word(line, word) && next_word(line, value)) {
      if (word != "alloc") continue;
      const auto count = parse_u64(value);
      if (!count) return files.refuse(kSockstat, offset, "expected a number of sockets after alloc");
      return staging.statistics().add(kSocketsAllocated, *count, {"TCP"});
    }
  }
}

/// Adds the fragments from the line "FRAG: inuse N memory B" of a file.
void add_fragments(SocketFiles& files, File file, File limit_file, std::string_view name, Staging& staging) {
  const auto text = files.text(file);
  std::string_view rest = text.value_or("");
  std::string_view line;
  while (next_line(rest, line)) {
    const auto offset = static_cast<std::size_t>(line.data() - text->data());
    std::string_view word;
    if (!next_word(line, word) || !word.ends_with(':') || word.substr(0, word.size() - 1) != name) continue;
    std::optional<std::uint64_t> count;
    std::optional<std::uint64_t> bytes;
    std::string_view value;
    while (next_word(line, word) && next_word(line, value)) {
      if (word == "inuse") count = parse_u64(value);
      if (word == "memory") bytes = parse_u64(value);
    }
    if (!count || !bytes) return files.refuse(file, offset, "expected the numbers of inuse and memory");
    StagedType& type = staging.add(name);
    type.set(Field::kCount, *count);
    type.set(Field::kBytes, *bytes);
    type.set(Field::kBytesLimit, files.number(limit_file));
    return;
  }
}

/// Adds up the queues of packet sockets (net/packet/af_packet.c, packet_seq_show) or netlink sockets
/// (net/netlink/af_netlink.c, netlink_native_seq_show): a header line, then a line per socket. The file of packet sockets
/// has no drops.
void add_queues(SocketFiles& files, File file, std::string_view type, Staging& staging) {
  const auto text = files.text(file);
  if (!text) return;
  std::array<ColumnTotal, 2> columns = {ColumnTotal{"Rmem"}, {"Drops"}};
  std::size_t rows = 0;
  if (const auto offset = sum_columns(*text, Digits::kDecimal, columns, rows)) {
    return files.refuse(file, *offset, "expected a line of names, or a socket with its queue");
  }
  if (columns[0].is_present) staging.statistics().add(kSocketQueuedBytes, columns[0].sum, {type});
  if (columns[1].is_present) staging.statistics().add(kSocketDrops, columns[1].sum, {type});
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  SocketFiles files(raw);
  Failures tcp;
  Failures udp;
  add_tcp_events(files, tcp, staging);
  add_udp_events(files, udp, staging);
  add_protocols(files, raw.page_size, tcp, udp, staging);
  add_allocated(files, staging);
  add_queues(files, "/proc/net/packet", "PACKET", staging);
  add_queues(files, "/proc/net/netlink", "NETLINK", staging);
  add_fragments(files, kSockstat, "/proc/sys/net/ipv4/ipfrag_high_thresh", "FRAG", staging);
  add_fragments(files, "/proc/net/sockstat6", "/proc/sys/net/ipv6/ip6frag_high_thresh", "FRAG6", staging);
  if (files.error()) return *files.error();
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {Field::kBytes, "memory of protocols x page size, at TCP, UDP and SCTP for all that share it, memory of FRAG, FRAG6"},
    {Field::kCount, "sockets of protocols (UDP: those with a port), of our network namespace, inuse of FRAG, FRAG6"},
    {Field::kSize, "size of protocols"},
    {Field::kBytesLimit, "the third number of tcp_mem and sctp_mem, the first of udp_mem x page size, ipfrag_high_thresh"},
    {Field::kFailures, "TCP: TCPAbortOnMemory, UDP: MemErrors of Udp, UdpLite, Udp6 and UdpLite6"},
    {kSocketPressure, "press of protocols"},
    {kSocketPressureBytes, "the second number of tcp_mem, sctp_mem x page size"},
    {kSocketPressureSeconds, "TCPMemoryPressuresChrono"},
    {kSocketsAllocated, "alloc of TCP in sockstat"},
    {kSocketQueuedBytes, "Rmem of net/packet and net/netlink"},
    {kSocketDrops, "Drops of net/netlink"},
    {kSocketEvents, "counters of TcpExt, Udp, UdpLite, Udp6 and UdpLite6 by their names"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_socket",
    .origin = origin_of<kPaths>(),
    .os = OperatingSystem::kLinux,
    .allocator = Allocator::kSocket,
    .is_roster = true,
    .origins = kOrigins,
    .plan = kPlan,
    .notes =
        "needs no privilege; TCP's bytes include TCPv6 and MPTCP, UDP's include UDPv6 and UDP-Lite, and control groups "
        "count the same memory again; sockets and events are of the daemon's network namespace, bytes and limits of the "
        "machine; new limits, and queues of packet and netlink sockets, are seen within four reads; each CPU may withhold "
        "up to 1 MiB from a protocol's bytes; if pages are larger than 4 KiB, bytes are too large on kernels from 4.10 to "
        "5.19, which count units of 4 KiB as pages",
    .steps = planned_steps<kPlan, parse>(),
};

}  // namespace memstat::sources::linux_socket
