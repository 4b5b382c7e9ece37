// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/mutex.h"
#include "core/counters/libpfm.h"
#include "core/kernel/dynamic_library.h"

#include <algorithm>
#include <cerrno>

#if defined(MEMSTAT_HAVE_LIBPFM)
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#endif

namespace memstat::counters {

#if defined(MEMSTAT_HAVE_LIBPFM)
namespace {

Mutex library_mutex;

/// libpfm's functions. Not linked: its tables take 2 MB of relocations and names, which only programs that count events
/// should pay for.
struct Library : DynamicLibrary {
  Library() : DynamicLibrary({"libpfm.so.4"}) {}
  decltype(&::pfm_initialize) initialize = find("pfm_initialize");
  decltype(&::pfm_get_pmu_info) get_pmu_info = find("pfm_get_pmu_info");
  decltype(&::pfm_get_event_next) get_event_next = find("pfm_get_event_next");
  decltype(&::pfm_get_event_info) get_event_info = find("pfm_get_event_info");
  decltype(&::pfm_get_event_attr_info) get_event_attr_info = find("pfm_get_event_attr_info");
  decltype(&::pfm_get_os_event_encoding) get_os_event_encoding = find("pfm_get_os_event_encoding");
  decltype(&::pfm_strerror) error_text = find("pfm_strerror");
  bool is_ready = is_complete() && initialize() == PFM_SUCCESS;
};

/// Loaded on the first call.
const Library& library() {
  static const Library loaded;
  return loaded;
}
bool load() { return library().is_ready; }

/// Whether these are core counters: not the kernel's events, which are known without libpfm, and not uncore ones.
bool is_core(const pfm_pmu_info_t& pmu) { return pmu.is_present && pmu.type == PFM_PMU_TYPE_CORE; }

template <typename Action>
void for_each_event(const Action& action) {
  for (int number = 0; number < PFM_PMU_MAX; ++number) {
    pfm_pmu_info_t pmu{};
    pmu.size = sizeof pmu;
    if (library().get_pmu_info(static_cast<pfm_pmu_t>(number), &pmu) != PFM_SUCCESS || !is_core(pmu)) continue;
    for (int index = pmu.first_event; index != -1; index = library().get_event_next(index)) {
      pfm_event_info_t info{};
      info.size = sizeof info;
      if (library().get_event_info(index, PFM_OS_PERF_EVENT, &info) == PFM_SUCCESS) action(index, info);
    }
  }
}

}  // namespace

bool has_libpfm() { return load(); }

std::vector<EventInfo> libpfm_events() {
  const MutexLock lock(library_mutex);
  std::vector<EventInfo> events;
  if (!load()) return events;
  for_each_event([&events](int, const pfm_event_info_t& info) {
    events.push_back({.name = info.name, .description = info.desc == nullptr ? "" : info.desc, .needs_counter = true});
  });
  return events;
}

std::vector<std::string> libpfm_attributes() {
  const MutexLock lock(library_mutex);
  std::vector<std::string> names;
  if (!load()) return names;
  for_each_event([&names](int index, const pfm_event_info_t& info) {
    for (int i = 0; i < info.nattrs; ++i) {
      pfm_event_attr_info_t attribute{};
      attribute.size = sizeof attribute;
      if (library().get_event_attr_info(index, i, PFM_OS_PERF_EVENT, &attribute) == PFM_SUCCESS &&
          attribute.type != PFM_ATTR_UMASK) {
        names.emplace_back(attribute.name);
      }
    }
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<Answer<EventCode>> libpfm_resolve(std::string_view event, std::span<const Attribute> attributes) {
  const MutexLock lock(library_mutex);
  if (!load()) return std::nullopt;
  std::string text(event);
  for (const Attribute& attribute : attributes) text += ":" + attribute.name + "=" + std::to_string(attribute.value);
  perf_event_attr attr{};
  attr.size = sizeof attr;
  pfm_perf_encode_arg_t arguments{};
  arguments.size = sizeof arguments;
  arguments.attr = &attr;
  const int result = library().get_os_event_encoding(text.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arguments);
  if (result == PFM_ERR_NOTFOUND || result == PFM_ERR_NOTSUPP) return std::nullopt;
  if (result != PFM_SUCCESS) {
    const bool is_value = result == PFM_ERR_ATTR_VAL || result == PFM_ERR_TOOSMALL;
    return Answer<EventCode>(Refused{is_value ? Refusal::kAttributeOutOfRange : Refusal::kInvalidAttribute, EINVAL,
                                     "event " + text + ": " + library().error_text(result)});
  }
  EventCode code{.type = attr.type,
                 .config = attr.config,
                 .config1 = attr.config1,
                 .config2 = attr.config2,
                 .precise = static_cast<std::uint8_t>(attr.precise_ip),
                 .needs_counter = attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT};
  return Answer<EventCode>{.value = code};
}

#else

bool has_libpfm() { return false; }
std::vector<EventInfo> libpfm_events() { return {}; }
std::vector<std::string> libpfm_attributes() { return {}; }
std::optional<Answer<EventCode>> libpfm_resolve(std::string_view, std::span<const Attribute>) { return std::nullopt; }

#endif

}  // namespace memstat::counters
