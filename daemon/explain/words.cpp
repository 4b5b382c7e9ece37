// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/explain/words.h"

#include <array>

namespace memstat {
namespace {

constexpr std::array kAllocatorWords{
    AllocatorWord{"malloc",
                  "FreeBSD's malloc(9): a type for each purpose that kernel code allocates for, as vmstat -m has them. Its "
                  "memory comes "
                  "from zones of uma."},
    AllocatorWord{"uma",
                  "FreeBSD's uma(9): a zone for each kind of object, as vmstat -z has them, with what CPUs and buckets keep "
                  "for reuse."},
    AllocatorWord{"slab",
                  "Linux's slab caches: a cache for each kind of object, as slabtop has them. The kernel merges caches of "
                  "like objects; "
                  "memstatctl show has the names behind one."},
    AllocatorWord{
        "vmalloc",
        "Linux's vmalloc areas, by the function that asked for them: memory that is contiguous in virtual addresses only."},
    AllocatorWord{"call_site",
                  "Linux functions that allocate memory, as allocation profiling (CONFIG_MEM_ALLOC_PROFILING) counts them."},
    AllocatorWord{
        "page",
        "The page allocator: zones of Linux by NUMA node, queues of FreeBSD by domain. All other memory comes from there."},
    AllocatorWord{"percpu", "Linux's per-CPU areas: one copy of each variable for every CPU."},
    AllocatorWord{
        "hugetlb",
        "Linux's pools of huge pages, by size. What is in a pool is taken from all other use, whether it is used or not."},
    AllocatorWord{"cma", "Linux's areas of contiguous memory for devices, which movable pages may use meanwhile."},
    AllocatorWord{"zswap", "Linux's cache of compressed pages before swap."},
    AllocatorWord{"memcg",
                  "Linux's control groups: what the processes of each have, of all other allocators. Their memory is never "
                  "to be added to it."},
    AllocatorWord{"socket",
                  "Network protocols: their sockets, and the memory of their buffers against the limits of the kernel."},
    AllocatorWord{
        "table",
        "Bounded tables of a kernel, such as open files, processes or connections that are tracked: how full they are."},
    AllocatorWord{"process", "User processes that were asked for, by their parts."},
    AllocatorWord{"kmalloc_site", "Linux functions that ask for slab memory, counted while memstatd watches events."},
};

constexpr std::array kColumnWords{
    ColumnWord{"BYTES", "bytes", "Bytes in use now.", "memstat_type_bytes"},
    ColumnWord{"HELD", "held_bytes",
               "Bytes taken from the system, with what is free and with padding. More than BYTES by much: memory that is "
               "not given back.",
               "memstat_type_held_bytes"},
    ColumnWord{"OBJECTS", "objects", "Objects in use now.", "memstat_type_objects"},
    ColumnWord{"FREE", "free_objects", "Objects that are kept for reuse.", "memstat_type_free_objects"},
    ColumnWord{"USE", "", "Of the objects that the slabs of a type have room for, the part that is in use.",
               "memstat_type_free_objects"},
    ColumnWord{"SIZE", "object_size_bytes", "Usable bytes per object.", "memstat_type_object_size_bytes"},
    ColumnWord{"FAILURES", "failures", "Allocations that failed since boot.", "memstat_type_failures_total"},
    ColumnWord{"FAILED", "failures", "Allocations that failed since boot.", "memstat_type_failures_total"},
    ColumnWord{"LIMIT", "limit_objects", "The most that the type may have, the limit that is met first: objects, or bytes.",
               "memstat_type_limit_objects"},
    ColumnWord{"LIMIT", "limit_bytes", "The most bytes that the type may have.", "memstat_type_limit_bytes"},
    ColumnWord{"USED", "limit_used_ratio", "The part of its nearest limit that a type uses: 1 is all of it.",
               "memstat_type_limit_used_ratio"},
    ColumnWord{"USED", "used_ratio", "The part of its nearest limit that a type uses: 1 is all of it.",
               "memstat_type_limit_used_ratio"},
    ColumnWord{"COUNTED", "counted_objects", "What counts against the limit; of uma with what is kept for reuse.", ""},
    ColumnWord{"", "counted_bytes", "Bytes that count against the limit.", ""},
    ColumnWord{"OF", "of", "What the figures of the row are: objects, bytes or tasks.", ""},
    ColumnWord{"SET BY", "tunable", "What the limit is set by.", ""},
    ColumnWord{"", "set_in", "Where the tunable is set: sysctl, loader.conf or another place.", ""},
    ColumnWord{"NOTE", "note", "How the kernel applies the limit, where its name does not say so.", ""},
    ColumnWord{"GROWTH/s", "growth_bytes_per_second",
               "Bytes per second, over the samples that were taken or the window of memstatd.",
               "memstat_type_growth_bytes_per_second"},
    ColumnWord{"TREND", "", "The last samples as bars, the lowest for the least of them.", ""},
    ColumnWord{"NOW", "now", "What it has now.", ""},
    ColumnWord{"GREW", "grew", "How much more it has than at the start of the window.", ""},
    ColumnWord{"PER SECOND", "per_second", "How fast it grows, as the test of growth estimates it.", ""},
    ColumnWord{"CONFIDENCE", "confidence_ratio", "How sure it is that the amount grows and does not only move.", ""},
    ColumnWord{"ROSE", "rose_ratio", "The part of the steps of the window in which it rose.", ""},
    ColumnWord{"LIMIT IN", "limit_in_seconds", "When it meets its limit, if it goes on like this.", ""},
    ColumnWord{"MEMORY GONE IN", "memory_gone_in_seconds", "When no memory is available any more, if it goes on like this.",
               ""},
    ColumnWord{"WITH", "with", "Other types that grow by as many objects: one cause.", ""},
    ColumnWord{"", "also", "The other names of a merged slab cache, whose objects are counted with this one's.", ""},
    ColumnWord{"", "detail", "More on one type, such as file and line of a call site.", "memstat_type_detail"},
};

}  // namespace

std::span<const AllocatorWord> allocator_words() { return kAllocatorWords; }
std::span<const ColumnWord> column_words() { return kColumnWords; }

}  // namespace memstat
