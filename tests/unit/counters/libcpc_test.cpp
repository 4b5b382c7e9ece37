// SPDX-License-Identifier: BSD-2-Clause
// libcpc.h's rules for handles, sets, requests and buffers, on a made-up CPU.
#include "core/counters/libcpc_handle.h"
#include "core/counters/perf_system.h"
#include "tests/support/fake_perf_events.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/test.h"

namespace memstat::counters {
namespace {

std::string last_error;  // "function subcode text"

void keep_error(const char* fn, int subcode, const char* fmt, va_list ap) {
  char text[1024];
  vsnprintf(text, sizeof text, fmt, ap);
  last_error = std::string(fn) + " " + std::to_string(subcode) + " " + text;
}

class Libcpc : public testing::Test {
 protected:
  Libcpc() : cpc_(open_handle(std::make_unique<PerfSystem>(handle_, view_))), set_(cpc_set_create(cpc_)) {
    cpc_seterrhndlr(cpc_, keep_error);
    last_error.clear();
    errno = 0;
  }
  ~Libcpc() override { cpc_close(cpc_); }

  int add(const char* event, std::uint64_t preset = 0, uint_t flags = CPC_COUNT_USER) {
    return cpc_set_add_request(cpc_, set_, event, preset, flags, 0, nullptr);
  }
  std::uint64_t value(cpc_buf_t* buffer, int index) {
    std::uint64_t number = 0;
    EXPECT_EQ(cpc_buf_get(cpc_, buffer, index, &number), 0);
    return number;
  }

  PreparedKernelView view_{OperatingSystem::kLinux, 4};
  FakePerfEvents handle_;
  cpc_t* cpc_;
  cpc_set_t* set_;
};

TEST_F(Libcpc, OpenChecksTheVersion) {
  EXPECT_EQ(cpc_open(CPC_VER_CURRENT + 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_STREQ(cpc_open_message(), "version 3 of the interface is not known: CPC_VER_CURRENT is 2");
  EXPECT_EQ(cpc_version(CPC_VER_CURRENT), static_cast<uint_t>(CPC_VER_CURRENT));
  EXPECT_EQ(cpc_version(1), static_cast<uint_t>(CPC_VER_NONE));
}

TEST_F(Libcpc, ReportsTheCpusCounters) {
  EXPECT_EQ(cpc_npic(cpc_), 4U);
  EXPECT_EQ(cpc_caps(cpc_), static_cast<uint_t>(CPC_CAP_OVERFLOW_INTERRUPT));
  EXPECT_NE(std::string(cpc_cciname(cpc_)).find("4 counters"), std::string::npos);
  EXPECT_STRNE(cpc_cpuref(cpc_), "");
  EXPECT_STREQ(cpc_event_description(cpc_, "page-faults"), "page faults, minor and major");
  EXPECT_STREQ(cpc_event_description(cpc_, "none"), "");
  EXPECT_EQ(cpc_event_needs_pic(cpc_, "instructions"), 1);
  EXPECT_EQ(cpc_event_needs_pic(cpc_, "page-faults"), 0);
  EXPECT_EQ(cpc_event_needs_pic(cpc_, "none"), -1);
}

TEST_F(Libcpc, WalksEventsAndAttributes) {
  std::vector<std::string> all, pic, generic, attributes;
  const auto collect = [](void* arg, const char* name) { static_cast<decltype(&all)>(arg)->emplace_back(name); };
  cpc_walk_events_all(cpc_, &all, collect);
  cpc_walk_events_pic(cpc_, 3, &pic, [](void* arg, uint_t picno, const char* name) {
    EXPECT_EQ(picno, 3U);
    static_cast<decltype(&pic)>(arg)->emplace_back(name);
  });
  cpc_walk_generic_events_all(cpc_, &generic, collect);
  cpc_walk_attrs(cpc_, &attributes, collect);
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::count(names.begin(), names.end(), name) == 1;
  };
  EXPECT_TRUE(has(all, "page-faults"));
  EXPECT_TRUE(has(all, "instructions"));
  EXPECT_FALSE(has(pic, "page-faults"));
  EXPECT_TRUE(has(pic, "instructions"));
  EXPECT_TRUE(has(generic, "PAPI_tot_ins"));
  EXPECT_TRUE(has(attributes, "picnum"));
  bool is_called = false;
  cpc_walk_events_pic(cpc_, 4, &is_called, [](void* arg, uint_t, const char*) { *static_cast<bool*>(arg) = true; });
  EXPECT_FALSE(is_called);
  EXPECT_EQ(last_error, "cpc_walk_events_pic 2 there is no counter with that number");
}

TEST_F(Libcpc, RequestsAreNumberedAndWalked) {
  char name[] = "config";
  const cpc_attr_t attributes[] = {{name, 7}};
  EXPECT_EQ(add("page-faults", 5, CPC_COUNT_USER | CPC_COUNT_SYSTEM), 0);
  EXPECT_EQ(cpc_set_add_request(cpc_, set_, "r1", ~0ULL, CPC_COUNT_SYSTEM | CPC_OVF_NOTIFY_EMT, 1, attributes), 1);
  EXPECT_EQ(cpc_set_request_preset(cpc_, set_, 0, 6), 0);
  std::string text;
  cpc_walk_requests(
      cpc_, set_, &text,
      [](void* arg, int index, const char* event, uint64_t preset, uint_t flags, int nattrs, const cpc_attr_t* attrs) {
        *static_cast<std::string*>(arg) +=
            std::to_string(index) + " " + event + " " + std::to_string(preset) + " " + std::to_string(flags) +
            (nattrs == 0 ? "" : std::string(" ") + attrs[0].ca_name + "=" + std::to_string(attrs[0].ca_val)) + "\n";
      });
  EXPECT_EQ(text, "0 page-faults 6 6\n1 r1 18446744073709551615 5 config=7\n");
}

TEST_F(Libcpc, RefusesRequestsWithTheOriginalsSubCodes) {
  char name[] = "nothing";
  const cpc_attr_t attributes[] = {{name, 7}};
  EXPECT_EQ(add("page-fault"), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(last_error, "cpc_set_add_request 1 there is no event page-fault here; is it page-faults?");
  EXPECT_EQ(cpc_set_add_request(cpc_, set_, "page-faults", 0, CPC_COUNT_USER, 1, attributes), -1);
  EXPECT_EQ(last_error, "cpc_set_add_request 3 event page-faults: attribute nothing does not exist for it");
  EXPECT_EQ(add("page-faults", 0, 0), -1);
  EXPECT_EQ(last_error.substr(0, 22), "cpc_set_add_request 7 ");
  EXPECT_EQ(add("page-faults", 0, 0x80 | CPC_COUNT_USER), -1);
  EXPECT_EQ(last_error, "cpc_set_add_request 7 unknown flags");
  EXPECT_EQ(add(nullptr), -1);
  EXPECT_EQ(cpc_bind_curlwp(cpc_, set_, 0), -1);
  EXPECT_EQ(last_error, "cpc_bind_curlwp -1 the set has no requests");
  ASSERT_EQ(add("page-faults"), 0);
  EXPECT_EQ(cpc_set_request_preset(cpc_, set_, 1, 0), -1);
  EXPECT_EQ(cpc_set_request_preset(cpc_, set_, -1, 0), -1);
  EXPECT_EQ(cpc_bind_curlwp(cpc_, set_, 0x80), -1);
  EXPECT_EQ(cpc_bind_cpu(cpc_, 0, set_, CPC_BIND_LWP_INHERIT), -1);
  EXPECT_EQ(cpc_bind_cpu(cpc_, 4, set_, 0), -1);
  EXPECT_EQ(last_error, "cpc_bind_cpu 10 there is no CPU 4: the highest is 3");
}

TEST_F(Libcpc, ASetKnowsWhetherItIsBound) {
  cpc_buf_t* early = cpc_buf_create(cpc_, set_);
  add("r1");
  cpc_buf_t* buffer = cpc_buf_create(cpc_, set_);
  EXPECT_EQ(cpc_set_sample(cpc_, set_, buffer), -1);
  EXPECT_EQ(cpc_unbind(cpc_, set_), -1);
  EXPECT_EQ(cpc_set_restart(cpc_, set_), -1);
  EXPECT_EQ(cpc_request_preset(cpc_, 0, 1), -1);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0);
  EXPECT_EQ(cpc_request_preset(cpc_, 0, 1), 0);
  EXPECT_EQ(add("r2"), -1) << "a bound set does not change";
  EXPECT_EQ(cpc_set_sample(cpc_, set_, early), -1) << "a buffer from before the request";
  cpc_set_t* other = cpc_set_create(cpc_);
  EXPECT_EQ(cpc_set_sample(cpc_, set_, cpc_buf_create(cpc_, other)), -1);
  EXPECT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(cpc_unbind(cpc_, set_), 0);
  EXPECT_EQ(handle_.open_count(), 0U);
  EXPECT_EQ(cpc_set_destroy(cpc_, other), 0);
  EXPECT_EQ(cpc_set_destroy(cpc_, other), -1);
  EXPECT_EQ(cpc_buf_create(cpc_, other), nullptr);
  EXPECT_EQ(cpc_buf_destroy(cpc_, buffer), 0);
  EXPECT_EQ(cpc_buf_destroy(cpc_, buffer), -1);
}

TEST_F(Libcpc, ValuesBeginAtThePresetAndWrap) {
  add("r1", 100);
  add("r2", ~0ULL - 4);
  cpc_buf_t* buffer = cpc_buf_create(cpc_, set_);
  cpc_bind_curlwp(cpc_, set_, 0);
  handle_.run(7);
  ASSERT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(value(buffer, 0), 107U);
  EXPECT_EQ(value(buffer, 1), 2U) << "modulo 2^64";
  EXPECT_EQ(cpc_buf_tick(cpc_, buffer), 7U);
  EXPECT_GT(cpc_buf_hrtime(cpc_, buffer), 0);
  ASSERT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(value(buffer, 0), 107U) << "a sample changes no preset";
  cpc_set_request_preset(cpc_, set_, 0, 50);
  ASSERT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(value(buffer, 0), 107U) << "a new preset is for the next restart";
  ASSERT_EQ(cpc_set_restart(cpc_, set_), 0);
  handle_.run(1);
  ASSERT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(value(buffer, 0), 51U);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0) << "binds anew";
  ASSERT_EQ(cpc_set_sample(cpc_, set_, buffer), 0);
  EXPECT_EQ(value(buffer, 0), 50U);
}

TEST_F(Libcpc, DisableStopsAllSetsOfTheThread) {
  add("r1");
  cpc_set_t* of_cpu = cpc_set_create(cpc_);
  cpc_set_add_request(cpc_, of_cpu, "r2", 0, CPC_COUNT_USER, 0, nullptr);
  cpc_buf_t* buffer = cpc_buf_create(cpc_, set_);
  cpc_buf_t* cpu_buffer = cpc_buf_create(cpc_, of_cpu);
  cpc_bind_curlwp(cpc_, set_, 0);
  cpc_bind_cpu(cpc_, 1, of_cpu, 0);
  EXPECT_EQ(cpc_disable(cpc_), 0);
  handle_.run(5);
  EXPECT_EQ(cpc_enable(cpc_), 0);
  handle_.run(2);
  cpc_set_sample(cpc_, set_, buffer);
  cpc_set_sample(cpc_, of_cpu, cpu_buffer);
  EXPECT_EQ(value(buffer, 0), 2U);
  EXPECT_EQ(value(cpu_buffer, 0), 7U) << "sets of a CPU continue";
}

TEST_F(Libcpc, BuffersAreAddedAndSubtracted) {
  add("r1");
  cpc_buf_t* a = cpc_buf_create(cpc_, set_);
  cpc_buf_t* b = cpc_buf_create(cpc_, set_);
  cpc_buf_t* result = cpc_buf_create(cpc_, set_);
  cpc_bind_curlwp(cpc_, set_, 0);
  handle_.run(3);
  cpc_set_sample(cpc_, set_, a);
  handle_.run(4);
  cpc_set_sample(cpc_, set_, b);
  cpc_buf_sub(cpc_, result, b, a);
  EXPECT_EQ(value(result, 0), 4U);
  EXPECT_EQ(cpc_buf_tick(cpc_, result), 4U);
  EXPECT_EQ(cpc_buf_hrtime(cpc_, result), cpc_buf_hrtime(cpc_, b));
  cpc_buf_sub(cpc_, result, a, b);
  EXPECT_EQ(value(result, 0), 0 - std::uint64_t{4});
  EXPECT_EQ(cpc_buf_hrtime(cpc_, result), cpc_buf_hrtime(cpc_, b)) << "the later of the two";
  cpc_buf_add(cpc_, a, a, b);
  EXPECT_EQ(value(a, 0), 10U) << "the target may be an operand";
  EXPECT_EQ(cpc_buf_tick(cpc_, a), 10U);
  cpc_buf_copy(cpc_, result, b);
  EXPECT_EQ(value(result, 0), 7U);
  EXPECT_EQ(cpc_buf_set(cpc_, result, 0, 9), 0);
  EXPECT_EQ(value(result, 0), 9U);
  cpc_buf_zero(cpc_, result);
  EXPECT_EQ(value(result, 0), 0U);
  EXPECT_EQ(cpc_buf_hrtime(cpc_, result), 0);
  std::uint64_t number = 0;
  EXPECT_EQ(cpc_buf_get(cpc_, result, 1, &number), -1);
  EXPECT_EQ(cpc_buf_set(cpc_, result, -1, 0), -1);
}

TEST_F(Libcpc, BuffersOfTwoSetsAreNotMixed) {
  add("r1");
  cpc_set_t* other = cpc_set_create(cpc_);
  cpc_set_add_request(cpc_, other, "r2", 0, CPC_COUNT_USER, 0, nullptr);
  cpc_buf_t* a = cpc_buf_create(cpc_, set_);
  cpc_buf_t* b = cpc_buf_create(cpc_, other);
  cpc_buf_set(cpc_, a, 0, 5);
  cpc_buf_set(cpc_, b, 0, 1);
  cpc_buf_sub(cpc_, a, a, b);
  cpc_buf_add(cpc_, a, a, b);
  cpc_buf_copy(cpc_, a, b);
  EXPECT_EQ(value(a, 0), 5U);
}

TEST_F(Libcpc, SaysWhatWasScaled) {
  for (const char* event : {"r1", "r2", "r3", "r4", "r5"}) add(event);
  cpc_buf_t* buffer = cpc_buf_create(cpc_, set_);
  ASSERT_EQ(cpc_bind_curlwp(cpc_, set_, 0), 0);
  handle_.run(100);
  cpc_set_sample(cpc_, set_, buffer);
  std::uint64_t enabled = 0, running = 0;
  ASSERT_EQ(cpc_buf_times(cpc_, buffer, 0, &enabled, &running), 0);
  EXPECT_EQ(enabled, 100U);
  EXPECT_EQ(running, 50U);
  EXPECT_EQ(cpc_buf_times(cpc_, buffer, 5, &enabled, &running), -1);
  EXPECT_EQ(cpc_bind_curlwp(cpc_, set_, CPC_BIND_EXACT), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(last_error.substr(0, 18), "cpc_bind_curlwp 8 ");
}

TEST_F(Libcpc, CloseReleasesBoundSets) {
  add("r1");
  cpc_bind_curlwp(cpc_, set_, 0);
  cpc_buf_create(cpc_, set_);
  EXPECT_EQ(handle_.open_count(), 1U);
  cpc_close(cpc_);
  EXPECT_EQ(handle_.open_count(), 0U);
  cpc_ = open_handle(std::make_unique<PerfSystem>(handle_, view_));
}

}  // namespace
}  // namespace memstat::counters
