// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/ctl/top/model.h"

#include "daemon/ctl/output/cells.h"
#include "tests/support/test.h"

namespace memstat::ctl {
namespace {

TypeRow type_of(std::string name, std::uint64_t bytes, std::uint64_t objects = 0) {
  TypeRow type;
  type.allocator = "slab";
  type.allocator_number = ALLOCATOR_SLAB;
  type.name = std::move(name);
  type.figures = MEMSTAT_FIGURE_BYTES | MEMSTAT_FIGURE_COUNT | MEMSTAT_FIGURE_FAILURES;
  type.bytes = bytes;
  type.objects = objects;
  return type;
}

Sample sample_of(std::vector<TypeRow> types, std::int64_t second = 1) {
  Sample sample;
  sample.time_ns = second * 1'000'000'000;
  sample.types = std::move(types);
  sample.memory = {.total = 1000 << 20U, .free = 250 << 20U, .unaccounted = 250 << 20U, .available = {}};
  return sample;
}

/// Names of the rows on the screen, from top to bottom.
std::vector<std::string> names(TopModel& model) {
  std::vector<std::string> found;
  bool is_row = false;
  for (const TopLine& line : model.frame(100, 30, true)) {
    const std::string name = line.text.substr(0, line.text.find(' ', 8)).substr(std::min<std::size_t>(8, line.text.size()));
    if (is_row && line.text.starts_with("slab ")) found.push_back(name);
    is_row = is_row || line.look == LineStyle::kHeading;
  }
  return found;
}

void type_keys(TopModel& model, std::string_view keys) {
  for (const char key : keys) model.press({.key = Key::kCharacter, .character = std::string(1, key)});
}

TEST(TopModel, SortsByEachKeyAndBackwards) {
  TopModel model;
  TypeRow failing = type_of("failing", 1, 1);
  failing.fails_routinely = true;
  failing.failures = 9;
  TypeRow limited = type_of("limited", 3, 30);
  limited.figures |= MEMSTAT_FIGURE_COUNTLIMIT;
  limited.limit_objects = 100;
  model.add(sample_of({type_of("big", 900, 2), type_of("many", 5, 800), failing, limited}), {});
  model.add(sample_of({type_of("big", 900, 2), type_of("many", 8, 800), failing, limited}, 2), {});
  EXPECT_THAT(names(model), ElementsAre("big", "many", "limited", "failing"));
  type_keys(model, "o");
  EXPECT_THAT(names(model), ElementsAre("many", "limited", "big", "failing"));
  type_keys(model, "g");
  EXPECT_EQ(names(model).front(), "many");
  type_keys(model, "f");
  EXPECT_EQ(names(model).front(), "failing");
  type_keys(model, "l");
  EXPECT_EQ(names(model).front(), "limited");
  type_keys(model, "n");
  EXPECT_THAT(names(model), ElementsAre("big", "failing", "limited", "many"));
  type_keys(model, "r");
  EXPECT_THAT(names(model), ElementsAre("many", "limited", "failing", "big"));
}

class TopGroups : public testing::Test {
 protected:
  TopGroups() {
    const auto group = [](std::string name, std::uint64_t bytes) {
      TypeRow type = type_of(std::move(name), bytes << 20U);
      type.allocator = "memcg";
      type.allocator_number = ALLOCATOR_MEMCG;
      type.is_container = true;
      return type;
    };
    model_.add(sample_of({group("/pods/p2/c1", 30), group("/pods", 50), group("/pods/p1", 10), group("/pods/p2", 40),
                          group("/pods/p2/c2", 9), group("/pods/p2/c2/inner", 8), group("/web", 60), type_of("dentry", 1)}),
               {});
  }
  /// The rows on the screen, from top to bottom, without their figures.
  std::vector<std::string> rows() {
    std::vector<std::string> found;
    for (const TopLine& line : model_.frame(100, 30, true)) {
      const std::string row = line.text.substr(0, line.text.find("  ", 14));
      if (row.starts_with("memcg ")) found.push_back(row.substr(8, row.find_last_not_of(' ') - 7));
    }
    return found;
  }
  TopModel model_;
};

TEST_F(TopGroups, AreATreeFoldedFromTheSecondLevelOn) {
  EXPECT_THAT(rows(), ElementsAre("/web", "/pods", "  p2 +3", "  p1"));
  model_.unfold_all();
  model_.press({.key = Key::kCharacter, .character = "b"});
  EXPECT_THAT(rows(), ElementsAre("/web", "/pods", "  p2", "    c1", "    c2", "      inner", "  p1"));
}

TEST_F(TopGroups, AreShownAndHiddenByTheArrows) {
  const auto press = [&](std::initializer_list<Key> keys) {
    for (const Key key : keys) model_.press({.key = key});
    return rows();
  };
  EXPECT_THAT(press({Key::kDown, Key::kDown, Key::kDown, Key::kRight}),
              ElementsAre("/web", "/pods", "  p2", "    c1", "    c2 +1", "  p1"));
  EXPECT_EQ(model_.selected()->name, "/pods/p2");
  EXPECT_THAT(press({Key::kRight}), ElementsAre("/web", "/pods", "  p2", "    c1", "    c2 +1", "  p1"));
  static_cast<void>(press({Key::kDown, Key::kLeft}));
  EXPECT_EQ(model_.selected()->name, "/pods/p2") << "the one above, as c1 has none below it";
  EXPECT_THAT(press({Key::kLeft}), ElementsAre("/web", "/pods", "  p2 +3", "  p1"));
  EXPECT_THAT(press({Key::kLeft, Key::kLeft}), ElementsAre("/web", "/pods +5"));
}

TEST_F(TopGroups, AreAListWithTheirPathsWhenTheyAreSearched) {
  type_keys(model_, "/c2");
  EXPECT_THAT(rows(), ElementsAre("/pods/p2/c2", "/pods/p2/c2/inner"));
}

TEST(TopModel, WhatFailsOrIsNearItsLimitIsOnTopAndContainersAreLast) {
  TypeRow container = type_of("container", 1 << 30);
  container.is_container = true;
  TypeRow near = type_of("near", 1, 85);
  near.figures |= MEMSTAT_FIGURE_COUNTLIMIT;
  near.limit_objects = 100;
  TypeRow full = near;
  full.name = "full";
  full.objects = 100;
  TypeRow fails = type_of("fails", 1);
  TopModel model;
  model.add(sample_of({container, type_of("big", 1 << 20), near, fails, full}), {});
  EXPECT_THAT(names(model), ElementsAre("full", "near", "big", "fails", "container"));
  fails.failures = 1;
  model.add(sample_of({container, type_of("big", 1 << 20), near, fails, full}, 2), {});
  EXPECT_THAT(names(model), ElementsAre("fails", "full", "near", "big", "container"));
  std::vector<LineStyle> looks;
  for (const TopLine& line : model.frame(80, 20, true)) looks.push_back(line.look);
  EXPECT_THAT(looks, testing::IsSupersetOf(
                         {LineStyle::kCritical, LineStyle::kCritical, LineStyle::kWarning, LineStyle::kContainer}));
}

TEST(TopModel, AFailureFromBeforeLeadsNoOrder) {
  TypeRow old = type_of("old", 1, 1);
  old.failures = 7;
  TopModel model;
  model.add(sample_of({type_of("big", 1 << 20, 2), old}), {});
  for (const char* key : {"b", "o", "g", "n"}) {
    type_keys(model, key);
    EXPECT_THAT(names(model), ElementsAre("big", "old")) << key;
  }
  type_keys(model, "!");
  EXPECT_THAT(names(model), ElementsAre("old")) << "its key selects it";
}

TEST(TopModel, HasWhatSlabtopHas) {
  TypeRow slab = type_of("dentry", 192 * 30, 30);
  slab.figures |= MEMSTAT_FIGURE_FREE | MEMSTAT_FIGURE_HELD_BYTES | MEMSTAT_FIGURE_SIZE;
  slab.free = 10;
  slab.held = 8192;
  slab.object_size = 192;
  slab.also = {"other_cache"};
  TopModel model;
  model.add(sample_of({type_of("big", 1 << 20), slab}), {});
  for (const char* key : {"m", "u", "s"}) {
    type_keys(model, key);
    EXPECT_EQ(names(model).front(), "dentry") << key;
  }
  const std::string row = model.frame(80, 24, true)[5].text;
  for (const char* cell : {"slab", "dentry", "5.6K", "8.0K", "75%", "192", "30"}) EXPECT_THAT(row, HasSubstr(cell));
  EXPECT_EQ(model.press({.key = Key::kEnter}), TopAction::kReadSplits);
  std::string screen;
  for (const TopLine& line : model.frame(80, 24, true)) screen += line.text + "\n";
  for (const char* part : {"8.0K  (8192 bytes)", "75 % of the objects", "other_cache", "directory"}) {
    EXPECT_THAT(screen, HasSubstr(part));
  }
}

TEST(TopModel, FiltersByAllocatorPausesAndHasAHostColumn) {
  TypeRow other = type_of("other", 1);
  other.allocator = "socket";
  other.allocator_number = ALLOCATOR_SOCKET;
  TypeRow twin = type_of("a", 2);
  twin.host = "db2";
  TopModel model;
  model.add(sample_of({type_of("a", 3), twin, other}), {});
  EXPECT_THAT(model.frame(100, 24, true)[4].text, HasSubstr("HOST"));
  type_keys(model, "a");
  EXPECT_THAT(model.frame(100, 24, true)[3].text, HasSubstr("slab only  2 types"));
  type_keys(model, "a");
  EXPECT_THAT(model.frame(100, 24, true)[3].text, HasSubstr("socket only  1 type,"));
  type_keys(model, "a");
  EXPECT_THAT(model.frame(100, 24, true)[3].text, testing::StartsWith("3 types"));
  EXPECT_FALSE(model.is_paused());
  type_keys(model, "p");
  EXPECT_TRUE(model.is_paused());
  EXPECT_THAT(model.frame(100, 24, true)[3].text, testing::StartsWith("PAUSED"));
  EXPECT_EQ(model.press({.key = Key::kCharacter, .character = "+"}), TopAction::kSlower);
  EXPECT_EQ(model.press({.key = Key::kCharacter, .character = "-"}), TopAction::kFaster);
}

TEST(TopModel, GrowthIsOfTheSamplesThatItTook) {
  TopModel model;
  model.add(sample_of({type_of("a", 1000)}, 10), {});
  EXPECT_THAT(model.frame(100, 10, true)[4].text, HasSubstr(" - ")) << "one sample has no growth";
  model.add(sample_of({type_of("a", 1000 + 10 * 2048)}, 20), {});
  EXPECT_THAT(model.frame(100, 10, true)[4].text, HasSubstr("+2.0K"));
  model.add(sample_of({type_of("a", 0)}, 20), {});  // the same poll again
  EXPECT_THAT(model.frame(100, 10, true)[4].text, HasSubstr("+2.0K"));
}

TEST(TopModel, FiltersAsOneTypes) {
  TopModel model;
  model.add(sample_of({type_of("dentry", 3), type_of("inode_cache", 2), type_of("Inodes", 1)}), {});
  type_keys(model, "/ino");
  EXPECT_THAT(names(model), ElementsAre("inode_cache", "Inodes"));
  type_keys(model, "q");
  EXPECT_TRUE(names(model).empty()) << "q is a letter here";
  model.press({.key = Key::kBackspace});
  model.press({.key = Key::kEnter});
  EXPECT_THAT(names(model), ElementsAre("inode_cache", "Inodes"));
  model.press({.key = Key::kEscape});
  EXPECT_EQ(names(model).size(), 3U);
}

TEST(TopModel, TheSelectionStaysWithItsType) {
  TopModel model;
  model.add(sample_of({type_of("a", 3), type_of("b", 2), type_of("c", 1)}), {});
  EXPECT_EQ(model.selected()->name, "a");
  model.press({.key = Key::kDown});
  EXPECT_EQ(model.selected()->name, "b");
  model.add(sample_of({type_of("a", 3), type_of("b", 0), type_of("c", 1)}, 2), {});
  EXPECT_EQ(model.selected()->name, "b");
  for (int i = 0; i < 9; ++i) model.press({.key = Key::kPageDown});
  EXPECT_EQ(model.selected()->name, "b") << "the last one now";
  model.add(sample_of({type_of("a", 3)}, 3), {});
  EXPECT_EQ(model.selected()->name, "a") << "b is gone";
}

TEST(TopModel, TheMostUrgentFindingIsAboveTheTypes) {
  TopModel model;
  TopModel::Heading heading;
  const auto urgent_line = [&] {
    model.add(sample_of({type_of("a", 1000)}), heading);
    const auto lines = model.frame(80, 24, true);
    const auto found =
        std::find_if(lines.begin(), lines.end(), [](const TopLine& line) { return line.look == LineStyle::kCritical; });
    return found == lines.end() ? std::string() : found->text;
  };
  EXPECT_EQ(urgent_line(), "");
  heading.finding = Finding{.cause = "ptys_full", .severity = Severity::kNow, .headline = "Terminals\x1B are gone"};
  EXPECT_EQ(urgent_line().substr(0, 14), "now: Terminals");
  heading.finding->headline = std::string(100, 'x');
  EXPECT_EQ(urgent_line(), "now: " + std::string(74, 'x') + "\u2026") << "marks that it is truncated";
  heading.finding->severity = Severity::kNotable;
  EXPECT_EQ(urgent_line(), "") << "no alarm";
}

TEST(TopModel, EveryScreenFitsAndKeepsTheSelectionOnIt) {
  std::vector<TypeRow> types;
  for (int i = 0; i < 300; ++i) {
    types.push_back(
        type_of("\xE6\xB1\x89" + std::string(static_cast<std::size_t>(i % 60), 'x') + "\x1B[2J" + std::to_string(i), 1000));
  }
  TopModel model;
  TopModel::Heading heading;
  heading.machine = {.host = "h\x1B[2J", .os = "linux", .release = std::string(300, 'r'), .machine = {}, .replay = {}};
  model.add(sample_of(types), heading);
  for (std::size_t width : {0U, 1U, 2U, 10U, 39U, 40U, 79U, 80U, 200U}) {
    for (std::size_t height : {0U, 1U, 2U, 5U, 10U, 24U, 400U}) {
      for (const std::string_view keys : {"", "h", "c", "n", "q", "/", "zz"}) {
        type_keys(model, keys);
        model.press({.key = Key::kPageDown});
        const auto lines = model.frame(width, height, true);
        EXPECT_LE(lines.size(), height);
        for (const TopLine& line : lines) {
          EXPECT_LE(width_of(line.text), width) << line.text;
          EXPECT_EQ(line.text.find('\x1B'), std::string::npos);
        }
      }
      model.press({.key = Key::kEscape});
      model.press({.key = Key::kEscape});
      model.press({.key = Key::kEscape});
      if (height < 10 || width < 40) continue;
      const auto lines = model.frame(width, height, true);
      EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const TopLine& line) { return line.is_selected; }), 1);
    }
  }
}

TEST(TopModel, ALongerTrendGetsTheRoomOfAWideScreenAndNotTheNames) {
  TopModel model;
  for (std::int64_t second = 1; second <= 70; ++second) model.add(sample_of({type_of("dentry", 1000)}, second), {});
  const auto row_of = [&](std::size_t width) {
    for (const TopLine& line : model.frame(width, 20, false)) {
      if (line.text.starts_with("slab ")) return line.text;
    }
    return std::string();
  };
  EXPECT_THAT(row_of(80), testing::MatchesRegex("slab    dentry +1000 [^_]*")) << "no room for a trend";
  EXPECT_THAT(row_of(120), testing::MatchesRegex("slab    dentry {10,11} +1000 .* _+ +0%"));
  const std::string wide = row_of(200);
  EXPECT_THAT(wide, HasSubstr(" " + std::string(TopModel::kTrendSamples, '_') + " "));
  EXPECT_EQ(wide.find(std::string(20, ' ')), std::string::npos) << "a gap: " << wide;
}

TEST(TopParts, SparklineAndBarHaveTheirWidths) {
  EXPECT_EQ(sparkline({}, 5, true), "");
  EXPECT_EQ(sparkline({0, 7, 14}, 5, false), "_=#");
  EXPECT_EQ(sparkline({5, 5, 5}, 2, false), "__");
  EXPECT_EQ(sparkline({1000, 1010, 1000}, 3, false), "_._") << "1 % is not a cliff";
  const MachineMemory memory{.total = 100, .free = 25, .unaccounted = 25, .available = {}};
  EXPECT_EQ(memory_bar(memory, 10), "[####??  ]");
  EXPECT_EQ(memory_bar({.total = 100, .free = 200, .unaccounted = -5, .available = {}}, 6), "[    ]");
  EXPECT_EQ(memory_bar({}, 10), "");
}

}  // namespace
}  // namespace memstat::ctl
