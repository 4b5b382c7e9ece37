// SPDX-License-Identifier: BSD-2-Clause
// Answers that a client keeps and asks for again: it names what it has, and gets it only when there is another.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/server.h"

namespace memstat {

/// Whether a request that has `If-None-Match` has this entity already.
[[nodiscard]] bool has_entity(const HttpRequest& request, std::string_view etag);

/// The beginning of an answer with this ETag, which differs by coding no more than by Vary: with status 304 when the client
/// has the entity, which is then the whole answer; else the body is still to be given.
[[nodiscard]] HttpResponse revalidated(const HttpRequest& request, std::string etag);

}  // namespace memstat
