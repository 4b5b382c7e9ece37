// SPDX-License-Identifier: BSD-2-Clause
// Reports of what memstat.h reads: this machine's kernel, or a capture.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "daemon/ctl/output/failure.h"
#include "daemon/ctl/source/report_source.h"

namespace memstat::ctl {
namespace {

struct CpuFigure {
  const char* title;
  std::uint32_t figure;  // MEMSTAT_CPU_FIGURE_*
  bool is_bytes;
};
// Named as memstatd's metrics of CPUs are.
constexpr std::array<CpuFigure, 5> kCpuFigures{{{"allocations", MEMSTAT_CPU_FIGURE_NUMALLOCS, false},
                                                {"frees", MEMSTAT_CPU_FIGURE_NUMFREES, false},
                                                {"allocated_bytes", MEMSTAT_CPU_FIGURE_MEMALLOCED, true},
                                                {"freed_bytes", MEMSTAT_CPU_FIGURE_MEMFREED, true},
                                                {"free_objects", MEMSTAT_CPU_FIGURE_FREE, false}}};

struct NodeFigure {
  const char* title;
  std::uint32_t figure;  // MEMSTAT_NODE_FIGURE_*
  std::uint64_t (*get)(const memory_type*, int);
  bool is_bytes;
};
constexpr std::array<NodeFigure, 4> kNodeFigures{
    {{"held_bytes", MEMSTAT_NODE_FIGURE_HELD_BYTES, memstat_get_pernode_held_bytes, true},
     {"objects", MEMSTAT_NODE_FIGURE_COUNT, memstat_get_pernode_count, false},
     {"free_objects", MEMSTAT_NODE_FIGURE_FREE, memstat_get_pernode_free, false},
     {"slots", MEMSTAT_NODE_FIGURE_SLOTS, memstat_get_pernode_slots, false}}};

/// Types of FreeBSD's or Linux's kernel, whichever is there. "" or why some are missing.
std::string query(memory_type_list* list) {
  const bool has_malloc = memstat_sysctl_malloc(list, 0) == 0;
  if (!has_malloc && memstat_mtl_geterror(list) == MEMSTAT_ERROR_NOTPRESENT) {
    // Only a Linux kernel is left to ask; where there is none either, its message is as good as the first.
    return memstat_linux_all(list, 0) == 0 ? std::string() : failure_of(list, {});
  }
  std::string problem = has_malloc ? std::string() : failure_of(list, {});
  if (memstat_sysctl_uma(list, 0) != 0 && problem.empty()) problem = failure_of(list, {});
  return problem;
}

class ListSource final : public ReportSource {
 public:
  ListSource(memory_type_list* list, std::string replay) : list_(list), replay_(std::move(replay)) {}

  Sample read() override {
    Sample sample;
    sample.monotonic_ns = monotonic_ns_;
    sample.problem = query(list_);
    sample.types = rows_of(list_);
    if (memstat_kernel kernel; memstat_get_kernel(list_, &kernel) == 0) sample.time_ns = kernel.time_ns;
    if (memstat_memory memory; memstat_get_memory(list_, &memory) == 0) {
      sample.memory = {.total = memory.total, .free = memory.free, .unaccounted = memory.unaccounted, .available = {}};
      if (memory.available != 0) sample.memory->available = memory.available;
    }
    return sample;
  }

  Machine machine() override {
    memstat_kernel kernel;
    if (memstat_get_kernel(list_, &kernel) != 0) return {};
    return {.host = kernel.host,
            .os = kernel.os,
            .release = kernel.release,
            .machine = kernel.machine,
            .replay = kernel.is_capture == 0 ? std::string() : replay_};
  }

  Splits splits(const TypeRow& row) override {
    Splits splits;
    const memory_type* const type = find(row);
    if (type == nullptr) return splits;
    for (const CpuFigure& figure : kCpuFigures) {
      if ((memstat_get_cpu_figures(type) & figure.figure) == 0) continue;
      Split split{.title = figure.title, .is_bytes = figure.is_bytes, .values = {}};
      for (int cpu = 0; cpu < memstat_get_cpu_count(type); ++cpu) {
        split.values.emplace_back(memstat_get_cpu_figure(type, cpu, figure.figure));
      }
      if (!split.values.empty()) splits.cpus.push_back(std::move(split));
    }
    for (const NodeFigure& figure : kNodeFigures) {
      if ((memstat_get_node_figures(type) & figure.figure) == 0) continue;
      Split split{.title = figure.title, .is_bytes = figure.is_bytes, .values = {}};
      for (int node = 0; node < memstat_get_node_count(type); ++node) split.values.emplace_back(figure.get(type, node));
      splits.nodes.push_back(std::move(split));
    }
    return splits;
  }

  [[nodiscard]] std::size_t poll_count() override { return memstat_capture_get_count(list_); }
  std::string select_poll(std::size_t poll) override {
    memstat_poll selected;
    if (memstat_capture_select(list_, poll) != 0 || memstat_capture_get_poll(list_, poll, &selected) != 0) {
      return failure_of(list_, {});
    }
    monotonic_ns_ = selected.monotonic_ns;
    return {};
  }

 private:
  [[nodiscard]] const memory_type* find(const TypeRow& row) const {
    for (memory_type* type = memstat_mtl_first(list_); type != nullptr; type = memstat_mtl_next(type)) {
      if (memstat_is_present(type) != 0 && memstat_get_allocator(type) == row.allocator_number &&
          memstat_get_ordinal(type) == row.ordinal && row.name == memstat_get_name(type)) {
        return type;
      }
    }
    return nullptr;
  }

  memory_type_list* list_;
  std::string replay_;
  std::int64_t monotonic_ns_ = 0;  // of the poll that was selected
};

/// The same with a list of its own.
class OwnListSource final : public ReportSource {
 public:
  using ListPtr = std::unique_ptr<memory_type_list, decltype(&memstat_mtl_free)>;
  OwnListSource(ListPtr list, std::string replay) : list_(std::move(list)), source_(list_.get(), std::move(replay)) {}

  Sample read() override { return source_.read(); }
  Machine machine() override { return source_.machine(); }
  Splits splits(const TypeRow& row) override { return source_.splits(row); }
  [[nodiscard]] std::size_t poll_count() override { return source_.poll_count(); }
  std::string select_poll(std::size_t poll) override { return source_.select_poll(poll); }

 private:
  ListPtr list_;
  ListSource source_;
};

}  // namespace

std::unique_ptr<ReportSource> source_of_list(memory_type_list* list, std::string replay) {
  return std::make_unique<ListSource>(list, std::move(replay));
}

OpenedSource open_source(const std::optional<std::string>& reference) {
  if (reference && is_url(*reference)) return open_daemon(*reference);
  OwnListSource::ListPtr list(memstat_mtl_alloc(), memstat_mtl_free);
  if (list == nullptr) throw std::bad_alloc();
  if (reference && memstat_mtl_set_capture(list.get(), reference->c_str()) != 0) {
    return {.source = nullptr, .problem = failure_of(list.get(), {})};
  }
  const char* const environment = std::getenv("MEMSTAT_CAPTURE");  // NOLINT(concurrency-mt-unsafe)
  return {.source = std::make_unique<OwnListSource>(std::move(list),
                                                    reference.value_or(environment == nullptr ? "" : environment)),
          .problem = {}};
}

}  // namespace memstat::ctl
