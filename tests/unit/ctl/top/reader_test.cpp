// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/reader.h"

#include "tests/support/test.h"

#include <poll.h>

#include <future>

namespace memstat::ctl {
namespace {

TypeRow row(const char* name) {
  TypeRow made;
  made.allocator = "slab";
  made.name = name;
  made.figures = MEMSTAT_FIGURE_BYTES;
  made.bytes = 1;
  return made;
}

/// Answers when permitted.
class SlowSource final : public ReportSource {
 public:
  explicit SlowSource(std::shared_future<void> may_answer) : may_answer_(std::move(may_answer)) {}
  Sample read() override {
    may_answer_.wait();
    Sample sample;
    sample.time_ns = ++reads_;
    sample.types = {row("a"), row("b")};
    return sample;
  }
  [[nodiscard]] Machine machine() override { return {}; }
  Splits splits(const TypeRow& type) override {
    Splits splits;
    splits.problem = "none of " + type.name;
    return splits;
  }
  std::vector<AmountHistory> history(unsigned /*seconds*/, unsigned /*points*/) override { return {{5, 6}, {}}; }
  [[nodiscard]] bool remembers() const override { return true; }

 private:
  std::shared_future<void> may_answer_;
  std::int64_t reads_ = 0;
};

std::string text_of(TopModel& model) {
  std::string text;
  for (const TopLine& line : model.frame(80, 24, false)) text += line.text + "\n";
  return text;
}

/// The result of the read; waits until the reader's descriptor is readable.
TopReading waited_for(TopReader& reader) {
  pollfd entry{.fd = reader.wake_fd(), .events = POLLIN, .revents = 0};
  std::optional<TopReading> reading = reader.take();
  while (!reading) {
    ::poll(&entry, 1, -1);
    reading = reader.take();
  }
  return std::move(*reading);
}

TEST(TopReader, TheCallerContinuesWhileTheSourceHangs) {
  std::promise<void> permission;
  TopReader reader(std::make_unique<SlowSource>(permission.get_future().share()), 0);
  EXPECT_FALSE(reader.take());
  reader.start({.wants_sample = true, .split_of = row("b")});
  EXPECT_TRUE(reader.is_busy());
  EXPECT_FALSE(reader.take()) << "nothing is there yet";
  permission.set_value();
  TopReading reading = waited_for(reader);
  EXPECT_FALSE(reader.is_busy());
  ASSERT_TRUE(reading.sample);
  EXPECT_EQ(reading.sample->types.size(), 2U);
  EXPECT_EQ(reading.histories.size(), 2U) << "with the first sample";
  EXPECT_EQ(reading.splits.problem, "none of b");

  reader.start({.wants_sample = true});
  EXPECT_TRUE(waited_for(reader).histories.empty()) << "once is enough";
}

TEST(TopReader, ItGoesWithoutWaitingForASourceThatHangs) {
  std::promise<void> permission;
  {
    TopReader reader(std::make_unique<SlowSource>(permission.get_future().share()), 0);
    reader.start({.wants_sample = true});
  }
  permission.set_value();  // the thread ends by itself, with the source
}

TEST(TopReader, FiguresOfATypeThatIsNoLongerSelectedAreNotShown) {
  std::promise<void> permission;
  permission.set_value();
  TopReader reader(std::make_unique<SlowSource>(permission.get_future().share()), 0);
  TopModel model;
  apply(reader.read({.wants_sample = true}), model);
  model.press({.key = Key::kCharacter, .character = "c"});
  EXPECT_THAT(text_of(model), HasSubstr("reading the figures"));
  apply(reader.read({.wants_sample = false, .split_of = row("b")}), model);
  EXPECT_THAT(text_of(model), HasSubstr("reading the figures")) << "a is selected";
  apply(reader.read({.wants_sample = false, .split_of = row("a")}), model);
  EXPECT_THAT(text_of(model), HasSubstr("none of a"));
}

TEST(TopModel, ShowsHowLongThereWasNoAnswer) {
  TopModel model;
  model.set_waiting(1);
  EXPECT_THAT(text_of(model), testing::Not(HasSubstr("no answer")));
  model.set_waiting(7);
  EXPECT_THAT(text_of(model), HasSubstr("no answer for 7 s"));
}

}  // namespace
}  // namespace memstat::ctl
