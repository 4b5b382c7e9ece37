// SPDX-License-Identifier: BSD-2-Clause
// The functions of memstat.h for kernels, polls of a capture, and recordings.
#include <string>

#include "core/c_api/handle.h"
#include "core/c_api/run_query.h"
#include "core/include/memstat.h"
#include "core/source.h"

namespace {

using memstat::ErrorCode;
using memstat::run_query;

}  // namespace

const char* memstat_source_get_os(size_t n) {
  return n < memstat::all_sources().size() ? memstat::to_string(memstat::all_sources()[n]->os).data() : nullptr;
}

int memstat_kernel_all(memory_type_list* list, int) {
  return run_query(list, [](memory_type_list& self) { return self.query_kernel(); });
}

size_t memstat_capture_get_count(memory_type_list* list) {
  size_t count = 0;
  run_query(list, [&](memory_type_list& self) {
    const memstat::ReplayKernelView* const capture = self.capture();
    count = capture == nullptr ? 0 : capture->poll_count();
    return true;
  });
  return count;
}

int memstat_capture_get_poll(memory_type_list* list, size_t number, memstat_poll* poll) {
  return run_query(list, [&](memory_type_list& self) {
    const memstat::ReplayKernelView* const capture = self.capture();
    if (poll == nullptr) return self.fail(ErrorCode::kData, "memstat_capture_get_poll needs room for a poll");
    if (capture == nullptr) return self.fail(ErrorCode::kNotPresent, "only captures have polls; name one");
    if (number >= capture->poll_count()) {
      return self.fail(ErrorCode::kNotPresent, "the capture has no poll " + std::to_string(number) + "; its last is " +
                                                   std::to_string(capture->poll_count() - 1));
    }
    const memstat::PollInfo& info = capture->poll_info(number);
    *poll = {.realtime_ns = info.realtime_ns,
             .monotonic_ns = info.monotonic_ns,
             .failed_reads = capture->errors_of(number).size(),
             .label = {}};
    info.label.copy(poll->label, sizeof poll->label - 1);  // the rest is zeroed
    return true;
  });
}

int memstat_capture_select(memory_type_list* list, size_t number) {
  return run_query(list, [&](memory_type_list& self) { return self.select_poll(number); });
}

int memstat_record_begin(memory_type_list* list, const char* output, uint64_t max_bytes) {
  return run_query(list, [&](memory_type_list& self) {
    if (output == nullptr || *output == '\0') return self.fail(ErrorCode::kData, "memstat_record_begin needs a name");
    return self.begin_recording(output, max_bytes);
  });
}

int memstat_record_poll(memory_type_list* list, const char* label) {
  return run_query(list, [&](memory_type_list& self) { return self.record_poll(label == nullptr ? "" : label); });
}

int memstat_record_end(memory_type_list* list) {
  return run_query(list, [](memory_type_list& self) { return self.end_recording(); });
}
