// SPDX-License-Identifier: BSD-2-Clause
// The wire formats of this build, and their descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/buffer.h"
#include "daemon/exposition/all_formats.h"

namespace memstat {

class PageFilter;
class Snapshot;
struct MetricDescriptor;
struct OwnMetrics;
struct RenderOptions;

/// A format; the number indexes tables. kText is Prometheus text 0.0.4, kOpenMetrics is OpenMetrics text 1.0.0, kProtobuf is
/// length-delimited io.prometheus.client.MetricFamily messages.
enum class ExpositionFormat : std::uint8_t {
#define MEMSTAT_ENUMERATOR(NAME) k##NAME,
  MEMSTAT_FORMATS(MEMSTAT_ENUMERATOR)
#undef MEMSTAT_ENUMERATOR
};
#define MEMSTAT_ENUMERATOR(NAME) ExpositionFormat::k##NAME,
inline constexpr ExpositionFormat kExpositionFormats[] = {MEMSTAT_FORMATS(MEMSTAT_ENUMERATOR)};
#undef MEMSTAT_ENUMERATOR
inline constexpr std::size_t kExpositionFormatCount = std::size(kExpositionFormats);

/// The format for a client that accepts none of ours: the first of the list.
inline constexpr ExpositionFormat kFallbackFormat{};

/// A parameter of a media type, as sent in Accept.
struct MediaParameter {
  std::string_view name;        ///< Lower case.
  std::string_view value;       ///< Our value; an entry with another value does not match this format.
  std::string_view older = {};  ///< Another value whose readers understand ours; "": none.
  bool ignores_case = false;    ///< The value is case-insensitive, and ours is lower case.
  bool is_required = false;     ///< Only a client that names it gets the format, because its bytes are useless to others.
  int weight = 0;               ///< Added to the specificity of an Accept entry that names it; all together below 16.
};

/// The media type of a format. Static.
struct MediaType {
  std::string_view type;     ///< "text"
  std::string_view subtype;  ///< "plain"
  std::span<const MediaParameter> parameters = {};
};

/// A page of one gauge without labels: the bytes around its value.
struct GaugeFrame {
  std::string before;
  std::string after;
};

struct FormatDescriptor {
  std::string_view name;          ///< Name on the command line.
  std::string_view content_type;  ///< Value of the header Content-Type.
  MediaType media;
  std::string_view document_end;  ///< Bytes after the last family; "": none.
  /// Appends the metrics of `catalogue` that options and filter (nullptr: all) admit. Returns the number of series.
  std::size_t (*write_types)(std::span<const MetricDescriptor> catalogue, const RenderOptions& options,
                             const PageFilter* filter, const Snapshot& snapshot, Buffer& out);
  void (*write_own)(const RenderOptions& options, const OwnMetrics& own, Buffer& out);
  GaugeFrame (*frame_gauge)(std::string_view name, std::string_view help);
  /// Writes a value for a frame at `at`, at most kMaxGaugeValue bytes. Returns their end.
  char* (*write_gauge_value)(char* at, double value);
};
inline constexpr std::size_t kMaxGaugeValue = 40;

const FormatDescriptor& descriptor_of(ExpositionFormat format);

/// "text", "openmetrics", "protobuf", as on the command line.
std::string_view to_string(ExpositionFormat format);
std::optional<ExpositionFormat> parse_exposition_format(std::string_view name);
/// "text, openmetrics or protobuf"
std::string format_names();

}  // namespace memstat
