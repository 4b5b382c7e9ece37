// SPDX-License-Identifier: BSD-2-Clause
// Chooses format and coding from Accept and Accept-Encoding, and checks whether the client already has the response
// (If-None-Match), as defined by RFC 9110. Only revalidated() allocates; the time is linear in the header's length. There is
// no 406: a client that accepts no format gets uncompressed text, because a scraper's log line about an unreadable page is
// more helpful than a status.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/exposition/format.h"
#include "daemon/http/server.h"

namespace memstat {

enum class ContentCoding : std::uint8_t { kIdentity, kGzip };

/// Evaluates all Accept lines. Ignores entries with invalid syntax, including an invalid q.
///
/// Matching: the type, `type/*` or `*/*`; `version` 0.0.4 of text/plain, 1.0.0 and 0.0.1 of OpenMetrics (0.0.1 is answered
/// with 1.0.0: old Prometheus servers send it, check only the type and can read 1.0.0); `charset` utf-8. Protobuf only if
/// named with proto=io.prometheus.client.MetricFamily and encoding=delimited, never by a wildcard. Unknown parameters are
/// ignored, because Prometheus adds some (`escaping`, `validchars`) as permissions; our names need no escaping.
///
/// The q of the most specific entry counts (version, other parameters, type, `type/*`, `*/*`); of equally specific ones, the
/// highest. q=0 excludes.
///
/// At equal q a named format precedes one admitted by a wildcard. Named formats are ordered protobuf, OpenMetrics, text,
/// because a client that can read more gets more. Otherwise text comes first, because people can read it. Thread safety:
/// none; used for one request.
class AcceptedFormats {
 public:
  /// Adds the value of one header line.
  void add(std::string_view line);

  /// The choice for the lines so far; text if they accept nothing, or if there are none.
  [[nodiscard]] ExpositionFormat choose() const;

 private:
  struct Offer {
    int specificity = 0;  // specificity of the deciding entry; 0: none matched
    int quality = 0;      // thousandths
  };
  std::array<Offer, kExpositionFormatCount> offers_{};  // by ExpositionFormat
};

/// Evaluates all Accept-Encoding lines. Ignores entries with invalid syntax. gzip and x-gzip are the same. Of contradicting
/// entries the lowest q counts. `*` stands for gzip and identity unless they are named. gzip is chosen if it is accepted
/// with at least the weight of identity. Thread safety: none; used for one request.
class AcceptedCodings {
 public:
  /// Adds the value of one header line.
  void add(std::string_view line);

  /// The choice for the lines so far; identity if they accept nothing, or if there are none.
  [[nodiscard]] ContentCoding choose() const;

 private:
  static constexpr int kNotNamed = -1;
  int gzip_ = kNotNamed;  // thousandths
  int identity_ = kNotNamed;
  int any_ = kNotNamed;
};

/// The choice for all Accept lines of a request. Thread safety: safe, like all functions below.
[[nodiscard]] ExpositionFormat negotiate_format(std::span<const HttpHeader> headers);

/// The choice for all Accept-Encoding lines of a request. The caller must check can_gzip().
[[nodiscard]] ContentCoding negotiate_coding(std::span<const HttpHeader> headers);

/// Begins a response with this ETag. If the client has the entity, the response is complete, with status 304. Otherwise the
/// caller adds the body. Compressed and plain responses share an ETag and differ by Vary.
[[nodiscard]] HttpResponse revalidated(const HttpRequest& request, std::string etag);

}  // namespace memstat
