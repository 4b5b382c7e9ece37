// SPDX-License-Identifier: BSD-2-Clause
// The arithmetic of netstat -m.
#pragma once

#include <cstdint>

namespace memstat::ctl {

/// What is needed of one zone; `limit` is 0 when there is none.
struct ZoneFigures {
  std::uint64_t count = 0;  ///< Items in use.
  std::uint64_t free = 0;   ///< Items cached.
  std::uint64_t bytes = 0;  ///< In use.
  std::uint64_t size = 0;   ///< Bytes of an item.
  std::uint64_t limit = 0;  ///< Items.
  std::uint64_t failures = 0;
  std::uint64_t sleeps = 0;
};

/// The zones behind the network's memory. A packet is an mbuf with a cluster: its zone takes mbufs from `mbuf` and holds
/// clusters that count as in use in `cluster`, also while the packet is only cached.
struct MbufZones {
  ZoneFigures mbuf, packet, cluster, jumbo_page, jumbo_9k, jumbo_16k;
  std::uint64_t tag_bytes = 0;  ///< Of the malloc type mbuf_tag, in use.
};

/// In use, cached, and both together.
struct Amount {
  std::uint64_t current = 0, cache = 0, total = 0;
};

/// Modulo 2^64, as upstream: zones are read one after the other, so differences may be just below 0.
Amount mbufs_of(const MbufZones& zones);
Amount clusters_of(const MbufZones& zones);
Amount jumbos_of(const ZoneFigures& zone);
/// Bytes of all of it, tags included.
Amount bytes_of(const MbufZones& zones);

}  // namespace memstat::ctl
