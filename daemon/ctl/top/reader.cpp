// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/thread_name.h"

namespace memstat::ctl {

struct TopReader::State {
  TopReading read(const Wish& wish) {
    TopReading reading;
    if (wish.wants_sample) read_sample(reading);
    if (wish.split_of) {
      reading.split_of = identity_of(*wish.split_of);
      reading.splits = source->splits(*wish.split_of);
    }
    return reading;
  }
  void read_sample(TopReading& reading) {
    if (poll_count != 0) {
      if (next_poll == poll_count) return;
      if (std::string problem = source->select_poll(next_poll); !problem.empty()) {
        next_poll = poll_count;
        reading.sample.emplace().problem = std::move(problem);
        return;
      }
      ++next_poll;
      reading.heading.replay_position = "poll " + std::to_string(next_poll) + " of " + std::to_string(poll_count);
    }
    reading.sample = source->read();
    reading.heading.machine = source->machine();
    reading.heading.from = from;
    reading.heading.finding = source->first_finding();
    if (!is_first || !source->remembers() || reading.sample->is_failed()) return;
    constexpr unsigned kSeconds = 3600;
    reading.histories = source->history(kSeconds, TopModel::kTrendSamples);
    is_first = false;
  }

  std::unique_ptr<ReportSource> source;
  std::string from;
  std::size_t poll_count = 0;
  std::size_t next_poll = 0;
  bool is_first = true;
  UniqueFd done;  // a byte for each completed read
};

void apply(TopReading reading, TopModel& model) {
  if (reading.sample) model.add(std::move(*reading.sample), std::move(reading.heading));
  if (!reading.histories.empty()) model.seed(reading.histories);
  const TypeRow* const selected = model.selected();
  if (reading.split_of && selected != nullptr && identity_of(*selected) == *reading.split_of) {
    model.set_splits(std::move(reading.splits));
  }
}

TopReader::TopReader(std::unique_ptr<ReportSource> source, std::size_t first_poll, std::string from)
    : state_(std::make_shared<State>()) {
  state_->source = std::move(source);
  state_->from = std::move(from);
  state_->poll_count = state_->source->poll_count();
  state_->next_poll = std::min(first_poll, state_->poll_count);
  if (std::array<int, 2> ends{}; ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    wake_ = UniqueFd(ends[0]);
    state_->done = UniqueFd(ends[1]);
  }
}

std::size_t TopReader::poll_count() const { return state_->poll_count; }

bool TopReader::is_at_end() const { return state_->poll_count != 0 && state_->next_poll == state_->poll_count; }

TopReading TopReader::read(const Wish& wish) { return state_->read(wish); }

void TopReader::start(Wish wish) {
  if (wake_.get() >= 0) {
    std::packaged_task<TopReading()> task([state = state_, wish] { return state->read(wish); });
    std::future<TopReading> result = task.get_future();
    const SignalsBlocked blocked;  // they are for the main thread
    try {
      std::thread([task = std::move(task), state = state_]() mutable {
        task();
        constexpr char kByte = 0;
        [[maybe_unused]] const ssize_t written = ::write(state->done.get(), &kByte, 1);
      }).detach();
      under_way_ = std::move(result);
      return;
    } catch (const std::system_error&) {  // no thread available: the keys must wait
    }
  }
  done_ = state_->read(wish);
}

std::optional<TopReading> TopReader::take() {
  if (!under_way_.valid()) return std::exchange(done_, std::nullopt);
  if (under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  char byte = 0;
  [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &byte, 1);
  return under_way_.get();
}

}  // namespace memstat::ctl
