// SPDX-License-Identifier: BSD-2-Clause
// Which format and which coding a client gets, and whether it has the answer already: Accept, Accept-Encoding and
// If-None-Match, read as RFC 9110 defines them. Nothing but revalidated() allocates; the time is linear in the header's
// length. There is no refusal (406): a client that accepts no format gets text, uncompressed, because a scraper's log line
// on a page that it cannot read says more than a status.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/exposition/format.h"
#include "daemon/http/server.h"

namespace memstat {

/// How the bytes of a body are coded.
enum class ContentCoding : std::uint8_t { kIdentity, kGzip };

/// Accept, over all its lines. An entry that breaks the grammar (q too) counts as not sent.
///
/// What matches: the type, `type/*` or `*/*`; `version` 0.0.4 of text/plain, 1.0.0 and 0.0.1 of OpenMetrics (0.0.1 is
/// answered with 1.0.0, which its readers read: old Prometheus servers ask so and look at the type only); `charset` utf-8;
/// protobuf only when it is named with proto=io.prometheus.client.MetricFamily and encoding=delimited, never by a wildcard.
/// Parameters that a format does not have are ignored, since Prometheus adds such (`escaping`, `validchars`) as permissions;
/// our names need no escaping.
///
/// Which q counts: that of the most specific entry (version, other parameters, type, `type/*`, `*/*`; 0.0.1 is less than
/// 1.0.0), of equal ones the highest. q=0 excludes.
///
/// At equal q a format that is named goes before one that a wildcard let in. Of named ones the order is protobuf,
/// OpenMetrics, text: a client that reads more gets more. Of the others text goes first, which people can read.
/// Thread safety: none; one request's.
class AcceptedFormats {
 public:
  /// Takes one header line's value.
  void add(std::string_view line);

  /// The answer to the lines so far; text when they accept nothing, or when there is none.
  [[nodiscard]] ExpositionFormat choose() const;

 private:
  struct Offer {
    int specificity = 0;  // of the entry that decides; 0: none matched
    int quality = 0;      // thousandths
  };
  std::array<Offer, kExpositionFormatCount> offers_{};  // by ExpositionFormat
};

/// Accept-Encoding, over all its lines. An entry that breaks the grammar counts as not sent. gzip and x-gzip are one. Of
/// entries that contradict each other the lowest q counts. `*` stands for each of gzip and identity that is not named.
/// gzip is chosen when it is accepted and not less liked than identity. Thread safety: none; one request's.
class AcceptedCodings {
 public:
  /// Takes one header line's value.
  void add(std::string_view line);

  /// The answer to the lines so far; identity when they accept nothing, or when there is none.
  [[nodiscard]] ContentCoding choose() const;

 private:
  static constexpr int kNotNamed = -1;
  int gzip_ = kNotNamed;  // thousandths
  int identity_ = kNotNamed;
  int any_ = kNotNamed;
};

/// The answer to an Accept header of one line. Empty means absent. Thread safety: safe, as of all below.
[[nodiscard]] ExpositionFormat negotiate_format(std::string_view accept);
/// The same for all lines of a request that are called Accept.
[[nodiscard]] ExpositionFormat negotiate_format(std::span<const HttpHeader> headers);

/// The answer to an Accept-Encoding header of one line. Empty means absent. Whether gzip can be served is can_gzip()'s
/// matter.
[[nodiscard]] ContentCoding negotiate_coding(std::string_view accept_encoding);
/// The same for all lines of a request that are called Accept-Encoding.
[[nodiscard]] ContentCoding negotiate_coding(std::span<const HttpHeader> headers);

/// Whether a request that has `If-None-Match` has this entity already.
[[nodiscard]] bool has_entity(const HttpRequest& request, std::string_view etag);

/// The beginning of an answer with this ETag, which differs by coding no more than by Vary: with status 304 when the client
/// has the entity, which is then the whole answer; else the body is still to be given.
[[nodiscard]] HttpResponse revalidated(const HttpRequest& request, std::string etag);

}  // namespace memstat
