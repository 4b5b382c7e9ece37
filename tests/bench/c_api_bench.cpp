// SPDX-License-Identifier: BSD-2-Clause
// memstat_sysctl_all on real streams (21 MB and 52 KB) against a straightforward model of libmemstat's original algorithm,
// which finds each record's entry by walking the list and keeps figures and caller slots for every CPU slot of the stream.
// Figure: from the streams in memory to the refreshed list, ours takes at most a tenth.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/capture/archive.h"
#include "core/query.h"

namespace memstat {
namespace {

/// The sysctls of one poll, in memory.
class StreamsInMemory final : public KernelView {
 public:
  static const std::shared_ptr<StreamsInMemory>& instance() {
    static const std::shared_ptr<StreamsInMemory> view = [] {
      auto capture = open_capture(MEMSTAT_SOURCE_DIR "/tests/fixtures/captures/freebsd-15.0-amd64-4cpu.tar.zst");
      if (!capture || !(*capture)->select_poll((*capture)->poll_count() - 1)) std::abort();
      auto made = std::make_shared<StreamsInMemory>();
      for (const std::string_view name :
           {"kern.smp.maxcpus", "kern.smp.maxid", "kern.malloc_count", "vm.zone_count", "vm.malloc.zone_count",
            "vm.malloc.zone_sizes", "kern.malloc_stats", "vm.zone_stats"}) {
        Buffer bytes;
        if (!(*capture)->read_sysctl(name, bytes, 0)) std::abort();
        made->sysctls_.emplace_back(name, std::move(bytes));
      }
      made->cpu_count_ = (*capture)->cpu_count();
      return made;
    }();
    return view;
  }
  [[nodiscard]] std::string_view bytes_of(std::string_view name) const {
    for (const auto& [known, bytes] : sysctls_) {
      if (known == name) return bytes.view();
    }
    std::abort();
  }

  [[nodiscard]] OperatingSystem os() const override { return OperatingSystem::kFreeBsd; }
  [[nodiscard]] std::uint64_t page_size() const override { return 4096; }
  [[nodiscard]] std::uint32_t cpu_count() const override { return cpu_count_; }
  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    out.reserve(size_hint);
    out.assign(bytes_of(name));
    return {};
  }

 private:
  std::vector<std::pair<std::string_view, Buffer>> sysctls_;
  std::uint32_t cpu_count_ = 1;
};

template <typename T>
T load_at(const char* bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes + at, sizeof value);
  return value;
}

/// The original algorithm as the specification of the library describes it, written for this comparison.
class OriginalList {
 public:
  ~OriginalList() {
    while (head_ != nullptr) {
      Entry* next = head_->next;
      std::free(head_->cpus);
      std::free(head_->caches);
      delete head_;
      head_ = next;
    }
  }

  void parse_all(const StreamsInMemory& kernel) {
    parse(kernel.bytes_of("kern.malloc_stats").data(), false);
    parse(kernel.bytes_of("vm.zone_stats").data(), true);
  }
  [[nodiscard]] std::uint64_t first_bytes() const { return head_ == nullptr ? 0 : head_->figures[0]; }

 private:
  static constexpr std::size_t kSlots = 16;
  struct Cpu {
    std::array<std::uint64_t, 5> figures;
    std::array<void*, kSlots> pointers;
    std::array<std::uint64_t, kSlots> integers;
  };
  struct Entry {
    Entry* next = nullptr;
    int allocator = 0;
    char name[32] = {};
    std::array<std::uint64_t, 17> figures{};  // bytes first
    std::array<void*, kSlots> pointers{};
    std::array<std::uint64_t, kSlots> integers{};
    Cpu* cpus = nullptr;
    std::uint64_t* caches = nullptr;
  };

  Entry* find(int allocator, const char* name) const {
    for (Entry* entry = head_; entry != nullptr; entry = entry->next) {
      if (entry->allocator == allocator && std::strcmp(entry->name, name) == 0) return entry;
    }
    return nullptr;
  }

  void parse(const char* stream, bool is_uma) {
    const int allocator = is_uma ? 2 : 1;
    const bool searches = head_ != nullptr;
    const auto cpus = load_at<std::uint32_t>(stream, 4);
    const auto count = load_at<std::uint32_t>(stream, 8);
    const char* at = stream + 16;
    for (std::uint32_t i = 0; i < count; ++i) {
      Entry* entry = searches ? find(allocator, at) : nullptr;
      if (entry == nullptr) entry = create(allocator, at, cpus);
      reset(*entry, cpus);
      const char* const record = at;
      at += is_uma ? 120 : 32;
      for (std::uint32_t cpu = 0; cpu < cpus; ++cpu, at += 64) {
        if (is_uma) {
          add_zone(*entry, entry->caches[cpu], at);
        } else {
          add_malloc(*entry, entry->cpus[cpu], at);
        }
      }
      entry->figures[0] = entry->figures[1] - entry->figures[2];
      if (is_uma) entry->figures[6] = load_at<std::uint32_t>(record, 36);
    }
  }
  Entry* create(int allocator, const char* name, std::uint32_t cpus) {
    auto* entry = new Entry;
    entry->allocator = allocator;
    std::strncpy(entry->name, name, sizeof entry->name - 1);
    entry->cpus = static_cast<Cpu*>(std::malloc(sizeof(Cpu) * cpus));
    entry->caches = static_cast<std::uint64_t*>(std::malloc(sizeof(std::uint64_t) * cpus));
    entry->next = head_;
    return head_ = entry;
  }
  static void reset(Entry& entry, std::uint32_t cpus) {
    entry.figures.fill(0);
    for (std::uint32_t cpu = 0; cpu < cpus; ++cpu) {
      entry.cpus[cpu].figures.fill(0);
      entry.caches[cpu] = 0;
    }
  }
  static void add_malloc(Entry& entry, Cpu& cpu, const char* block) {
    for (std::size_t i = 0; i < 4; ++i) entry.figures[i + 1] += cpu.figures[i] = load_at<std::uint64_t>(block, 8 * i);
    entry.figures[5] |= cpu.figures[4] = load_at<std::uint64_t>(block, 32);
  }
  static void add_zone(Entry& entry, std::uint64_t& cache, const char* block) {
    entry.figures[1] += load_at<std::uint64_t>(block, 0);
    entry.figures[2] += load_at<std::uint64_t>(block, 8);
    entry.figures[7] += cache = load_at<std::uint64_t>(block, 16);
  }

  Entry* head_ = nullptr;
};

void original_algorithm(benchmark::State& state) {
  OriginalList list;
  list.parse_all(*StreamsInMemory::instance());
  for (auto unused : state) {
    list.parse_all(*StreamsInMemory::instance());
    benchmark::DoNotOptimize(list.first_bytes());
  }
}
BENCHMARK(original_algorithm);

/// The work of a query after it has the streams.
void our_algorithm(benchmark::State& state) {
  std::vector<SourceReader> readers;
  for (const std::string_view name : {"freebsd_malloc", "freebsd_uma"}) {
    if (!read_source(readers.emplace_back(*find_source(name)), *StreamsInMemory::instance())) std::abort();
  }
  MemoryTypeList list;
  std::uint64_t generation = 0;
  for (auto unused : state) {
    for (SourceReader& reader : readers) {
      if (!commit_source(reader, list, ++generation)) state.SkipWithError("commit failed");
    }
  }
}
BENCHMARK(our_algorithm);

}  // namespace
}  // namespace memstat

BENCHMARK_MAIN();
