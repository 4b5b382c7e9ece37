// SPDX-License-Identifier: BSD-2-Clause
// Answers of a program that claims to be memstatd, read by memstatctl: any bytes give rows within their bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/ctl/commands/reports.h"
#include "daemon/ctl/source/api_answers.h"
#include "daemon/ctl/source/http_client.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat::ctl;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  HttpAnswer answer;
  const std::string body = parse_answer(bytes, answer).empty() ? answer.body : std::string(bytes);
  if (body.size() > size) std::abort();
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
  for (const memstat::events::SlabOrigin& origin : parse_origins_page(body)) {
    if (origin.cache.empty() || origin.cache.size() > body.size()) std::abort();
  }
  const ParsedUrl url = parse_url(bytes);
  if (url.problem.empty() == url.url.host.empty()) std::abort();
  return 0;
}
