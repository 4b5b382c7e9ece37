// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/page_cache.h"

#include <algorithm>

#include "daemon/exposition/exposition.h"
#include "daemon/snapshot/own_metrics.h"

namespace memstat {
namespace {

constexpr std::string_view kAge = "memstat_poll_age_seconds";

struct Held {
  std::shared_ptr<const RenderedSnapshot> snapshot;
  std::shared_ptr<const void> own;
  std::shared_ptr<const void> types;
};

HttpResponse no_poll_yet() { return plain(503, "No poll has finished yet; try again in a moment.\n"); }
HttpResponse bad_request(const Error& error) { return plain(400, error.detail + "\n"); }

void add_headers(HttpResponse& response, ExpositionFormat format, ContentCoding coding) {
  response.content_type = descriptor_of(format).content_type;
  response.headers.reserve(coding == ContentCoding::kGzip ? 2 : 1);
  response.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  if (coding == ContentCoding::kGzip) response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace

PageCache::PageCache(const SnapshotPool& pool, const SelfMetrics& metrics, const Clock& clock)
    : pool_(pool), metrics_(metrics), clock_(clock) {
  for (const ExpositionFormat format : kExpositionFormats) {
    formats_[static_cast<std::size_t>(format)].age = descriptor_of(format).frame_gauge(kAge, help_of_own_metric(kAge));
  }
}

void PageCache::append_age(ExpositionFormat format, std::int64_t polled_ns, std::string& out) {
  const GaugeFrame& frame = formats_[static_cast<std::size_t>(format)].age;
  const FormatDescriptor& descriptor = descriptor_of(format);
  const double age = static_cast<double>(std::max<std::int64_t>(clock_.monotonic_ns() - polled_ns, 0)) / 1e9;
  std::array<char, kMaxGaugeValue> value{};
  const char* const end = descriptor.write_gauge_value(value.data(), age);
  out.reserve(frame.before.size() + value.size() + frame.after.size() + descriptor.document_end.size());
  out += frame.before;
  out.append(value.data(), static_cast<std::size_t>(end - value.data()));
  out += frame.after;
  out += descriptor.document_end;
}

std::shared_ptr<PageCache::Own> PageCache::own_of(Format& entry, ExpositionFormat format, const RenderOptions& options,
                                                  bool compressed) {
  const std::uint64_t version = metrics_.version();
  if (entry.own == nullptr || entry.own->version != version) {
    auto own = std::make_shared<Own>();
    own->version = version;
    own->text = metrics_.page(format, options);
    entry.own = std::move(own);
  }
  if (compressed && !entry.own->is_compressed) {
    compressor_.compress_part(entry.own->text, entry.own->gzip);
    entry.own->is_compressed = true;
  }
  return entry.own;
}

std::shared_ptr<PageCache::Types> PageCache::types_of(Format& entry, ExpositionFormat format,
                                                      const RenderedSnapshot& snapshot) {
  if (entry.types != nullptr && entry.types->generation == snapshot.generation()) return entry.types;
  auto types = std::make_shared<Types>();
  types->generation = snapshot.generation();
  compressor_.compress_part(page_of(snapshot, format), types->gzip);
  entry.types = std::move(types);
  return entry.types;
}

HttpResponse PageCache::page(ExpositionFormat format, ContentCoding coding) {
  Held held{.snapshot = pool_.current(), .own = {}, .types = {}};
  if (held.snapshot == nullptr) return no_poll_yet();
  const RenderedSnapshot& snapshot = *held.snapshot;
  HttpResponse response;
  add_headers(response, format, coding);
  Format& entry = formats_[static_cast<std::size_t>(format)];
  response.pieces.reserve(3);
  if (coding == ContentCoding::kIdentity) {
    response.pieces.push_back(page_of(snapshot, format));
    {
      const MutexLock lock(entry.mutex);
      auto own = own_of(entry, format, snapshot.options, false);
      response.pieces.emplace_back(own->text);
      held.own = std::move(own);
    }
    append_age(format, snapshot.polled_ns, response.text);
  } else {
    std::shared_ptr<Own> own;
    std::shared_ptr<Types> types;
    std::uint32_t crc = 0;
    {
      const MutexLock lock(entry.mutex);
      own = own_of(entry, format, snapshot.options, true);
      types = types_of(entry, format, snapshot);
      if (entry.crc_own_version != own->version || entry.crc_generation != types->generation) {
        entry.crc = gzip_crc(types->gzip.crc, own->text);
        entry.crc_own_version = own->version;
        entry.crc_generation = types->generation;
      }
      crc = entry.crc;
    }
    response.pieces = {gzip_header(), types->gzip.bytes.view(), own->gzip.bytes.view()};
    std::string age;  // and the end of the document
    append_age(format, snapshot.polled_ns, age);
    append_gzip_end(response.text, age, crc, types->gzip.size + own->gzip.size);
    held.own = std::move(own);
    held.types = std::move(types);
    held.snapshot = nullptr;  // compressed bytes are copies, so the snapshot may be reused
  }
  response.owner = std::make_shared<const Held>(std::move(held));
  return response;
}

HttpResponse PageCache::answer(ExpositionFormat format, ContentCoding coding, std::string body) {
  HttpResponse response;
  add_headers(response, format, coding);
  if (coding == ContentCoding::kIdentity) {
    response.text = std::move(body);
    return response;
  }
  const auto compressed = std::make_shared<Buffer>();
  compressor_.compress(body, *compressed);
  response.pieces.push_back(compressed->view());
  response.owner = compressed;
  return response;
}

HttpResponse PageCache::part(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted) {
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool_.current();
  if (snapshot == nullptr) return no_poll_yet();
  const Result<PageFilter> filter = PageFilter::make(*snapshot, wanted);
  if (!filter) return bad_request(filter.error());
  Buffer types;
  render(format, snapshot->options, *filter, *snapshot, types);
  std::string body(types.view());
  body += metrics_.page(format, snapshot->options, [&](std::string_view name) { return filter->shows_own(name); });
  if (filter->shows_own(kAge)) {
    append_age(format, snapshot->polled_ns, body);
  } else {
    body += descriptor_of(format).document_end;
  }
  return answer(format, coding, std::move(body));
}

HttpResponse PageCache::per_cpu(ExpositionFormat format, ContentCoding coding, const PageRequest& wanted,
                                bool is_configured) {
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool_.current();
  if (snapshot == nullptr) return no_poll_yet();
  RenderOptions options = snapshot->options;
  options.types = false;
  options.per_cpu = true;
  options.size_classes = false;
  Buffer types;
  if (wanted.is_whole()) {
    if (!is_configured) {
      const Result<void> possible = check_per_cpu(*snapshot, nullptr);
      if (!possible) return bad_request(possible.error());
    }
    render(format, options, *snapshot, types);
  } else {
    const Result<PageFilter> filter = PageFilter::make(*snapshot, wanted);
    if (!filter) return bad_request(filter.error());
    if (const Result<void> possible = check_per_cpu(*snapshot, &*filter); !possible) return bad_request(possible.error());
    if (render(format, options, *filter, *snapshot, types) == 0) {
      return plain(400, "none of these metrics is per CPU; memstatd --list-metrics shows those that are, memstat_cpu_*\n");
    }
  }
  std::string body(types.view());
  body += descriptor_of(format).document_end;
  return answer(format, coding, std::move(body));
}

}  // namespace memstat
