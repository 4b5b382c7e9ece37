// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/commands/mbuf_figures.h"

#include <initializer_list>

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
  const std::uint64_t clusters_out = zones.cluster.count - zones.packet.free;  // in packets that are out, and by themselves
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

}  // namespace memstat::ctl
