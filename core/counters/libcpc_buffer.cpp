// SPDX-License-Identifier: BSD-2-Clause
// libcpc.h: buffers.
#include <algorithm>
#include <cerrno>
#include <new>

#include "core/base/mutex.h"
#include "core/counters/libcpc_handle.h"

namespace {

using memstat::counters::Count;
using memstat::counters::Refusal;
using memstat::counters::report;

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
