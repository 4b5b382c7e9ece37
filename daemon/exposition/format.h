// SPDX-License-Identifier: BSD-2-Clause
// The wire formats that there are, and what is put into a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "config/config.h"
#include "core/base/buffer.h"

namespace memstat {

/// Every format has a file of its own in this folder and a line in exposition.cpp. The numbers index tables, the one in
/// negotiation.cpp too.
enum class ExpositionFormat : std::uint8_t {
  kText,         ///< Prometheus text 0.0.4, the one to fall back to
  kOpenMetrics,  ///< OpenMetrics text 1.0.0
  kProtobuf,     ///< io.prometheus.client.MetricFamily messages, each after its length
};
inline constexpr std::size_t kExpositionFormatCount = 3;

/// "text", "openmetrics", "protobuf", as on the command line.
std::string_view to_string(ExpositionFormat format);
/// The inverse of to_string; nothing for any other word.
std::optional<ExpositionFormat> parse_exposition_format(std::string_view name);
/// What the header Content-Type says of the format.
std::string_view content_type(ExpositionFormat format);

/// Which metrics are rendered, and how.
struct RenderOptions {
  Tier tier = Tier::kDefault;
  bool types = true;          ///< Those whose tier says so. False: the page /metrics/percpu.
  bool per_cpu = true;        ///< Those of scope kCpu, for the rows that have per-CPU figures.
  bool size_classes = false;  ///< Those of scope kSizeClass.
  /// OpenMetrics: a `_created` sample beside each counter and histogram whose beginning is known. Protobuf says it always,
  /// text never.
  bool created = false;
};

/// A page that is rendered when it is asked for, once. Its room is kept when it is forgotten.
/// Thread safety: of() is safe; forget() only while nobody else uses this.
class LazyPage {
 public:
  /// The page; `render(Buffer&)` makes it for whoever asks first, while the others wait. It lives until forget(). When
  /// `render` throws, the next one tries again.
  std::string_view of(const std::function<void(Buffer&)>& render) {
    const std::lock_guard lock(mutex_);
    if (!is_rendered_) render(bytes_);
    is_rendered_ = true;
    return bytes_.view();
  }
  void forget() { is_rendered_ = false; }
  /// Forgets it and gives the room back; as forget().
  void release() {
    forget();
    bytes_ = Buffer();
  }

 private:
  std::mutex mutex_;
  bool is_rendered_ = false;  // guarded by mutex_
  Buffer bytes_;              // guarded by mutex_ until rendered
};

}  // namespace memstat
