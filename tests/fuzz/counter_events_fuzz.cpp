// SPDX-License-Identifier: BSD-2-Clause
// Event strings and attribute lists of libcpc, over files as a hostile or broken kernel might show them. The input: an
// event, then attributes as NAME=NUMBER, then the format of the terms, a line each.
#include <cstdlib>

#include "core/base/text.h"
#include "core/counters/event_names.h"
#include "core/counters/perf_system.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/fake_perf_events.h"
#include "tests/support/prepared_kernel_view.h"

void memstat::fuzz(std::string_view rest) {
  using counters::Attribute;
  std::string_view event, line;
  next_line(rest, event);
  std::vector<Attribute> attributes;
  std::string format = "config:0-7";
  while (next_line(rest, line)) {
    const std::size_t sign = line.find('=');
    if (sign == std::string_view::npos) {
      format = line;
    } else {
      attributes.push_back(
          {.name = std::string(line.substr(0, sign)), .value = parse_number(line.substr(sign + 1)).value_or(0)});
    }
  }
  PreparedKernelView view(OperatingSystem::kLinux, 2);
  const std::string devices = "/sys/bus/event_source/devices/cpu";
  view.contents[devices + "/type"] = {"4\n"};
  view.contents[devices + "/format/event"] = {format};
  view.contents[devices + "/events/known"] = {format};
  counters::FakePerfEvents door;
  counters::PerfSystem system(door, view);
  const auto answer = system.resolve(event, attributes);
  if (answer.is_given()) {
    if (answer.refused.refusal != counters::Refusal::kNone) std::abort();
  } else if (answer.refused.text.empty()) {
    std::abort();
  }
}
