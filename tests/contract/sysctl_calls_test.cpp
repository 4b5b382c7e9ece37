// SPDX-License-Identifier: BSD-2-Clause
// How many calls a steady poll of a FreeBSD kernel makes, with every source that is on by default.
#include "core/kernel/forwarding_view.h"
#include "core/kernel/once_per_poll.h"
#include "core/query.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// Counts sysctls, and the requests that a process sends to another one if it may not read sysctls itself.
class CountedSysctls final : public ForwardingKernelView {
 public:
  using ForwardingKernelView::ForwardingKernelView;

  std::size_t calls = 0;
  std::size_t requests = 0;
  bool is_recorded = false;

  Result<void> read_sysctl(std::string_view name, Buffer& out, std::size_t size_hint) override {
    ++calls;
    ++requests;
    return inner_.read_sysctl(name, out, size_hint);
  }
  void read_numbers(std::span<const std::string> names, Buffer& scratch, const TakeNumber& take) override {
    calls += names.size();
    ++requests;
    inner_.read_numbers(names, scratch, take);
  }
  Result<void> list_sysctls(std::string_view prefix, std::vector<std::string>& names) override {
    calls += 1000;  // two a name
    return inner_.list_sysctls(prefix, names);
  }
  [[nodiscard]] bool wants_whole_polls() const override { return is_recorded; }
  [[nodiscard]] bool reads_this_machine() const override { return !is_recorded; }
};

TEST(SysctlCalls, OfASteadyPollAreFew) {
  const auto capture = open_fixture("freebsd-15.0-amd64-4cpu-tools-rest.tar.zst");
  const auto counted = std::make_shared<CountedSysctls>(*capture);
  OncePerPollView view(counted);
  MemoryTypeList list;
  std::vector<std::unique_ptr<SourceReader>> readers;
  for (const SourceDescriptor* source : in_reading_order(all_sources())) {
    if (source->os != OperatingSystem::kFreeBsd || !source->is_on_by_default) continue;
    auto reader = std::make_unique<SourceReader>(*source);
    const auto opened = open_source(*reader, view);
    if (!opened && opened.error().code == ErrorCode::kNotPresent) continue;  // newer than the recording
    ASSERT_TRUE(opened) << source->name;
    readers.push_back(std::move(reader));
  }
  EXPECT_EQ(readers.size(), 5U);
  std::uint64_t generation = 0;
  const auto poll = [&] {
    counted->calls = 0;
    counted->requests = 0;
    view.begin_poll();
    ++generation;
    for (const auto& reader : readers) EXPECT_TRUE(refresh(*reader, view, list, generation));
    view.end_poll();
    return counted->calls;
  };
  poll();
  const std::size_t steady = poll();
  RecordProperty("sysctl_calls_of_a_poll", static_cast<int>(steady));
  EXPECT_LE(steady, 95U) << "without settings";
  EXPECT_GT(steady, 50U);
  EXPECT_LE(counted->requests, 5U) << "one a source";
  counted->is_recorded = true;
  EXPECT_GT(poll(), 600U) << "a recorded poll is whole";
}

}  // namespace
}  // namespace memstat
