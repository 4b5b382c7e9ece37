// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/api.h"

#include <utility>

#include "core/base/json_writer.h"
#include "core/model/field.h"
#include "daemon/serve/negotiation.h"
#include "daemon/serve/query.h"

namespace memstat {
namespace {

HttpResponse json_response(int status, std::string text) {
  return {.status = status, .content_type = "application/json", .text = std::move(text)};
}

HttpResponse failure(int status, std::string_view why) {
  return json_response(status, JsonWriter().field("error", why).finish());
}

bool is_allocator(std::string_view name) {
  for (std::size_t i = 1; i < kAllocatorCount; ++i) {
    if (to_string(static_cast<Allocator>(i)) == name) return true;
  }
  return false;
}

/// Whether the request has no parameters; documents with parameters are not cached.
bool is_plain(const HttpRequest& request) { return request.query.empty(); }

}  // namespace

template <typename Make>
HttpResponse Api::answer(const HttpRequest& request, const Snapshot& snapshot, Kept* kept, Make make) {
  // Weak, so that it also applies to a compressed body.
  std::string etag = "W/\"";
  etag += std::to_string(started_) + '-' + std::to_string(snapshot.generation()) + '"';
  HttpResponse response = revalidated(request, etag);
  if (response.status == 304) return response;
  response.content_type = "application/json";
  const bool compress = can_gzip() && negotiate_coding(request.headers) == ContentCoding::kGzip;
  std::shared_ptr<const Document> document;
  const auto made = [&] {
    auto fresh = std::make_shared<Document>();
    fresh->etag = etag;
    fresh->plain = make();
    if (compress) fresh->is_compressed = compressor_.compress(fresh->plain, fresh->gzip);
    return fresh;
  };
  if (kept != nullptr) {
    const MutexLock lock(kept->mutex);  // others wait for the document instead of making it again
    if (kept->document == nullptr || kept->document->etag != etag || (compress && !kept->document->is_compressed)) {
      kept->document = made();
    }
    document = kept->document;
  } else {
    document = made();
  }
  if (compress && document->is_compressed) {
    response.headers.emplace_back("Content-Encoding", "gzip");
    response.pieces.push_back(document->gzip.view());
  } else {
    response.pieces.emplace_back(document->plain);
  }
  response.owner = document;
  return response;
}

HttpResponse Api::type(const HttpRequest& request, const Snapshot& snapshot, std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) {
    return failure(404, "write /api/v1/types/ALLOCATOR/TYPE, the type percent-encoded; /api/v1/types lists them");
  }
  const auto row = row_of(snapshot, path.substr(0, slash), path.substr(slash + 1));
  if (!row) return failure(404, "no such type is listed now; /api/v1/types lists those that are");
  return answer(request, snapshot, nullptr, [&] { return type_document(snapshot, *row, sources_.statuses()); });
}

HttpResponse Api::history(const HttpRequest& request, const Snapshot& snapshot, const ApiRequest& wanted) {
  if (!wanted.type) {
    return answer(request, snapshot, is_plain(request) ? &overview_ : nullptr,
                  [&] { return history_document(snapshot, *options_.history, wanted); });
  }
  const auto row = row_of(snapshot, *wanted.allocator, *wanted.type);
  if (!row) return failure(404, "no such type is listed now; /api/v1/types lists those that are");
  return answer(request, snapshot, nullptr, [&] { return type_history_document(snapshot, *row, *options_.history); });
}

HttpResponse Api::incident(std::string_view file) const {
  if (!options_.incident_file) return failure(404, "incidents are not kept here");
  auto bytes = options_.incident_file(file);
  if (!bytes) return failure(404, "no such incident is kept now; /api/v1/incidents lists those that are");
  return {.status = 200, .content_type = "application/octet-stream", .text = *std::move(bytes)};
}

HttpResponse Api::respond(const HttpRequest& request) {
  constexpr std::string_view kTypes = "types/";
  constexpr std::string_view kIncidents = "incidents/";
  const std::string_view path = request.path.substr(kPrefix.size());
  constexpr std::string_view kDocuments[] = {"types",     "history", "growth", "findings",
                                             "incidents", "sources", "events", "memory"};
  const bool is_known = std::find(std::begin(kDocuments), std::end(kDocuments), path) != std::end(kDocuments);
  if (!is_known && !path.starts_with(kTypes) && !path.starts_with(kIncidents)) {
    return failure(404,
                   "not found; the documents are /api/v1/types, /types/ALLOCATOR/TYPE, /history, /growth, /findings, "
                   "/incidents, /incidents/FILE, /sources, /events and /memory");
  }
  if (path.starts_with(kIncidents)) return incident(path.substr(kIncidents.size()));
  const Result<ApiRequest> wanted = parse_api_request(request.query);
  if (!wanted) return failure(400, wanted.error().detail);
  if (wanted->allocator && !is_allocator(*wanted->allocator)) {
    return failure(400,
                   shown_to_client(*wanted->allocator) + " is not an allocator; memstatctl explain allocator lists them");
  }
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool_.current();
  if (snapshot == nullptr) return failure(503, "no poll has finished yet; try again in a moment");
  const auto made = [&](Kept* kept, auto make) {
    return answer(request, *snapshot, is_plain(request) ? kept : nullptr, make);
  };
  if (path == "types") return made(&types_, [&] { return types_document(*snapshot, *wanted); });
  if ((path == "history" || path == "growth") && (options_.history == nullptr || !options_.history->is_on())) {
    return failure(404, "the history is off; set the key history to a size to enable it");
  }
  if (path == "history") return history(request, *snapshot, *wanted);
  if (path == "growth") return made(&growth_, [&] { return growth_document(*snapshot, *options_.history, *wanted); });
  if (path == "findings") {
    if (options_.diagnostician == nullptr) return failure(404, "findings are not available here");
    return made(&findings_, [&] { return findings_document(*snapshot, options_.diagnostician->diagnosis()); });
  }
  // One may be written between two polls, which the ETag does not show.
  if (path == "incidents") {
    return json_response(200, incidents_document(*snapshot, options_.incidents ? options_.incidents() : IncidentList{}));
  }
  if (path == "sources") {
    return made(nullptr, [&] {
      return sources_document(*snapshot, sources_.statuses(), metrics_, options_.history, options_.version, options_.host);
    });
  }
  if (path == "events") return made(nullptr, [&] { return events_document(*snapshot); });
  if (path == "memory") return made(nullptr, [&] { return memory_document(*snapshot, options_.host, options_.history); });
  return type(request, *snapshot, path.substr(kTypes.size()));
}

}  // namespace memstat
