// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/streams.h"

#include <array>
#include <optional>

#include "core/postmortem/kernel/struct_reader.h"

namespace memstat::postmortem {
namespace {

// Members of struct vmmeter (sys/sys/vmmeter.h); each has a sysctl of the same name.
constexpr const char* kVmMembers[] = {
    "v_page_count",    "v_wire_count",  "v_pageout_free_min", "v_interrupt_free_min", "v_free_min",
    "v_free_reserved", "v_free_severe", "v_free_target",      "v_inactive_target",    "v_tfree",
    "v_dfree",         "v_pdpages",     "v_pdwakeups",        "v_pdshortfalls",       "v_reactivated",
    "v_intrans",       "v_swappgsin",   "v_swappgsout",       "v_vnodepgsin",         "v_vnodepgsout"};

// Members of struct vm_domain (sys/vm/vm_pagequeue.h); without "vmd_" they are the names in vm.domain.N.stats.
constexpr std::string_view kDomainMembers[] = {"vmd_free_count",  "vmd_free_min",    "vmd_free_reserved",
                                               "vmd_free_severe", "vmd_free_target", "vmd_inactive_target"};

// The queues in the order of vmd_pagequeues (PQ_INACTIVE is 0; sys/vm/vm_page.h).
struct QueueLeaf {
  const char* pages;
  const char* scanned;
  const char* all;  // in vm.stats.vm; nullptr: none
};
constexpr std::array<QueueLeaf, 4> kQueueLeaves = {{{"inactive", "inactpdpgs", "v_inactive_count"},
                                                    {"active", "actpdpgs", "v_active_count"},
                                                    {"laundry", "laundpdpgs", "v_laundry_count"},
                                                    {"unswappable", "unswppdpgs", nullptr}}};

class PageReader {
 public:
  PageReader(FreeBsdKernel& kernel, const FreeBsdMachine& machine) : kernel_(kernel), machine_(machine) {}

  FreeBsdPages read() {
    read_vm_counts();
    read_domains();
    if (const auto bytes = kernel_.read_variable<std::uint64_t>("uma_kmem_total")) add("vm.uma_kmem_total", *bytes);
    return std::move(pages_);
  }

 private:
  void add(std::string name, std::uint64_t value) { pages_.sysctls.emplace_back(std::move(name), value); }
  void note(std::string_view subject, const Error& error) {
    pages_.damage += (pages_.damage.empty() ? "" : "; ") + std::string(subject) + ": " + to_string(error);
  }

  /// A member is an integer, or a pointer to a counter.
  void read_vm_counts() {
    const auto symbol = kernel_.file().symbol("vm_cnt");
    if (!symbol) return note("vm_cnt", symbol.error());
    StructReader counts(kernel_, "vmmeter");
    std::vector<StructField> fields;
    for (const char* const member : kVmMembers) fields.push_back(counts.field(member));
    if (auto loaded = counts.load(symbol->address); !loaded) return note("vm_cnt", loaded.error());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i]) continue;
      const std::uint64_t value = counts.get(fields[i]);
      if (!is_counter(kVmMembers[i])) {
        add(std::string("vm.stats.vm.") + kVmMembers[i], value);
        continue;
      }
      const auto sum = read_counter(kernel_, machine_, value);
      if (!sum) {
        note(kVmMembers[i], sum.error());
        continue;
      }
      add(std::string("vm.stats.vm.") + kVmMembers[i], *sum);
    }
    // A global variable of its own since FreeBSD 13.
    if (const auto wired = kernel_.read_variable<std::uint64_t>("vm_user_wire_count")) {
      add("vm.stats.vm.v_user_wire_count", *wired);
    }
  }

  [[nodiscard]] bool is_counter(const char* name) const {
    const Btf& types = kernel_.types();
    const auto member = types.find_member(types.find_struct("vmmeter").value_or(0), name);
    return member && types.target_of(member->type).has_value();
  }

  void read_domains() {
    const auto symbol = kernel_.file().symbol("vm_dom");
    if (!symbol) return note("vm_dom", symbol.error());
    StructReader domain(kernel_, "vm_domain");
    std::vector<StructField> fields;
    for (const std::string_view member : kDomainMembers) fields.push_back(domain.field(member));
    StructReader queue(kernel_, "vm_pagequeue");
    const StructField pages = queue.field("pq_cnt");
    const StructField scanned = queue.field("pq_pdpages");
    const auto queues_at = domain.offset_of("vmd_pagequeues");
    if (!fields[0] || !pages || !queues_at || domain.size() == 0 || queue.size() == 0) {
      pages_.damage += pages_.damage.empty() ? "" : "; ";
      pages_.damage += "vm_dom: the layout of struct vm_domain is not that of FreeBSD 13 to 15";
      return;
    }
    std::uint64_t free = 0;
    std::array<std::uint64_t, kQueueLeaves.size()> sums{};
    for (const std::uint32_t number : machine_.domains) {
      const std::uint64_t at = symbol->address + number * domain.size();
      const std::string prefix = "vm.domain." + std::to_string(number) + ".stats.";
      if (auto loaded = domain.load(at); !loaded) return note("vm_dom", loaded.error());
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i]) add(prefix + std::string(kDomainMembers[i].substr(4)), domain.get(fields[i]));
      }
      free += domain.get(fields[0]);
      for (std::size_t i = 0; i < kQueueLeaves.size(); ++i) {
        if (auto loaded = queue.load(at + *queues_at + i * queue.size()); !loaded) return note("vm_dom", loaded.error());
        add(prefix + kQueueLeaves[i].pages, queue.get(pages));
        if (scanned) add(prefix + kQueueLeaves[i].scanned, queue.get(scanned));
        sums[i] += queue.get(pages);
      }
    }
    add("vm.stats.vm.v_free_count", free);
    for (std::size_t i = 0; i < kQueueLeaves.size(); ++i) {
      if (kQueueLeaves[i].all != nullptr) add(std::string("vm.stats.vm.") + kQueueLeaves[i].all, sums[i]);
    }
  }

  FreeBsdKernel& kernel_;
  const FreeBsdMachine& machine_;
  FreeBsdPages pages_;
};

}  // namespace

FreeBsdPages read_freebsd_pages(FreeBsdKernel& kernel, const FreeBsdMachine& machine) {
  return PageReader(kernel, machine).read();
}

}  // namespace memstat::postmortem
