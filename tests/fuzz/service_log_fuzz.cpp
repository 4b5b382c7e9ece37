// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as messages of programs that free memory, each in a line "UNIT TIME_US MESSAGE". The kills
// form a table that can be read back, and fields never outlive their lines.
#include <cstdlib>

#include "core/model/service_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/service_messages.h"

void memstat::fuzz(std::string_view bytes) {
  ServiceLogBook book;
  for_each_service_message(bytes,
                           [&](const ServiceMessage& message) { book.add(message.unit, message.time_us, message.text); });
  book.finish();
  Buffer text;
  book.write(text);
  LogTable table;
  if (read_log_table(text.view(), table)) std::abort();
  for (std::size_t i = 0; i < table.size; ++i) {
    std::size_t size = table.events[i].text.size() + 40;
    for (const std::string_view more : table.events[i].more) size += more.size();
    for (const LogField& field : fields_of(table.events[i])) {
      if (field.name.empty() || field.value.size() > size) std::abort();
    }
  }
}
