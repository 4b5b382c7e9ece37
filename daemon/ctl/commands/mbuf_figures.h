// SPDX-License-Identifier: BSD-2-Clause
// The arithmetic of netstat -m.
#pragma once

#include <cstdint>

namespace memstat::ctl {

/// Figures of one zone; `limit` is 0 if there is none.
struct ZoneFigures {
  std::uint64_t count = 0;  ///< Items in use.
  std::uint64_t free = 0;   ///< Cached items.
  std::uint64_t bytes = 0;  ///< In use.
  std::uint64_t size = 0;   ///< Bytes per item.
  std::uint64_t limit = 0;  ///< In items.
  std::uint64_t failures = 0;
  std::uint64_t sleeps = 0;
};

/// The zones of the network's memory. A packet is an mbuf with a cluster. The packet zone takes its mbufs from `mbuf`,
/// and its clusters count as in use in `cluster` even while the packet is cached.
struct MbufZones {
  ZoneFigures mbuf, packet, cluster, jumbo_page, jumbo_9k, jumbo_16k;
  std::uint64_t tag_bytes = 0;  ///< Bytes in use of the malloc type mbuf_tag.
};

/// In use, cached, and both together.
struct Amount {
  std::uint64_t current = 0, cache = 0, total = 0;
};

/// Modulo 2^64, as in netstat: zones are read one after another, so differences may be just below 0.
Amount mbufs_of(const MbufZones& zones);
Amount clusters_of(const MbufZones& zones);
Amount jumbos_of(const ZoneFigures& zone);
/// Bytes of everything, including tags.
Amount bytes_of(const MbufZones& zones);

}  // namespace memstat::ctl
