// SPDX-License-Identifier: BSD-2-Clause
// The output of netstat -m.
#include "daemon/ctl/commands/kernel_list.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/commands/shared_options.h"

namespace memstat::ctl {

Amount mbufs_of(const MbufZones& zones) {
  const std::uint64_t current = zones.mbuf.count + zones.packet.count;
  const std::uint64_t cache = zones.mbuf.free + zones.packet.free;
  return {.current = current, .cache = cache, .total = current + cache};
}

Amount clusters_of(const MbufZones& zones) {
  return {.current = zones.cluster.count - zones.packet.free,
          .cache = zones.cluster.free + zones.packet.free,
          .total = zones.cluster.count + zones.cluster.free};
}

Amount jumbos_of(const ZoneFigures& zone) {
  return {.current = zone.count, .cache = zone.free, .total = zone.count + zone.free};
}

Amount bytes_of(const MbufZones& zones) {
  const std::uint64_t clusters_out = zones.cluster.count - zones.packet.free;  // in packets in use, and on their own
  Amount bytes{.current = zones.mbuf.bytes + zones.packet.bytes + clusters_out * zones.cluster.size + zones.tag_bytes,
               .cache = (zones.mbuf.free + zones.packet.free) * zones.mbuf.size +
                        (zones.cluster.free + zones.packet.free) * zones.cluster.size,
               .total = 0};
  for (const ZoneFigures* jumbo : {&zones.jumbo_page, &zones.jumbo_9k, &zones.jumbo_16k}) {
    bytes.current += jumbo->count * jumbo->size;
    bytes.cache += jumbo->free * jumbo->size;
  }
  bytes.total = bytes.current + bytes.cache;
  return bytes;
}

namespace {

/// A figure with its key.
using Keyed = std::pair<std::string, std::uint64_t>;

/// Prints text or JSON from the same figures.
class Printer {
 public:
  explicit Printer(const ReportView& view) : is_json_(view.layout == Layout::kJson), json_("", view.is_compact) {
    if (is_json_) json_.open_object("mbuf-statistics");
  }

  /// Prints "1/2/3 words", with `unit` after each figure.
  void line(std::initializer_list<Keyed> figures, const std::string& words, const char* unit = "") {
    const char* separator = "";
    for (const auto& [key, value] : figures) {
      if (is_json_) json_.field(key, value);
      text_ += separator + std::to_string(value) + unit;
      separator = "/";
    }
    text_ += " " + words + "\n";
  }
  /// A figure that the words of the previous line contain.
  void also(const char* key, std::uint64_t value) {
    if (is_json_) json_.field(key, value);
  }
  std::string finish() { return is_json_ ? json_.finish() : std::move(text_); }

 private:
  bool is_json_;
  JsonWriter json_;
  std::string text_;
};

/// Finds the zones. Returns the name of a missing one.
std::optional<std::string> find_zones(memory_type_list* list, MbufZones& zones) {
  for (const auto& [name, figures] :
       {std::pair{"mbuf", &zones.mbuf}, std::pair{"mbuf_packet", &zones.packet}, std::pair{"mbuf_cluster", &zones.cluster},
        std::pair{"mbuf_jumbo_page", &zones.jumbo_page}, std::pair{"mbuf_jumbo_9k", &zones.jumbo_9k},
        std::pair{"mbuf_jumbo_16k", &zones.jumbo_16k}}) {
    const memory_type* zone = memstat_mtl_find(list, ALLOCATOR_UMA, name);
    if (zone == nullptr) return "zone " + std::string(name);
    *figures = {.count = memstat_get_count(zone),
                .free = memstat_get_free(zone),
                .bytes = memstat_get_bytes(zone),
                .size = memstat_get_size(zone),
                .limit = memstat_get_countlimit(zone),
                .failures = memstat_get_failures(zone),
                .sleeps = memstat_get_sleeps(zone)};
  }
  const memory_type* tag = memstat_mtl_find(list, ALLOCATOR_MALLOC, "mbuf_tag");
  if (tag == nullptr) return "malloc type mbuf_tag";
  zones.tag_bytes = memstat_get_bytes(tag);
  return std::nullopt;
}

void print_amounts(Printer& printer, const MbufZones& zones) {
  const Amount mbufs = mbufs_of(zones);
  printer.line({{"mbuf-current", mbufs.current}, {"mbuf-cache", mbufs.cache}, {"mbuf-total", mbufs.total}},
               "mbufs in use (current/cache/total)");
  const Amount clusters = clusters_of(zones);
  printer.line({{"cluster-current", clusters.current},
                {"cluster-cache", clusters.cache},
                {"cluster-total", clusters.total},
                {"cluster-max", zones.cluster.limit}},
               "mbuf clusters in use (current/cache/total/max)");
  printer.line({{"packet-count", zones.packet.count}, {"packet-free", zones.packet.free}},
               "mbuf+clusters out of packet secondary zone in use (current/cache)");
  const std::uint64_t page_kib = zones.jumbo_page.size / 1024;
  const auto print_jumbos = [&](const ZoneFigures& zone, const std::string& key, const char* most, const std::string& size) {
    const Amount amount = jumbos_of(zone);
    printer.line({{key + "-count", amount.current},
                  {key + "-cache", amount.cache},
                  {key + "-total", amount.total},
                  {key + most, zone.limit}},
                 size + " jumbo clusters in use (current/cache/total/max)");
  };
  print_jumbos(zones.jumbo_page, "jumbo", "-max", std::to_string(page_kib) + "k (page size)");
  printer.also("jumbo-page-size", page_kib);
  print_jumbos(zones.jumbo_9k, "jumbo9", "-max", "9k");
  print_jumbos(zones.jumbo_16k, "jumbo16", "-limit", "16k");
  const Amount bytes = bytes_of(zones);
  printer.line(
      {{"bytes-in-use", bytes.current / 1024}, {"bytes-in-cache", bytes.cache / 1024}, {"bytes-total", bytes.total / 1024}},
      "bytes allocated to network (current/cache/total)", "K");
}

void print_refusals(Printer& printer, const MbufZones& zones) {
  printer.line({{"mbuf-failures", zones.mbuf.failures},
                {"cluster-failures", zones.cluster.failures},
                {"packet-failures", zones.packet.failures}},
               "requests for mbufs denied (mbufs/clusters/mbuf+clusters)");
  printer.line(
      {{"mbuf-sleeps", zones.mbuf.sleeps}, {"cluster-sleeps", zones.cluster.sleeps}, {"packet-sleeps", zones.packet.sleeps}},
      "requests for mbufs delayed (mbufs/clusters/mbuf+clusters)");
  const std::string sizes = " (" + std::to_string(zones.jumbo_page.size / 1024) + "k/9k/16k)";
  printer.line({{"jumbop-sleeps", zones.jumbo_page.sleeps},
                {"jumbo9-sleeps", zones.jumbo_9k.sleeps},
                {"jumbo16-sleeps", zones.jumbo_16k.sleeps}},
               "requests for jumbo clusters delayed" + sizes);
  printer.line({{"jumbop-failures", zones.jumbo_page.failures},
                {"jumbo9-failures", zones.jumbo_9k.failures},
                {"jumbo16-failures", zones.jumbo_16k.failures}},
               "requests for jumbo clusters denied" + sizes);
}

/// A kernel variable of type int; empty if it does not exist.
std::optional<std::uint64_t> int_of_sysctl(memory_type_list* list, const char* name) {
  std::uint32_t value = 0;
  std::size_t size = sizeof value;
  if (memstat_sysctl_get(list, name, &value, &size) != 0 || size != sizeof value) return std::nullopt;
  return value;
}

/// For kernels that map sendfile's pages with sf_bufs (not on 64-bit machines).
void print_sfbufs(Printer& printer, memory_type_list* list) {
  const auto most = int_of_sysctl(list, "kern.ipc.nsfbufs");
  const auto used = int_of_sysctl(list, "kern.ipc.nsfbufsused");
  const auto peak = int_of_sysctl(list, "kern.ipc.nsfbufspeak");
  if (!most || !used || !peak) return;
  printer.line({{"nsfbufs-current", *used}, {"nsfbufs-peak", *peak}, {"nsfbufs", *most}},
               "sfbufs in use (current/peak/max)");
}

/// sendfile(2): kern.ipc.sfstat is an array of 64-bit counters (struct sfstat), newer kernels appended some. Returns false
/// and prints nothing if it does not exist, as in a crash dump; netstat does the same.
bool print_sendfile(Printer& printer, memory_type_list* list) {
  constexpr std::size_t kOldCounters = 10;
  std::array<std::uint64_t, 32> counters{};
  std::size_t size = sizeof counters;
  if (memstat_sysctl_get(list, "kern.ipc.sfstat", counters.data(), &size) != 0) return false;
  const std::size_t count = size / sizeof counters[0];
  if (count < kOldCounters) return false;
  printer.line({{"sendfile-syscalls", counters[0]}}, "sendfile syscalls");
  printer.line({{"sendfile-no-io", counters[1]}}, "sendfile syscalls completed without I/O request");
  printer.line({{"sendfile-io-count", counters[2]}}, "requests for I/O initiated by sendfile");
  printer.line({{"sendfile-pages-sent", counters[3]}}, "pages read by sendfile as part of a request");
  printer.line({{"sendfile-pages-valid", counters[4]}}, "pages were valid at time of a sendfile request");
  if (count > kOldCounters) {
    printer.line({{"sendfile-pages-bogus", counters[10]}}, "pages were valid and substituted to bogus page");
  }
  printer.line({{"sendfile-requested-readahead", counters[5]}}, "pages were requested for read ahead by applications");
  printer.line({{"sendfile-readahead", counters[6]}}, "pages were read ahead by sendfile");
  printer.line({{"sendfile-busy-encounters", counters[7]}}, "times sendfile encountered an already busy page");
  printer.line({{"sfbufs-alloc-failed", counters[8]}}, "requests for sfbufs denied");
  printer.line({{"sfbufs-alloc-wait", counters[9]}}, "requests for sfbufs delayed");
  return true;
}

Report mbufs_report(memory_type_list* list, const ReportView& view) {
  MbufZones zones;
  if (const auto missing = find_zones(list, zones)) {
    return {.problem = "this kernel or capture has no " + *missing + ", so mbufs cannot be shown"};
  }
  Printer printer(view);
  print_amounts(printer, zones);
  print_refusals(printer, zones);
  print_sfbufs(printer, list);
  Report report;
  if (!print_sendfile(printer, list))
    report.notes.emplace_back("there is no kern.ipc.sfstat here, so the lines about sendfile(2) are omitted");
  report.output = printer.finish();
  return report;
}

constexpr std::array kMbufsOptions{kKernelOption, kFromOption, kJsonOption, kFormatOption};

Report run_mbufs(const CommandLine& options) {
  const KernelList list;
  if (!list.reads(options)) return list.failure();
  if (memstat_sysctl_all(list.get(), 0) != 0) return list.failure(only_freebsd(options));
  Report report = mbufs_report(list.get(), options.view);
  const std::vector<std::string> notes = list.notes();
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  return report;
}

}  // namespace

const Command kMbufsCommand{"mbufs",
                            Group::kFreeBsd,
                            "The network buffers of a FreeBSD kernel, as netstat -m prints them",
                            "memstatctl mbufs --from bug.tar.zst\n"
                            "memstatctl mbufs --json --from bug.tar.zst",
                            kMbufsOptions,
                            run_mbufs};

}  // namespace memstat::ctl
