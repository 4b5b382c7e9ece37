// SPDX-License-Identifier: BSD-2-Clause
// Captures whose files were truncated, changed, enlarged, exchanged, renamed and duplicated at random, polled as memstatd
// polls them: no crash, a page without contradictions, a reason for each source that is down, and memory in proportion to
// the capture.
//
// MEMSTAT_MUTATION_SEED and MEMSTAT_MUTATION_ROUNDS in the environment: the first seed, and how many captures to make of
// each. Round N of seed S is round 0 of seed S + N.
#include <sys/resource.h>

#include "core/capture/replay_view.h"
#include "daemon/poll/poller.h"
#include "tests/support/fixtures.h"
#include "tests/support/manual_clock.h"
#include "tests/support/page.h"
#include "tests/support/source_cases.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

using Random = std::mt19937_64;

constexpr std::uint64_t kMaxGrowth = 384ULL << 20;  // B of memory more than for the unchanged capture

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t peak_of_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

struct LooseFile {
  std::string path;
  std::string bytes;
  bool is_link = false;
};
using LooseCapture = std::vector<LooseFile>;

/// Everything in the archive below its one top directory, sorted.
LooseCapture unpack(const std::string& capture) {
  LooseCapture loose;
  for (ArchivedFile& file : members_of_fixture(capture)) {
    std::string path = file.header.path;
    path.erase(0, path.find('/', path.starts_with("./") ? 2 : 0) + 1);
    if (file.header.type == TarType::kLink) {
      loose.push_back({path, file.header.target, true});
    } else if (file.header.type == TarType::kFile && !path.starts_with("oracle/")) {
      loose.push_back({path, std::move(file.bytes)});
    }
  }
  std::ranges::sort(loose, {}, &LooseFile::path);
  return loose;
}

std::unique_ptr<MemoryFiles> put_together(const LooseCapture& capture) {
  auto together = std::make_unique<MemoryFiles>("mutated");
  for (const LooseFile& file : capture) {
    // A name that exists, or leads through a file: packing such a capture loses that file.
    static_cast<void>(file.is_link ? together->add_link(file.path, file.bytes) : together->add_file(file.path, file.bytes));
  }
  return together;
}

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

/// Changes one file, or two for rename and swap. Returns what it did, for people.
std::string mutate(LooseCapture& capture, Random& random) {
  LooseFile& file = capture[below(random, capture.size())];
  LooseFile& other = capture[below(random, capture.size())];
  const std::string about = file.path;
  switch (random() % 6) {
    case 0: file.bytes.resize(below(random, file.bytes.size() + 1)); return "cut " + about;
    case 1:
      for (int flips = 0; flips < 4 && !file.bytes.empty(); ++flips)
        file.bytes[below(random, file.bytes.size())] ^= static_cast<char>(1U << random() % 8);
      return "flip " + about;
    case 2:
      file.bytes.insert(below(random, file.bytes.size() + 1), 1 + random() % (64U << 10), "0x \n"[random() % 4]);
      return "grow " + about;
    case 3: std::swap(file.bytes, other.bytes); return "swap " + about + " and " + other.path;
    case 4:
      file.path = random() % 2 == 0 ? file.path + "x" : other.path + "/" + file.path.substr(file.path.rfind('/') + 1);
      return "rename " + about + " to " + file.path;
    default: other.bytes += file.bytes; return "append " + about + " to " + other.path;
  }
}

std::size_t samples_on(std::string_view page) {
  std::size_t samples = 0;
  std::string_view line;
  while (next_line(page, line)) samples += line.starts_with('#') ? 0 : 1;
  return samples;
}

/// Every poll of a capture, with all sources and all figures. If it is not a capture, there is a reason.
void poll_all(const LooseCapture& capture) {
  auto opened = ReplayKernelView::open(put_together(capture));
  if (!opened) {
    EXPECT_FALSE(to_string(opened.error()).empty());
    return;
  }
  const std::shared_ptr<ReplayKernelView> view = std::move(*opened);
  Config config;
  config.poll.timeout = std::chrono::hours(1);
  for (const SourceDescriptor* source : all_sources()) config.sources[std::string(source->name)].enabled = Switch::kOn;
  ManualClock clock;
  SelfMetrics metrics("1.2.3");
  SnapshotPool pool;
  Poller poller(view, clock, metrics, pool, config, {.is_replay = true, .everything = true});
  poller.open_sources();
  for (std::size_t poll = 0; poll < view->poll_count(); ++poll) {
    EXPECT_TRUE(view->select_poll(poll));
    clock.advance(std::chrono::seconds(10));
    poller.poll(clock.monotonic_ns());
    for (const SourceStatus& status : poller.statuses()) {
      EXPECT_TRUE(status.state != SourceState::kDown || !status.error.empty()) << status.name;
    }
    const auto snapshot = pool.current();
    if (snapshot == nullptr) continue;
    const std::string_view page = page_of(*snapshot, kFallbackFormat);
    EXPECT_EQ(problem_of(page), "");
    EXPECT_EQ(snapshot->series, samples_on(page));
  }
}

class MutatedCaptures : public testing::TestWithParam<std::string> {};

TEST_P(MutatedCaptures, ArePolledOrRefusedWithTheReason) {
  const LooseCapture whole = unpack(GetParam());
  poll_all(whole);
  const std::uint64_t before = peak_of_memory();
  const std::uint64_t seed = setting("MEMSTAT_MUTATION_SEED", 20261123);
  const std::uint64_t rounds = setting("MEMSTAT_MUTATION_ROUNDS", is_sanitized() ? 1 : 3);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    Random random(seed + round);
    LooseCapture mutated = whole;
    std::string what = "seed " + std::to_string(seed + round);
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) what += ", " + mutate(mutated, random);
    std::printf("%s\n", what.c_str());
    std::fflush(stdout);  // in case it crashes
    SCOPED_TRACE(what);
    poll_all(mutated);
  }
  EXPECT_TRUE(is_sanitized() || peak_of_memory() - before <= kMaxGrowth) << peak_of_memory() - before;
}

std::vector<std::string> all_captures() {
  std::set<std::string> names;
  for (const SourceCase& one : all_source_cases()) names.insert(one.capture);
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(All, MutatedCaptures, testing::ValuesIn(all_captures()), name_of_capture);

}  // namespace
}  // namespace memstat
