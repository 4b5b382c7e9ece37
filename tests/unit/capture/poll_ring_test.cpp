// SPDX-License-Identifier: BSD-2-Clause
#include "core/capture/poll_ring.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace memstat {
namespace {

using Kind = PollRecord::Kind;
using State = std::map<std::string, std::string>;  // content by name; "errno N" after a failure

/// `numbers`, if not null: of the polls.
std::vector<State> states_of(const PollRing& ring, std::vector<std::int64_t>* numbers = nullptr) {
  std::vector<State> states;
  const auto taken = ring.for_each_poll([&](const PollInfo& info, std::span<PollRecord> records) -> Result<void> {
    State state;
    for (const PollRecord& record : records) {
      state[record.name] =
          record.system_errno == 0 ? std::string(record.bytes.view()) : "errno " + std::to_string(record.system_errno);
    }
    EXPECT_EQ(state.size(), records.size()) << "each once";
    EXPECT_EQ(info.label, std::to_string(info.realtime_ns));
    if (numbers != nullptr) numbers->push_back(info.realtime_ns);
    states.push_back(std::move(state));
    return {};
  });
  EXPECT_TRUE(taken);
  return states;
}

void end_poll(PollRing& ring, std::int64_t number) {
  ring.end_poll({.label = std::to_string(number), .realtime_ns = number, .monotonic_ns = number * 10'000'000'000});
}

TEST(PollRing, HasEachPollWithEverythingThatWasKnown) {
  PollRing ring(1 << 20);
  ring.add(Kind::kFile, "/proc/a", "1", 0);
  ring.add(Kind::kFile, "/proc/b", "same", 0);
  ring.add(Kind::kFile, "/proc/c", {}, EACCES);
  end_poll(ring, 1);
  ring.add(Kind::kFile, "/proc/a", "2", 0);
  ring.add(Kind::kFile, "/proc/c", "now", 0);
  end_poll(ring, 2);
  ring.add(Kind::kFile, "/proc/b", {}, ENOENT);
  end_poll(ring, 3);
  const std::vector<State> expected = {{{"/proc/a", "1"}, {"/proc/b", "same"}, {"/proc/c", "errno 13"}},
                                       {{"/proc/a", "2"}, {"/proc/b", "same"}, {"/proc/c", "now"}},
                                       {{"/proc/a", "2"}, {"/proc/c", "now"}}};
  EXPECT_EQ(states_of(ring), expected);
}

TEST(PollRing, WhatIsBelowARemovedDirectoryIsGone) {
  PollRing ring(1 << 20);
  ring.add(Kind::kListing, "/g", "one\nonetwo\n", 0);
  ring.add(Kind::kFile, "/g/one/stat", "1", 0);
  ring.add(Kind::kFile, "/g/one/below/stat", "1", 0);
  ring.add(Kind::kFile, "/g/onetwo/stat", "2", 0);
  ring.add(Kind::kFile, "/g/stat", "3", 0);
  end_poll(ring, 1);
  ring.add(Kind::kListing, "/g", "onetwo\n", 0);
  end_poll(ring, 2);
  EXPECT_EQ(states_of(ring).back(), (State{{"/g", "onetwo\n"}, {"/g/onetwo/stat", "2"}, {"/g/stat", "3"}}));
}

TEST(PollRing, WhatWasReadWhenOpeningIsInTheOldestPollOnly) {
  PollRing ring(1 << 20);
  ring.add(Kind::kFile, "/once", "1", 0);
  ring.add(Kind::kFile, "/again", "1", 0);
  ring.end_opening();
  for (int poll = 0; poll < 40; ++poll) {
    if (poll % 16 == 0) ring.add(Kind::kFile, "/again", "1", 0);
    end_poll(ring, poll);
  }
  const std::vector<State> states = states_of(ring);
  ASSERT_EQ(states.size(), PollRing::kMaxPolls + 1) << "and the first, which is kept";
  EXPECT_EQ(states.front(), (State{{"/again", "1"}, {"/once", "1"}}));
  EXPECT_EQ(states.back(), (State{{"/again", "1"}}));
}

TEST(PollRing, WhatWasReadWhenOpeningAndMayBeReadAgainIsInAllPolls) {
  PollRing ring(1 << 20);
  ring.add(Kind::kFile, "/seldom", "1", 0);
  ring.end_opening();
  end_poll(ring, 0);
  end_poll(ring, 1);
  EXPECT_EQ(states_of(ring).back(), (State{{"/seldom", "1"}}));
}

TEST(PollRing, WhatWasReadWhenOpeningIsKnownUntilItIsReadAgain) {
  PollRing ring(1 << 20);
  for (const std::string_view name : {"/gone", "/changes", "/large", "/refused"}) ring.add(Kind::kFile, name, "1", 0);
  ring.add(Kind::kFile, "/refused", {}, EACCES);
  ring.end_opening();
  end_poll(ring, 0);
  ring.add(Kind::kFile, "/gone", {}, ENOENT);
  ring.add(Kind::kFile, "/changes", "2", 0);
  ring.add(Kind::kFile, "/large", std::string(1 << 20, 'x'), 0);
  end_poll(ring, 1);
  const std::vector<State> states = states_of(ring);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].at("/changes"), "1");
  EXPECT_EQ(states[1], (State{{"/changes", "2"}, {"/large", "1"}, {"/refused", "errno 13"}}));
  EXPECT_EQ(ring.left_out(), 1U);
}

TEST(PollRing, LeavesOutAndCountsWhatDoesNotFit) {
  PollRing ring(64 << 10);
  ring.add(Kind::kFile, "/large", std::string(20 << 10, 'x'), 0);
  ring.add(Kind::kFile, "/small", "1", 0);
  for (int i = 0; i < 400; ++i) ring.add(Kind::kFile, "/many/" + std::to_string(i), "1", 0);
  end_poll(ring, 1);
  const State state = states_of(ring).back();
  EXPECT_EQ(state.count("/large"), 0U);
  EXPECT_EQ(state.at("/small"), "1");
  EXPECT_EQ(ring.left_out() + state.size(), 402U);
  EXPECT_GT(state.size(), 100U);
  ring.add(Kind::kFile, "/small", std::string(20 << 10, 'x'), 0);
  end_poll(ring, 2);
  EXPECT_EQ(states_of(ring).back().at("/small"), "errno " + std::to_string(EFBIG));
}

constexpr int kGroups = 500;

/// A poll of a machine with 500 groups of six files each, in the order in which memstatd reads: groups before the log.
void poll_groups(PollRing& ring, std::int64_t number) {
  const auto add = [&](const std::string& name, std::size_t size) {
    ring.add(Kind::kFile, name, std::to_string(number) + std::string(size, 'x'), 0);
  };
  add("/sys/fs/cgroup/memory/memory.stat", 800);
  for (int group = 0; group < kGroups; ++group) {
    const std::string directory = "/sys/fs/cgroup/memory/app/" + std::to_string(group);
    add(directory + "/memory.stat", 800);
    for (int file = 0; file < 5; ++file) add(directory + "/memory.file_" + std::to_string(file), 8);
  }
  for (int i = 0; i < 100; ++i) add("/proc/" + std::to_string(i), 500);
  ring.add(Kind::kTable, "linux_kernel_log", "kill " + std::to_string(number), 0);
  end_poll(ring, number);
}

/// Of the files below a directory.
std::size_t count_below(const State& state, const std::string& directory) {
  std::size_t count = 0;
  for (const auto& [name, content] : state) count += name.starts_with(directory + "/") ? 1 : 0;
  return count;
}

TEST(PollRing, GroupsMakeRoomForTheLogAndForThoseThatAreWanted) {
  PollRing ring(2 << 20);
  poll_groups(ring, 0);
  EXPECT_GT(ring.left_out(), 0U) << "there is no room for all";
  const std::string killed = "/app/499";
  ring.want(std::vector{killed});
  for (int number = 1; number < 12; ++number) {
    poll_groups(ring, number);
    const State state = states_of(ring).back();
    ASSERT_EQ(state.count("linux_kernel_log"), 1U) << number;
    ASSERT_EQ(state.at("linux_kernel_log"), "kill " + std::to_string(number));
    ASSERT_EQ(count_below(state, "/proc"), 100U);
    ASSERT_EQ(count_below(state, "/sys/fs/cgroup/memory" + killed), 6U) << number;
    ASSERT_EQ(ring.left_out() + state.size(), 6 * kGroups + 102U);
    std::size_t groups = 0;
    for (int group = 0; group < kGroups; ++group) {
      const std::size_t files = count_below(state, "/sys/fs/cgroup/memory/app/" + std::to_string(group));
      ASSERT_TRUE(files == 0 || files == 6) << "group " << group << " is half there: " << files;
      groups += files == 0 ? 0 : 1;
    }
    ASSERT_GT(groups, 30U) << "the memory is used";
    for (const auto& [name, content] : state) {
      if (!name.starts_with("/")) continue;
      ASSERT_EQ(content.substr(0, content.find('x')), std::to_string(number)) << name;
    }
  }
}

TEST(PollRing, WantedGroupsThatChangeDoNotMixUpFiles) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  PollRing ring(1 << 20);
  for (int number = 0; number < 60; ++number) {
    std::vector<std::string> wanted;
    for (int i = 0; i < 8; ++i) wanted.push_back("/app/" + std::to_string(random() % kGroups));
    ring.want(wanted);
    poll_groups(ring, number);
    if (number % 10 != 9) continue;
    std::vector<std::int64_t> numbers;
    const std::vector<State> states = states_of(ring, &numbers);
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (const auto& [name, content] : states[i]) {
        if (!name.starts_with("/")) continue;
        ASSERT_EQ(content.substr(0, content.find('x')), std::to_string(numbers[i])) << name;
      }
    }
    for (const std::string& group : wanted)
      ASSERT_EQ(count_below(states.back(), "/sys/fs/cgroup/memory" + group), 6U) << number << group;
  }
}

TEST(PollRing, HasAnHourInSteps) {
  PollRing ring(1 << 20);
  for (int poll = 0; poll < 1000; ++poll) {
    ring.add(Kind::kFile, "/changes", std::to_string(poll), 0);
    end_poll(ring, poll);
  }
  std::vector<std::int64_t> numbers;
  const std::vector<State> states = states_of(ring, &numbers);
  ASSERT_EQ(states.size(), PollRing::kMaxPolls + PollRing::kMaxOldPolls);
  for (std::size_t i = 0; i < states.size(); ++i) EXPECT_EQ(states[i].at("/changes"), std::to_string(numbers[i]));
  EXPECT_EQ(numbers.back() - numbers[PollRing::kMaxOldPolls], 31) << "every one of the last";
  EXPECT_GE(numbers.back() - numbers.front(), 360) << "an hour at 10 s";
}

TEST(PollRing, ALargeFileIsInTheLastPollsOnly) {
  PollRing ring(64 << 10);
  for (int poll = 0; poll < 200; ++poll) {
    ring.add(Kind::kFile, "/large", std::string(3000, static_cast<char>('a' + poll % 3)), 0);
    ring.add(Kind::kFile, "/small", std::to_string(poll), 0);
    end_poll(ring, poll);
  }
  std::vector<std::int64_t> numbers;
  const std::vector<State> states = states_of(ring, &numbers);
  ASSERT_GE(states.size(), 10U);
  EXPECT_LE(numbers.front(), 48) << "the hour is not pushed out";
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(states[i].at("/small"), std::to_string(numbers[i]));
    EXPECT_EQ(states[i].count("/large"), numbers[i] > 190 ? 1U : states[i].count("/large"));
  }
  EXPECT_EQ(states.front().count("/large"), 0U);
}

TEST(PollRing, APollThatAloneFillsItIsStillRight) {
  PollRing ring(16 << 10);  // 4 KiB of changes
  for (int poll = 0; poll < 3; ++poll) {
    for (int i = 0; i < 6; ++i)
      ring.add(Kind::kFile, "/" + std::to_string(i), std::string(900, static_cast<char>('a' + poll)), 0);
    end_poll(ring, poll);
    const std::vector<State> states = states_of(ring);
    for (const auto& [name, content] : states.back()) EXPECT_EQ(content, std::string(900, static_cast<char>('a' + poll)));
  }
}

TEST(PollRing, IsAlwaysWhatAModelSays) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  const auto below = [&](unsigned most) { return random() % most; };
  PollRing ring(64 << 10);
  State now;
  std::map<std::int64_t, State> model;
  std::size_t fewest = SIZE_MAX;
  std::int64_t least_span = INT64_MAX;
  for (int poll = 0; poll < 3000; ++poll) {
    const unsigned reads = below(30);
    for (unsigned i = 0; i < reads; ++i) {
      const std::string name = "/" + std::to_string(below(8)) + "/" + std::to_string(below(5));
      const std::string bytes(60 + below(3), static_cast<char>('a' + below(3)));
      switch (below(6)) {
        case 0:
          now.erase(name);
          ring.add(Kind::kFile, name, {}, ENOENT);
          break;
        case 1:
          now[name] = "errno 5";
          ring.add(Kind::kFile, name, {}, EIO);
          // A read that fails before it ever succeeded is known, too.
          break;
        default: now[name] = bytes; ring.add(Kind::kFile, name, bytes, 0);
      }
    }
    if (const unsigned large = below(8); large < 3) {
      const std::string bytes(large == 0 ? 60 : 3000, static_cast<char>('a' + below(3)));
      large == 2 ? (void)now.erase("/large") : (void)(now["/large"] = bytes);
      ring.add(Kind::kFile, "/large", bytes, large == 2 ? ENOENT : 0);
    }
    end_poll(ring, poll);
    model[poll] = now;
    if (poll % 3 != 0) continue;
    std::vector<std::int64_t> numbers;
    const std::vector<State> states = states_of(ring, &numbers);
    ASSERT_FALSE(states.empty());
    ASSERT_LE(states.size(), PollRing::kMaxPolls + PollRing::kMaxOldPolls);
    ASSERT_EQ(numbers.back(), poll);
    ASSERT_EQ(ring.left_out(), 0U);
    if (poll > 1000) fewest = std::min(fewest, states.size());
    if (poll > 1000) least_span = std::min(least_span, numbers.back() - numbers.front());
    for (std::size_t i = 0; i < states.size(); ++i) {
      ASSERT_TRUE(i == 0 || numbers[i - 1] < numbers[i]);
      State expected = model.at(numbers[i]);
      if (numbers[i] % 48 == 0 && states[i].count("/large") == 0) expected.erase("/large");  // not in old polls
      ASSERT_EQ(states[i], expected) << "poll " << poll << ", " << numbers[i];
    }
    if (poll % 500 == 0) {
      const PollRing copy = ring;
      ASSERT_EQ(states_of(copy), states);
    }
  }
  EXPECT_GE(fewest, 5U) << "the memory is used";
  EXPECT_GE(least_span, 60) << "polls that are kept reach back ten minutes";
}

}  // namespace
}  // namespace memstat
