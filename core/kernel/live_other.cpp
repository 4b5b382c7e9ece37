// SPDX-License-Identifier: BSD-2-Clause
// Operating systems without a live view; they can still replay captures.
#include "core/kernel/kernel_view.h"
#include "core/kernel/reader_process.h"

#if !defined(__linux__) && !defined(__FreeBSD__)

namespace memstat {
namespace {

class UnknownProcessStatsReader final : public ProcessStatsReader {
 public:
  ProcessStats read() override { return {}; }
};

}  // namespace

Result<std::unique_ptr<KernelView>> make_live_kernel_view() {
  return make_error(ErrorCode::kNotPresent, {},
                    "this system's kernel is neither Linux nor FreeBSD; only captures can be read here");
}

std::unique_ptr<ProcessStatsReader> make_process_stats_reader() { return std::make_unique<UnknownProcessStatsReader>(); }
std::unique_ptr<ProcessStatsReader> make_process_stats_reader_of(pid_t /*process*/) { return make_process_stats_reader(); }

}  // namespace memstat

#endif
