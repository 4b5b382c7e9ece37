// SPDX-License-Identifier: BSD-2-Clause
// The wire formats of this build, and what each says of itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "daemon/exposition/all_formats.h"
#include "daemon/snapshot/render_options.h"

namespace memstat {

class PageFilter;
class Snapshot;
struct MetricDescriptor;
struct OwnMetrics;

/// A format; a number that indexes tables. kText is Prometheus text 0.0.4, kOpenMetrics is OpenMetrics text 1.0.0,
/// kProtobuf is io.prometheus.client.MetricFamily messages, each after its length.
enum class ExpositionFormat : std::uint8_t {
#define MEMSTAT_ENUMERATOR(NAME) k##NAME,
  MEMSTAT_FORMATS(MEMSTAT_ENUMERATOR)
#undef MEMSTAT_ENUMERATOR
};
#define MEMSTAT_ENUMERATOR(NAME) ExpositionFormat::k##NAME,
inline constexpr ExpositionFormat kExpositionFormats[] = {MEMSTAT_FORMATS(MEMSTAT_ENUMERATOR)};
#undef MEMSTAT_ENUMERATOR
inline constexpr std::size_t kExpositionFormatCount = std::size(kExpositionFormats);

/// The one that a client gets that accepts none of ours: the first of the list.
inline constexpr ExpositionFormat kFallbackFormat{};

/// A parameter of a media type, as a client may send it in Accept.
struct MediaParameter {
  std::string_view name;        ///< In lower case.
  std::string_view value;       ///< What ours is; a client that names another one does not mean this format.
  std::string_view older = {};  ///< Another value whose readers understand ours; "": none.
  bool ignores_case = false;    ///< Of the value, which is in lower case then.
  bool is_required = false;     ///< Only a client that names it gets the format: its bytes mean nothing to others.
  int weight = 0;               ///< How much closer an entry of Accept is that names it; below 16 together.
  int older_weight = 0;         ///< The same for `older`.
};

/// How clients ask for a format. Static.
struct MediaType {
  std::string_view type;     ///< "text"
  std::string_view subtype;  ///< "plain"
  std::span<const MediaParameter> parameters = {};
};
/// Formats have no more parameters than this.
inline constexpr std::size_t kMaxMediaParameters = 3;

/// A page of one gauge without labels, around the place of its value.
struct GaugeFrame {
  std::string before;
  std::string after;
};

/// A format's entry in the table.
struct FormatDescriptor {
  std::string_view name;          ///< As on the command line.
  std::string_view content_type;  ///< For the header Content-Type.
  MediaType media;
  std::string_view document_end;  ///< What follows the last family of a document; "": nothing.
  /// Appends the metrics of `catalogue` that options and filter (nullptr: all) show; returns how many series that are.
  std::size_t (*write_types)(std::span<const MetricDescriptor> catalogue, const RenderOptions& options,
                             const PageFilter* filter, const Snapshot& snapshot, Buffer& out);
  /// Appends the daemon's own figures.
  void (*write_own)(const RenderOptions& options, const OwnMetrics& own, Buffer& out);
  GaugeFrame (*frame_gauge)(std::string_view name, std::string_view help);
  /// Writes a value for a frame at `at`, at most kMaxGaugeValue bytes. Returns their end.
  char* (*write_gauge_value)(char* at, double value);
};
inline constexpr std::size_t kMaxGaugeValue = 40;

/// What the format says of itself. Static.
const FormatDescriptor& descriptor_of(ExpositionFormat format);

/// "text", "openmetrics", "protobuf", as on the command line.
std::string_view to_string(ExpositionFormat format);
/// The inverse of to_string; nothing for any other word.
std::optional<ExpositionFormat> parse_exposition_format(std::string_view name);
/// "text, openmetrics or protobuf"
std::string format_names();
/// What the header Content-Type says of the format.
std::string_view content_type(ExpositionFormat format);
/// Every format, in the order of the list.
std::array<ExpositionFormat, kExpositionFormatCount> all_formats();

}  // namespace memstat
