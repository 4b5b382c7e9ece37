// SPDX-License-Identifier: BSD-2-Clause
// Aggregates the probes of the DTrace provider dtmalloc in FreeBSD's kernel, by type, CPU and size. Arguments of a
// probe: the type (0); its records (1, 2); the allocated bytes (3: the size class; whole pages of a large allocation; 0
// if there was no memory); the index of the size class (4; only for malloc; -1 if large). A free has no class, so large
// ones are recognized by their size.
#include "core/events/attach/live_tables.h"

#if defined(__FreeBSD__) && defined(MEMSTAT_HAVE_LIBDTRACE)

#include <dtrace.h>
#include <sys/param.h>

#include <sys/module.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/arithmetic.h"
#include "core/events/malloc/malloc_rows.h"
#include "core/kernel/dynamic_library.h"

namespace memstat::events {
namespace {

constexpr std::string_view kProvider = "dtmalloc";

/// Loaded when a table is opened: a base system may be without it, and memstatd starts there, too.
struct DtraceLibrary : DynamicLibrary {
  DtraceLibrary() : DynamicLibrary({"libdtrace.so.2"}) {}
  decltype(&::dtrace_aggregate_snap) aggregate_snap = find("dtrace_aggregate_snap");
  decltype(&::dtrace_aggregate_walk) aggregate_walk = find("dtrace_aggregate_walk");
  decltype(&::dtrace_close) close = find("dtrace_close");
  decltype(&::dtrace_errmsg) errmsg = find("dtrace_errmsg");
  decltype(&::dtrace_errno) last_errno = find("dtrace_errno");
  decltype(&::dtrace_go) go = find("dtrace_go");
  decltype(&::dtrace_handle_drop) handle_drop = find("dtrace_handle_drop");
  decltype(&::dtrace_handle_err) handle_err = find("dtrace_handle_err");
  decltype(&::dtrace_open) open = find("dtrace_open");
  decltype(&::dtrace_program_exec) program_exec = find("dtrace_program_exec");
  decltype(&::dtrace_program_strcompile) program_strcompile = find("dtrace_program_strcompile");
  decltype(&::dtrace_setopt) setopt = find("dtrace_setopt");
  decltype(&::dtrace_status) status = find("dtrace_status");
};

const DtraceLibrary& dtrace() {
  static const DtraceLibrary loaded;
  return loaded;
}

// 65536 is KMEM_ZMAX (sys/kern/kern_malloc.c). Above it malloc() allocates pages, in more sizes than there is room to
// count.
constexpr const char* kProgram =
    "dtmalloc:::malloc /arg3 <= 65536/ { @allocations[probefunc, cpu, arg3] = count(); }"
    "dtmalloc:::malloc /arg3 > 65536/"
    " { @large_allocations[probefunc, cpu] = count(); @large_allocated[probefunc, cpu] = sum(arg3); }"
    "dtmalloc:::free /arg3 <= 65536/ { @frees[probefunc, cpu, arg3] = count(); }"
    "dtmalloc:::free /arg3 > 65536/"
    " { @large_frees[probefunc, cpu] = count(); @large_freed[probefunc, cpu] = sum(arg3); }";

/// An aggregation of the program.
struct Aggregation {
  std::string_view name;
  MallocAmount amount;
  bool is_large;
};
constexpr Aggregation kAggregations[] = {
    {"allocations", MallocAmount::kAllocations, false},
    {"frees", MallocAmount::kFrees, false},
    {"large_allocations", MallocAmount::kAllocations, true},
    {"large_allocated", MallocAmount::kAllocatedBytes, true},
    {"large_frees", MallocAmount::kFrees, true},
    {"large_freed", MallocAmount::kFreedBytes, true},
};

/// The integer in one record of an element; empty for another type.
std::optional<std::uint64_t> integer_of(const dtrace_aggdata_t& element, const dtrace_recdesc_t& record) {
  if (record.dtrd_offset > element.dtada_size || record.dtrd_size > element.dtada_size - record.dtrd_offset) {
    return std::nullopt;
  }
  const char* const at = element.dtada_data + record.dtrd_offset;
  if (record.dtrd_size == sizeof(std::uint32_t)) {
    std::uint32_t number = 0;
    std::memcpy(&number, at, sizeof number);
    return number;
  }
  if (record.dtrd_size != sizeof(std::uint64_t)) return std::nullopt;
  std::uint64_t number = 0;
  std::memcpy(&number, at, sizeof number);
  return number;
}

/// The text in one record of an element, up to its NUL.
std::string_view text_of(const dtrace_aggdata_t& element, const dtrace_recdesc_t& record) {
  if (record.dtrd_offset > element.dtada_size || record.dtrd_size > element.dtada_size - record.dtrd_offset) return {};
  const char* const at = element.dtada_data + record.dtrd_offset;
  return {at, ::strnlen(at, record.dtrd_size)};
}

/// Takes one element. Its records are the variable, the keys (name, CPU, and the size unless it is large) and the
/// value.
int take_element(const dtrace_aggdata_t* element, void* rows) {
  const dtrace_aggdesc_t& description = *element->dtada_desc;
  const dtrace_recdesc_t* const records = description.dtagd_rec;
  for (const Aggregation& aggregation : kAggregations) {
    if (description.dtagd_name == nullptr || aggregation.name != description.dtagd_name) continue;
    const int count = aggregation.is_large ? 4 : 5;
    if (description.dtagd_nrecs != count) break;
    const auto cpu = integer_of(*element, records[2]);
    const auto size = aggregation.is_large ? MallocRows::kLarge : integer_of(*element, records[3]);
    const auto value = integer_of(*element, records[count - 1]);
    if (cpu && size && value) {
      static_cast<MallocRows*>(rows)->set(text_of(*element, records[1]), static_cast<std::uint32_t>(*cpu), *size,
                                          aggregation.amount, *value);
    }
    break;
  }
  return DTRACE_AGGWALK_NEXT;
}

int take_drop(const dtrace_dropdata_t* drop, void* dropped) {
  auto& sum = *static_cast<std::uint64_t*>(dropped);
  sum = saturating_sum(sum, drop->dtdda_drops);
  return DTRACE_HANDLE_OK;
}

int take_error(const dtrace_errdata_t* /*error*/, void* dropped) {
  auto& sum = *static_cast<std::uint64_t*>(dropped);
  sum = saturating_sum(sum, 1);
  return DTRACE_HANDLE_OK;
}

/// The first error number of libdtrace itself; smaller ones are errnos.
constexpr int kFirstOwnError = 1000;

Error error_of(dtrace_hdl_t* handle, int number) {
  const std::string text = std::string("libdtrace: ") + dtrace().errmsg(handle, number);
  if (number == EACCES || number == EPERM) {
    return system_error(kProvider, EPERM, "attaching to the events needs root when memstatd starts; " + text);
  }
  return system_error(kProvider, number < kFirstOwnError ? number : EIO, text);
}

/// On a system without DTrace, dtrace_open() loads twelve kernel modules. That is the administrator's decision, so it
/// is not called then. memstatd loads no modules, and memstatctl doctor changes nothing.
Result<void> check_modules() {
  if (::modfind(kProvider.data()) < 0) {
    return system_error(kProvider, ENOENT,
                        "the kernel module dtmalloc is not loaded: kldload dtraceall loads it now, sysrc "
                        "kld_list+=dtraceall at each boot");
  }
  if (::access("/dev/dtrace/dtrace", F_OK) == 0) return {};
  return system_error(kProvider, ENOENT, "/dev/dtrace/dtrace is not there, as in a jail: run memstatd outside of it");
}

class MallocEvents final : public EventTable {
 public:
  MallocEvents() : EventTable(kMallocTable) {}
  ~MallocEvents() override { close(); }
  Result<void> open() override {
    auto result = start();
    if (!result) close();
    return result;
  }
  Result<void> read(Buffer& out) override;

 private:
  Result<void> start();
  void close() {
    if (handle_ != nullptr) dtrace().close(handle_);
    handle_ = nullptr;
  }
  [[nodiscard]] Error last_error() const { return error_of(handle_, dtrace().last_errno(handle_)); }

  dtrace_hdl_t* handle_ = nullptr;
  MallocRows rows_;
  std::uint64_t dropped_ = 0;
};

Result<void> MallocEvents::start() {
  if (const auto ready = check_modules(); !ready) return ready;
  if (!dtrace().is_complete()) {
    return system_error(kProvider, ENOENT, "libdtrace.so.2 is not installed: it is part of FreeBSD's base system");
  }
  int error = 0;
  handle_ = dtrace().open(DTRACE_VERSION, 0, &error);
  if (handle_ == nullptr) return error_of(nullptr, error);
  // Bytes per CPU: bufsize for the program's own records, of which there are none; aggsize has room for some 15 000
  // elements.
  constexpr const char* kOptions[][2] = {{"bufsize", "64k"}, {"aggsize", "4m"}, {"strsize", "192"}, {"aggrate", "100ms"}};
  for (const auto& [name, value] : kOptions) {
    if (dtrace().setopt(handle_, name, value) != 0) return last_error();
  }
  if (dtrace().handle_drop(handle_, take_drop, &dropped_) != 0 || dtrace().handle_err(handle_, take_error, &dropped_) != 0) {
    return last_error();
  }
  dtrace_prog_t* const program =
      dtrace().program_strcompile(handle_, kProgram, DTRACE_PROBESPEC_NAME, DTRACE_C_ZDEFS, 0, nullptr);
  if (program == nullptr) return last_error();
  dtrace_proginfo_t matched{};
  if (dtrace().program_exec(handle_, program, &matched) != 0) return last_error();
  if (matched.dpi_matches == 0) {
    return system_error(kProvider, ENOENT, "the kernel has no such probes, although its module dtmalloc is loaded");
  }
  return dtrace().go(handle_) == 0 ? Result<void>() : last_error();
}

Result<void> MallocEvents::read(Buffer& out) {
  if (handle_ == nullptr) return system_error(kProvider, EPERM, "nothing is attached");
  // Called at every read: this is how the kernel notices that the program still has a reader.
  const int status = dtrace().status(handle_);
  if (status == DTRACE_STATUS_STOPPED || status == DTRACE_STATUS_EXITED) {
    return system_error(kProvider, EIO,
                        "the kernel has ended the tracing, as it does when nothing reads for half a minute or the system "
                        "does not respond: restart memstatd, with a poll.interval of less than 30s");
  }
  if (status < 0 || dtrace().aggregate_snap(handle_) < 0) return last_error();
  rows_.begin();
  if (dtrace().aggregate_walk(handle_, take_element, &rows_) < 0) return last_error();
  rows_.write(dropped_, out);
  return {};
}

}  // namespace

std::unique_ptr<TextTableSource> make_malloc_events() { return std::make_unique<MallocEvents>(); }

}  // namespace memstat::events

#endif
