// SPDX-License-Identifier: BSD-2-Clause
// Answers of a program that claims to be memstatd, read by memstatctl: any bytes give rows within their bounds.
#include <cstdlib>

#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/http_client.h"
#include "daemon/ctl/source/incident_files.h"
#include "tests/fuzz/fuzz_target.h"

void memstat::fuzz(std::string_view bytes) {
  using namespace ctl;
  HttpAnswer answer;
  const std::string body = parse_answer(bytes, answer).empty() ? answer.body : std::string(bytes);
  if (body.size() > bytes.size()) std::abort();
  Sample sample;
  if (parse_types_answer(body, sample)) {
    for (const TypeRow& type : sample.types) {
      if (type.bytes >> 63U != 0 || type.objects >> 63U != 0 || (type.limit_used && !(*type.limit_used >= 0))) std::abort();
    }
  }
  std::vector<AmountHistory> histories;
  if (parse_history_answer(body, sample.types, histories) && histories.size() != sample.types.size()) std::abort();
  Machine machine;
  parse_memory_answer(body, machine, sample.memory);
  Splits splits;
  parse_type_answer(body, splits);
  if (parse_error_answer(body).size() > body.size()) std::abort();
  for (const events::SlabOrigin& origin : parse_origins_page(body)) {
    if (origin.cache.empty() || origin.cache.size() > body.size()) std::abort();
  }
  IncidentList incidents;
  parse_incidents_answer(body, incidents);
  for (const Incident& one : incidents.incidents) {
    if (!is_incident_file(one.file)) std::abort();
  }
  const ParsedUrl url = parse_url(bytes);
  if (url.problem.empty() == url.url.host.empty()) std::abort();
}
