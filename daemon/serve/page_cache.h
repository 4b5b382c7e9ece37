// SPDX-License-Identifier: BSD-2-Clause
// The bytes of /metrics, ready to send. Made at most once per snapshot, format and coding, however many clients scrape.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "daemon/exposition/format.h"
#include "daemon/exposition/rendered_snapshot.h"
#include "daemon/http/server.h"
#include "daemon/serve/gzip.h"
#include "daemon/serve/negotiation.h"
#include "daemon/serve/query.h"
#include "daemon/telemetry/self_metrics.h"

namespace memstat {

/// Assembles the page from three parts: the memory types (rendered on first use), the daemon's own
/// metrics (rendered again when one changes), and the age of the poll, which is computed for each request. The first two are
/// compressed on first use. The third, a few hundred bytes, is appended uncompressed to the same gzip member. Thread safety:
/// safe.
class PageCache {
 public:
  /// All must outlive this object.
  PageCache(const SnapshotPool& pool, const SelfMetrics& metrics, const Clock& clock);

  /// The whole page. Status 503 before the first poll. Throws std::bad_alloc.
  [[nodiscard]] HttpResponse page(ExpositionFormat format, ContentCoding coding);

  /// A part of the page, made for this request. Status 400 with an explanation if a word is unknown. Throws std::bad_alloc.
  [[nodiscard]] HttpResponse part(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted);

  /// Only the per-CPU figures. `is_configured` is whether the key per_cpu selects any type. Status 400 with an explanation
  /// if it does not, or if the requested types are not selected.
  [[nodiscard]] HttpResponse per_cpu(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted,
                                     bool is_configured);

 private:
  struct Own {
    std::uint64_t version = 0;
    std::string text;  // without the end of the document
    GzipPart gzip;
    bool is_compressed = false;
  };
  struct Types {
    std::uint64_t generation = 0;  // generation of the snapshot; 0: none
    GzipPart gzip;
  };
  struct Format {
    Mutex mutex;
    // Their targets do not change while others hold them.
    std::shared_ptr<Own> own MEMSTAT_GUARDED_BY(mutex);
    std::shared_ptr<Types> types MEMSTAT_GUARDED_BY(mutex);
    // The checksum of both parts, and their versions; 0: none.
    std::uint32_t crc MEMSTAT_GUARDED_BY(mutex) = 0;
    std::uint64_t crc_own_version MEMSTAT_GUARDED_BY(mutex) = 0;
    std::uint64_t crc_generation MEMSTAT_GUARDED_BY(mutex) = 0;
    GaugeFrame age;  // the last part, around its value
  };

  /// Appends the last part and the end of the document.
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
