// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/words.h"

#include <array>

namespace memstat {
namespace {

constexpr std::array kAllocatorWords{
    AllocatorWord{
        "malloc",
        "FreeBSD's malloc(9): one type per purpose of an allocation, as in vmstat -m. Its memory comes from zones of uma."},
    AllocatorWord{
        "uma",
        "FreeBSD's uma(9): one zone per kind of object, as in vmstat -z, including objects cached by CPUs and buckets."},
    AllocatorWord{"slab",
                  "Linux's slab caches: one cache per kind of object, as in slabtop. The kernel merges caches of similar "
                  "objects; memstatctl show lists the names behind one."},
    AllocatorWord{"vmalloc",
                  "Linux's vmalloc areas, by allocating function: memory that is contiguous only in virtual addresses."},
    AllocatorWord{
        "call_site",
        "Linux functions that allocate memory, counted by memory allocation profiling (CONFIG_MEM_ALLOC_PROFILING)."},
    AllocatorWord{"page",
                  "The page allocator: Linux zones by NUMA node, FreeBSD queues by domain. All other memory comes from it."},
    AllocatorWord{"percpu", "Linux's per-CPU areas: one copy of each variable for every CPU."},
    AllocatorWord{"hugetlb",
                  "Linux's huge page pools, by size. Memory in a pool is unavailable for other uses, whether the pool uses "
                  "it or not."},
    AllocatorWord{"cma", "Linux's contiguous memory areas for devices, which movable pages may use in the meantime."},
    AllocatorWord{"zswap", "Linux's cache of compressed pages before swap."},
    AllocatorWord{
        "memcg",
        "Linux's control groups: the memory of each group's processes, from all other allocators. Do not add it to theirs."},
    AllocatorWord{"socket", "Network protocols: their sockets, and the memory of their buffers with the kernel's limits."},
    AllocatorWord{"table",
                  "Bounded kernel tables, such as open files, processes or tracked connections: how full they are."},
    AllocatorWord{"process", "Configured user processes, with the parts of their memory."},
    AllocatorWord{"kmalloc_site",
                  "Linux functions that allocate slab memory, counted while memstatd is attached to events."},
};

constexpr std::array kColumnWords{
    ColumnWord{"BYTES", "bytes", "Bytes in use now.", "memstat_type_bytes"},
    ColumnWord{"HELD", "held_bytes",
               "Bytes taken from the system, including free objects and padding. Much more than BYTES means memory that is "
               "not returned.",
               "memstat_type_held_bytes"},
    ColumnWord{"OBJECTS", "objects", "Objects in use now.", "memstat_type_objects"},
    ColumnWord{"FREE", "free_objects", "Objects cached for reuse.", "memstat_type_free_objects"},
    ColumnWord{"USE", "", "Share of the objects that fit in the type's slabs that is in use.", "memstat_type_free_objects"},
    ColumnWord{"SIZE", "object_size_bytes", "Usable bytes per object.", "memstat_type_object_size_bytes"},
    ColumnWord{"FAILURES", "failures", "Failed allocations since boot.", "memstat_type_failures_total"},
    ColumnWord{"FAILED", "failures", "Failed allocations since boot.", "memstat_type_failures_total"},
    ColumnWord{"LIMIT", "limit_objects", "The type's nearest limit, in objects or bytes.", "memstat_type_limit_objects"},
    ColumnWord{"LIMIT", "limit_bytes", "The type's limit in bytes.", "memstat_type_limit_bytes"},
    ColumnWord{"USED", "limit_used_ratio", "Share of its nearest limit that the type uses, 0 to 1.",
               "memstat_type_limit_used_ratio"},
    ColumnWord{"USED", "used_ratio", "Share of its nearest limit that the type uses, 0 to 1.",
               "memstat_type_limit_used_ratio"},
    ColumnWord{"COUNTED", "counted_objects", "Objects that count against the limit; for uma including cached ones.", ""},
    ColumnWord{"", "counted_bytes", "Bytes that count against the limit.", ""},
    ColumnWord{"OF", "of", "The unit of the row's figures: objects, bytes or tasks.", ""},
    ColumnWord{"SET BY", "tunable", "The setting that the limit comes from.", ""},
    ColumnWord{"", "set_in", "Where to set it: sysctl, loader.conf or another place.", ""},
    ColumnWord{"NOTE", "note", "How the kernel applies the limit, where its name does not say so.", ""},
    ColumnWord{"GROWTH/s", "growth_bytes_per_second",
               "Bytes per second, over the samples taken or memstatd's growth window.",
               "memstat_type_growth_bytes_per_second"},
    ColumnWord{"TREND", "", "The last samples as bars, lowest for the smallest.", ""},
    ColumnWord{"NOW", "now", "The current amount.", ""},
    ColumnWord{"GREW", "grew", "Growth since the start of the window.", ""},
    ColumnWord{"PER SECOND", "per_second", "Growth rate, as estimated by the growth test.", ""},
    ColumnWord{"CONFIDENCE", "confidence_ratio", "Confidence that the amount grows and does not only fluctuate.", ""},
    ColumnWord{"ROSE", "rose_ratio", "Share of the steps in the window in which it rose.", ""},
    ColumnWord{"LIMIT IN", "limit_in_seconds", "Time until it reaches its limit at this rate.", ""},
    ColumnWord{"MEMORY GONE IN", "memory_gone_in_seconds", "Time until no memory is available at this rate.", ""},
    ColumnWord{"WITH", "with", "Other types that grow by as many objects, from the same cause.", ""},
    ColumnWord{"", "also", "The other names of a merged slab cache, whose objects are counted with this one's.", ""},
    ColumnWord{"", "detail", "Details of a type, such as file and line of a call site.", "memstat_type_detail"},
};

}  // namespace

std::span<const AllocatorWord> allocator_words() { return kAllocatorWords; }
std::span<const ColumnWord> column_words() { return kColumnWords; }

}  // namespace memstat
