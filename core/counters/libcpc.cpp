// SPDX-License-Identifier: BSD-2-Clause
// libcpc.h: handles, events, sets, bindings, buffers. Translates calls and lets no exception out.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/counters/event_names.h"
#include "core/counters/libcpc_handle.h"

namespace memstat::counters {
namespace {

/// The handler takes a va_list, so this must be a variadic function.
__attribute__((format(printf, 4, 5))) void call(cpc_errhndlr_t* handler, const char* function, int subcode,
                                                const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  handler(function, subcode, format, arguments);
  va_end(arguments);
}

}  // namespace

int report(cpc_t* cpc, const char* function, Refusal refusal, int system_errno, const char* text) {
  if (cpc_errhndlr_t* const handler = cpc->handler.load(std::memory_order_acquire)) {
    call(handler, function, static_cast<int>(refusal), "%s", text);
  } else {
    std::fprintf(stderr, "libcpc: %s: %s\n", function, text);
  }
  errno = system_errno;
  return -1;
}

int report(cpc_t* cpc, const char* function, const Refused& refused) {
  return report(cpc, function, refused.refusal, refused.system_errno, refused.text.c_str());
}

}  // namespace memstat::counters

namespace {

using memstat::counters::Attribute;
using memstat::counters::Count;
using memstat::counters::EventInfo;
using memstat::counters::Refusal;
using memstat::counters::report;
using memstat::counters::Request;
using memstat::counters::Target;

static_assert(CPC_INVALID_EVENT == static_cast<int>(Refusal::kInvalidEvent) &&
              CPC_ATTR_REQUIRES_PRIVILEGE == static_cast<int>(Refusal::kPermission) &&
              CPC_HV_NO_ACCESS == static_cast<int>(Refusal::kNoHypervisor));
static_assert(EMT_CPCOVF == POLL_HUP);

constexpr const char* kNoMemory = "out of memory";

thread_local std::string open_message;
/// The set last bound to this thread, for cpc_request_preset().
thread_local cpc_set_t* last_bound = nullptr;

bool is_set(cpc_t* cpc, const cpc_set_t* set) {
  const memstat::MutexLock lock(cpc->mutex);
  return std::any_of(cpc->sets.begin(), cpc->sets.end(), [set](const auto& one) { return one.get() == set; });
}

void unbind(cpc_set_t& set) {
  set.bound.reset();
  set.is_of_thread = false;
}

int bind(cpc_t* cpc, const char* function, cpc_set_t* set, const Target& target) {
  if (!is_set(cpc, set)) return report(cpc, function, Refusal::kNone, EINVAL, "not a set of this handle");
  if (set->requests.empty()) return report(cpc, function, Refusal::kNone, EINVAL, "the set has no requests");
  unbind(*set);
  try {
    auto answer = cpc->system->bind(set->requests, target);
    if (!answer.is_given()) return report(cpc, function, answer.refused);
    set->bound = std::move(answer.value);
  } catch (const std::bad_alloc&) {
    return report(cpc, function, Refusal::kResourceUnavailable, ENOMEM, kNoMemory);
  }
  return 0;
}

/// Whether a binding has unknown flags.
bool has_other_bits(uint_t flags) { return (flags & ~static_cast<uint_t>(CPC_BIND_LWP_INHERIT | CPC_BIND_EXACT)) != 0; }

int refuse_flags(cpc_t* cpc, const char* function) {
  return report(cpc, function, Refusal::kInvalidFlags, EINVAL, "unknown flags");
}

int enable_all(cpc_t* cpc, const char* function, bool is_on) {
  const memstat::MutexLock lock(cpc->mutex);
  for (const auto& set : cpc->sets) {
    if (!set->bound || !set->is_of_thread || pthread_equal(set->thread, pthread_self()) == 0) continue;
    if (const int error = set->bound->enable(is_on); error != 0) {
      return report(cpc, function, Refusal::kNone, error, "the kernel refuses to switch the set");
    }
  }
  return 0;
}

/// Visits the generic names of events that this machine has, with the event of each.
template <typename Action>
void for_each_generic(cpc_t* cpc, const Action& action) {
  for (const auto& generic : memstat::counters::generic_names()) {
    for (const EventInfo& event : cpc->system->facts().events) {
      if (event.name == generic.event) action(generic.name.data(), event);  // of literals, which end with a NUL
    }
  }
}

bool are_of_one_set(const cpc_buf_t* a, const cpc_buf_t* b) {
  return a->set == b->set && a->counts.size() == b->counts.size();
}

/// The count at `index`; nullptr if out of range.
Count* count_of(cpc_buf_t* buf, int index) {
  return index < 0 || static_cast<std::size_t>(index) >= buf->counts.size() ? nullptr
                                                                            : &buf->counts[static_cast<std::size_t>(index)];
}

int refuse_index(cpc_t* cpc, const char* function) {
  return report(cpc, function, Refusal::kNone, EINVAL, "the set has no request of that index");
}

template <typename Operation>
void combine(cpc_buf_t* ds, const cpc_buf_t* a, const cpc_buf_t* b, const Operation& operation) {
  if (!are_of_one_set(ds, a) || !are_of_one_set(ds, b)) return;
  ds->time = std::max(a->time, b->time);
  ds->ticks = operation(a->ticks, b->ticks);
  for (std::size_t i = 0; i < ds->counts.size(); ++i) {
    ds->counts[i].value = operation(a->counts[i].value, b->counts[i].value);
    ds->counts[i].enabled_ns = operation(a->counts[i].enabled_ns, b->counts[i].enabled_ns);
    ds->counts[i].running_ns = operation(a->counts[i].running_ns, b->counts[i].running_ns);
  }
}

}  // namespace

namespace memstat::counters {

cpc_t* open_handle(std::unique_ptr<CounterSystem> system) {
  auto handle = std::make_unique<cpc_handle>();
  handle->system = std::move(system);
  return handle.release();
}

}  // namespace memstat::counters

cpc_t* cpc_open(int ver) try {
  open_message.clear();
  if (ver != CPC_VER_CURRENT) {
    open_message = "version " + std::to_string(ver) + " of the interface is not known: CPC_VER_CURRENT is " +
                   std::to_string(CPC_VER_CURRENT);
    errno = EINVAL;
    return nullptr;
  }
  auto answer = memstat::counters::make_counter_system();
  if (answer.is_given()) return memstat::counters::open_handle(std::move(answer.value));
  open_message = std::move(answer.refused.text);
  errno = answer.refused.system_errno;
  return nullptr;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return nullptr;
}

const char* cpc_open_message(void) { return open_message.c_str(); }

int cpc_close(cpc_t* cpc) {
  {
    const memstat::MutexLock lock(cpc->mutex);
    for (const auto& set : cpc->sets) {
      if (last_bound == set.get()) last_bound = nullptr;
    }
  }
  delete cpc;
  return 0;
}

uint_t cpc_version(uint_t ver) { return ver == CPC_VER_CURRENT ? CPC_VER_CURRENT : CPC_VER_NONE; }

int cpc_access(void) {
  cpc_t* const cpc = cpc_open(CPC_VER_CURRENT);
  if (cpc == nullptr) return -1;
  return cpc_close(cpc);
}

uint_t cpc_npic(cpc_t* cpc) { return cpc->system->facts().counters; }

uint_t cpc_caps(cpc_t* cpc) {
  return (cpc->system->facts().can_notify ? CPC_CAP_OVERFLOW_INTERRUPT : 0U) |
         (cpc->system->facts().is_precise ? CPC_CAP_OVERFLOW_PRECISE : 0U);
}

const char* cpc_cciname(cpc_t* cpc) { return cpc->system->facts().name.c_str(); }
const char* cpc_cpuref(cpc_t* cpc) { return cpc->system->facts().reference.c_str(); }

int cpc_seterrhndlr(cpc_t* cpc, cpc_errhndlr_t* fn) {
  cpc->handler.store(fn, std::memory_order_release);
  return 0;
}

void cpc_walk_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event)) {
  for (const EventInfo& event : cpc->system->facts().events) action(arg, event.name.c_str());
}

void cpc_walk_events_pic(cpc_t* cpc, uint_t picno, void* arg, void (*action)(void* arg, uint_t picno, const char* event)) {
  if (picno >= cpc_npic(cpc)) {
    report(cpc, "cpc_walk_events_pic", Refusal::kInvalidCounter, EINVAL, "there is no counter with that number");
    return;
  }
  for (const EventInfo& event : cpc->system->facts().events) {
    if (event.needs_counter) action(arg, picno, event.name.c_str());
  }
}

void cpc_walk_generic_events_all(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* event)) {
  for_each_generic(cpc, [&](const char* name, const EventInfo&) { action(arg, name); });
}

void cpc_walk_generic_events_pic(cpc_t* cpc, uint_t picno, void* arg,
                                 void (*action)(void* arg, uint_t picno, const char* event)) {
  if (picno >= cpc_npic(cpc)) {
    report(cpc, "cpc_walk_generic_events_pic", Refusal::kInvalidCounter, EINVAL, "there is no counter with that number");
    return;
  }
  for_each_generic(cpc, [&](const char* name, const EventInfo& event) {
    if (event.needs_counter) action(arg, picno, name);
  });
}

void cpc_walk_attrs(cpc_t* cpc, void* arg, void (*action)(void* arg, const char* attr)) {
  for (const std::string& name : cpc->system->facts().attributes) action(arg, name.c_str());
}

const char* cpc_event_description(cpc_t* cpc, const char* event) {
  for (const EventInfo& known : cpc->system->facts().events) {
    if (known.name == event) return known.description.c_str();
  }
  return "";
}

int cpc_event_needs_pic(cpc_t* cpc, const char* event) try {
  const auto answer = cpc->system->resolve(event, {});
  if (!answer.is_given()) return report(cpc, "cpc_event_needs_pic", answer.refused);
  return answer.value.needs_counter ? 1 : 0;
} catch (const std::bad_alloc&) {
  return report(cpc, "cpc_event_needs_pic", Refusal::kResourceUnavailable, ENOMEM, kNoMemory);
}

cpc_set_t* cpc_set_create(cpc_t* cpc) try {
  auto set = std::make_unique<cpc_set_t>();
  const memstat::MutexLock lock(cpc->mutex);
  cpc->sets.push_back(std::move(set));
  return cpc->sets.back().get();
} catch (const std::bad_alloc&) {
  report(cpc, "cpc_set_create", Refusal::kResourceUnavailable, ENOMEM, kNoMemory);
  return nullptr;
}

int cpc_set_destroy(cpc_t* cpc, cpc_set_t* set) {
  if (last_bound == set) last_bound = nullptr;
  {
    const memstat::MutexLock lock(cpc->mutex);
    if (std::erase_if(cpc->sets, [set](const auto& one) { return one.get() == set; }) != 0) return 0;
  }
  return report(cpc, "cpc_set_destroy", Refusal::kNone, EINVAL, "not a set of this handle");
}

int cpc_set_add_request(cpc_t* cpc, cpc_set_t* set, const char* event, uint64_t preset, uint_t flags, uint_t nattrs,
                        const cpc_attr_t* attrs) try {
  const char* const function = "cpc_set_add_request";
  constexpr uint_t kModes = CPC_COUNT_USER | CPC_COUNT_SYSTEM | CPC_COUNT_HV;
  if (!is_set(cpc, set)) return report(cpc, function, Refusal::kNone, EINVAL, "not a set of this handle");
  if (set->bound) return report(cpc, function, Refusal::kNone, EINVAL, "the set is bound: unbind it first");
  if ((flags & ~(kModes | CPC_OVF_NOTIFY_EMT)) != 0) return refuse_flags(cpc, function);
  if ((flags & kModes) == 0) {
    return report(cpc, function, Refusal::kInvalidFlags, EINVAL,
                  "nothing to count: CPC_COUNT_USER, CPC_COUNT_SYSTEM or both are needed");
  }
  Request request;
  request.event = event == nullptr ? "" : event;
  request.preset = preset;
  request.counts_user = (flags & CPC_COUNT_USER) != 0;
  request.counts_system = (flags & CPC_COUNT_SYSTEM) != 0;
  request.counts_hypervisor = (flags & CPC_COUNT_HV) != 0;
  request.notifies = (flags & CPC_OVF_NOTIFY_EMT) != 0;
  for (uint_t i = 0; i < nattrs; ++i) {
    request.attributes.push_back({.name = attrs[i].ca_name == nullptr ? "" : attrs[i].ca_name, .value = attrs[i].ca_val});
  }
  const auto code = cpc->system->resolve(request.event, request.attributes);
  if (!code.is_given()) return report(cpc, function, code.refused);
  request.code = code.value;
  set->requests.push_back(std::move(request));
  return static_cast<int>(set->requests.size() - 1);
} catch (const std::bad_alloc&) {
  return report(cpc, "cpc_set_add_request", Refusal::kResourceUnavailable, ENOMEM, kNoMemory);
}

int cpc_set_request_preset(cpc_t* cpc, cpc_set_t* set, int index, uint64_t preset) {
  const char* const function = "cpc_set_request_preset";
  if (!is_set(cpc, set)) return report(cpc, function, Refusal::kNone, EINVAL, "not a set of this handle");
  if (index < 0 || static_cast<std::size_t>(index) >= set->requests.size()) {
    return report(cpc, function, Refusal::kNone, EINVAL, "the set has no request of that index");
  }
  set->requests[static_cast<std::size_t>(index)].preset = preset;
  return 0;
}

int cpc_request_preset(cpc_t* cpc, int index, uint64_t preset) {
  if (last_bound == nullptr || !is_set(cpc, last_bound) || !last_bound->bound) {
    return report(cpc, "cpc_request_preset", Refusal::kNone, EINVAL, "no set is bound to this thread");
  }
  return cpc_set_request_preset(cpc, last_bound, index, preset);
}

void cpc_walk_requests(cpc_t* cpc, cpc_set_t* set, void* arg,
                       void (*action)(void* arg, int index, const char* event, uint64_t preset, uint_t flags, int nattrs,
                                      const cpc_attr_t* attrs)) try {
  if (!is_set(cpc, set)) {
    report(cpc, "cpc_walk_requests", Refusal::kNone, EINVAL, "not a set of this handle");
    return;
  }
  for (std::size_t i = 0; i < set->requests.size(); ++i) {
    const Request& request = set->requests[i];
    std::vector<cpc_attr_t> attributes;
    for (const Attribute& attribute : request.attributes) {
      attributes.push_back({.ca_name = const_cast<char*>(attribute.name.c_str()), .ca_val = attribute.value});
    }
    const uint_t flags = (request.counts_user ? CPC_COUNT_USER : 0U) | (request.counts_system ? CPC_COUNT_SYSTEM : 0U) |
                         (request.counts_hypervisor ? CPC_COUNT_HV : 0U) | (request.notifies ? CPC_OVF_NOTIFY_EMT : 0U);
    action(arg, static_cast<int>(i), request.event.c_str(), request.preset, flags, static_cast<int>(attributes.size()),
           attributes.empty() ? nullptr : attributes.data());
  }
} catch (const std::bad_alloc&) {
  report(cpc, "cpc_walk_requests", Refusal::kResourceUnavailable, ENOMEM, kNoMemory);
}

int cpc_bind_curlwp(cpc_t* cpc, cpc_set_t* set, uint_t flags) {
  if (has_other_bits(flags)) return refuse_flags(cpc, "cpc_bind_curlwp");
  const Target target{.kind = Target::Kind::kCurrentThread,
                      .is_inherited = (flags & CPC_BIND_LWP_INHERIT) != 0,
                      .is_exact = (flags & CPC_BIND_EXACT) != 0};
  const int result = bind(cpc, "cpc_bind_curlwp", set, target);
  if (result != 0) return result;
  set->thread = pthread_self();
  set->is_of_thread = true;
  last_bound = set;
  return 0;
}

int cpc_bind_pctx(cpc_t* cpc, pctx_t* pctx, id_t id, cpc_set_t* set, uint_t flags) {
  if (has_other_bits(flags)) return refuse_flags(cpc, "cpc_bind_pctx");
  const bool is_process = id == CPC_ALL_LWPS;
  // The first thread of a process is 1 on Solaris, but has the process's ID here.
  const Target target{.kind = is_process ? Target::Kind::kProcess : Target::Kind::kThread,
                      .process = pctx->pid,
                      .thread = id == 1 || is_process ? pctx->pid : static_cast<pid_t>(id),
                      .is_inherited = is_process || (flags & CPC_BIND_LWP_INHERIT) != 0,
                      .is_exact = (flags & CPC_BIND_EXACT) != 0,
                      .begins_at_exec = pctx->start_fd >= 0};
  return bind(cpc, "cpc_bind_pctx", set, target);
}

int cpc_bind_cpu(cpc_t* cpc, processorid_t id, cpc_set_t* set, uint_t flags) {
  if (has_other_bits(flags) || (flags & CPC_BIND_LWP_INHERIT) != 0) return refuse_flags(cpc, "cpc_bind_cpu");
  return bind(cpc, "cpc_bind_cpu", set, {.kind = Target::Kind::kCpu, .cpu = id, .is_exact = (flags & CPC_BIND_EXACT) != 0});
}

int cpc_unbind(cpc_t* cpc, cpc_set_t* set) {
  if (!is_set(cpc, set)) return report(cpc, "cpc_unbind", Refusal::kNone, EINVAL, "not a set of this handle");
  if (!set->bound) return report(cpc, "cpc_unbind", Refusal::kNone, EINVAL, "the set is not bound");
  unbind(*set);
  if (last_bound == set) last_bound = nullptr;
  return 0;
}

int cpc_set_restart(cpc_t* cpc, cpc_set_t* set) {
  if (!set->bound) return report(cpc, "cpc_set_restart", Refusal::kNone, EINVAL, "the set is not bound");
  if (const int error = set->bound->restart(set->requests); error != 0) {
    return report(cpc, "cpc_set_restart", Refusal::kNone, error, "the kernel refuses to restart the set");
  }
  return 0;
}

int cpc_set_sample(cpc_t* cpc, cpc_set_t* set, cpc_buf_t* buf) {
  if (!set->bound) return report(cpc, "cpc_set_sample", Refusal::kNone, EINVAL, "the set is not bound");
  if (buf->set != set || buf->counts.size() != set->requests.size()) {
    return report(cpc, "cpc_set_sample", Refusal::kNone, EINVAL, "the buffer is of another set");
  }
  if (const int error = set->bound->sample(buf->counts, buf->ticks); error != 0) {
    return report(cpc, "cpc_set_sample", Refusal::kResourceUnavailable, error,
                  error == EAGAIN ? "the kernel removed the set from its counters, because another user reserved them"
                                  : "the set could not be read");
  }
  buf->time = memstat::SystemClock().monotonic_ns();  // the type is known to the compiler: no virtual call
  return 0;
}

int cpc_enable(cpc_t* cpc) { return enable_all(cpc, "cpc_enable", true); }
int cpc_disable(cpc_t* cpc) { return enable_all(cpc, "cpc_disable", false); }

cpc_buf_t* cpc_buf_create(cpc_t* cpc, cpc_set_t* set) try {
  auto buffer = std::make_unique<cpc_buf_t>();
  {
    const memstat::MutexLock lock(cpc->mutex);
    if (std::any_of(cpc->sets.begin(), cpc->sets.end(), [set](const auto& one) { return one.get() == set; })) {
      buffer->set = set;
      buffer->counts.resize(set->requests.size());
      cpc->buffers.push_back(std::move(buffer));
      return cpc->buffers.back().get();
    }
  }
  report(cpc, "cpc_buf_create", Refusal::kNone, EINVAL, "not a set of this handle");
  return nullptr;
} catch (const std::bad_alloc&) {
  report(cpc, "cpc_buf_create", Refusal::kResourceUnavailable, ENOMEM, "out of memory");
  return nullptr;
}

int cpc_buf_destroy(cpc_t* cpc, cpc_buf_t* buf) {
  {
    const memstat::MutexLock lock(cpc->mutex);
    if (std::erase_if(cpc->buffers, [buf](const auto& one) { return one.get() == buf; }) != 0) return 0;
  }
  return report(cpc, "cpc_buf_destroy", Refusal::kNone, EINVAL, "not a buffer of this handle");
}

int cpc_buf_get(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* val) {
  const Count* const count = count_of(buf, index);
  if (count == nullptr) return refuse_index(cpc, "cpc_buf_get");
  *val = count->value;
  return 0;
}

int cpc_buf_set(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t val) {
  Count* const count = count_of(buf, index);
  if (count == nullptr) return refuse_index(cpc, "cpc_buf_set");
  count->value = val;
  return 0;
}

int cpc_buf_times(cpc_t* cpc, cpc_buf_t* buf, int index, uint64_t* enabled, uint64_t* running) {
  const Count* const count = count_of(buf, index);
  if (count == nullptr) return refuse_index(cpc, "cpc_buf_times");
  *enabled = count->enabled_ns;
  *running = count->running_ns;
  return 0;
}

hrtime_t cpc_buf_hrtime(cpc_t*, cpc_buf_t* buf) { return buf->time; }
uint64_t cpc_buf_tick(cpc_t*, cpc_buf_t* buf) { return buf->ticks; }

void cpc_buf_sub(cpc_t*, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b) {
  combine(ds, a, b, [](std::uint64_t left, std::uint64_t right) { return left - right; });
}

void cpc_buf_add(cpc_t*, cpc_buf_t* ds, cpc_buf_t* a, cpc_buf_t* b) {
  combine(ds, a, b, [](std::uint64_t left, std::uint64_t right) { return left + right; });
}

void cpc_buf_copy(cpc_t*, cpc_buf_t* ds, cpc_buf_t* src) {
  if (!are_of_one_set(ds, src)) return;
  std::copy(src->counts.begin(), src->counts.end(), ds->counts.begin());
  ds->time = src->time;
  ds->ticks = src->ticks;
}

void cpc_buf_zero(cpc_t*, cpc_buf_t* buf) {
  std::fill(buf->counts.begin(), buf->counts.end(), Count{});
  buf->time = 0;
  buf->ticks = 0;
}
