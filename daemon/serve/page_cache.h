// SPDX-License-Identifier: BSD-2-Clause
// The bytes of /metrics, ready to be sent: made at most once a snapshot, format and coding, however many scrape.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "daemon/exposition/format.h"
#include "daemon/exposition/snapshot_pool.h"
#include "daemon/http/server.h"
#include "daemon/serve/gzip.h"
#include "daemon/serve/negotiation.h"
#include "daemon/serve/query.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// Puts the page together from three parts: the memory types (rendered with the snapshot, or when first asked for), the
/// daemon's own figures (rendered again when one of them changed), and the age of the poll, which is of the moment.
/// The first two are compressed when first asked for; the third, a few hundred bytes, follows uncompressed in the same gzip
/// member. Thread safety: safe.
class PageCache {
 public:
  /// All must outlive this.
  PageCache(const SnapshotPool& pool, const SelfMetrics& metrics, const Clock& clock);

  /// The whole page. Status 503 before the first poll. Throws std::bad_alloc.
  [[nodiscard]] HttpResponse page(ExpositionFormat format, ContentCoding coding);

  /// A part of the page, made for this request. 400 with a text that says what is wrong when a word is not known. Throws
  /// std::bad_alloc.
  [[nodiscard]] HttpResponse part(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted);

  /// The per-CPU figures alone, and none of the daemon. `is_configured`: whether the key per_cpu selects any type; without,
  /// or for types that it does not select, 400 says so.
  [[nodiscard]] HttpResponse per_cpu(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted,
                                     bool is_configured);

 private:
  /// The own figures as of one change of them.
  struct Own {
    std::uint64_t version = 0;
    std::string text;  // without the document's end
    GzipPart gzip;
    bool is_compressed = false;
  };
  struct Types {
    std::uint64_t generation = 0;  // of the snapshot; 0: none
    GzipPart gzip;
  };
  struct Format {
    Mutex mutex;
    // What they point to does not change while others hold it.
    std::shared_ptr<Own> own MEMSTAT_GUARDED_BY(mutex);
    std::shared_ptr<Types> types MEMSTAT_GUARDED_BY(mutex);
    // The checksum of both together, and which of them it is of; 0: there was none.
    std::uint32_t crc MEMSTAT_GUARDED_BY(mutex) = 0;
    std::uint64_t crc_own_version MEMSTAT_GUARDED_BY(mutex) = 0;
    std::uint64_t crc_generation MEMSTAT_GUARDED_BY(mutex) = 0;
    GaugeFrame age;  // the last part, around its value
  };

  /// Appends the last part, with the end of the document.
  void append_age(ExpositionFormat format, std::int64_t polled_ns, std::string& out);
  std::shared_ptr<Own> own_of(Format& entry, ExpositionFormat format, const RenderOptions& options, bool compressed)
      MEMSTAT_REQUIRES(entry.mutex);
  HttpResponse answer(ExpositionFormat format, ContentCoding coding, std::string body);
  std::shared_ptr<Types> types_of(Format& entry, ExpositionFormat format, const RenderedSnapshot& snapshot)
      MEMSTAT_REQUIRES(entry.mutex);

  const SnapshotPool& pool_;
  const SelfMetrics& metrics_;
  const Clock& clock_;
  GzipCompressor compressor_;
  std::array<Format, kExpositionFormatCount> formats_;
};

}  // namespace memstat
