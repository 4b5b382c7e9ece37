// SPDX-License-Identifier: BSD-2-Clause
// Event tables: the text of every capture is the same after packing and unpacking, and its source reads both alike.
#include "core/events/table/table.h"

#include "core/events/caches/slab_caches_rows.h"
#include "core/events/malloc/malloc_rows.h"
#include "core/events/sites/caller_table.h"
#include "core/events/slab/slab_rows.h"
#include "core/events/vm/vm_rows.h"
#include "core/query.h"
#include "tests/support/fixtures.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/table_text.h"
#include "tests/support/test.h"

namespace memstat::events {
namespace {

constexpr std::array kFormats{&kSlabTable, &kVmTable, &kSiteTable, &kSlabCachesTable, &kMallocTable};

/// The rows of a text, after its version, packed.
void pack(const TableFormat& format, std::string_view text, Buffer& out) {
  TableReader reader(format, text);
  ASSERT_TRUE(reader.take_head());
  TableWriter rows(format, out);
  const auto read = reader.take_rest([&rows](const TableRow& row) {
    const auto& names = row.name;
    switch (row.name_count) {
      case 0: rows.add(row.word, row.numbers()); break;
      case 1: rows.add(row.word, row.numbers(), {names[0]}); break;
      case 2: rows.add(row.word, row.numbers(), {names[0], names[1]}); break;
      default: rows.add(row.word, row.numbers(), {names[0], names[1], names[2], names[3]});
    }
    return true;
  });
  ASSERT_TRUE(read) << to_string(read.error());
}

TEST(EventTable, OfACaptureIsTheSamePackedAndAsText) {
  std::size_t count = 0;
  for (const TableFormat* format : kFormats) {
    for (const std::string& capture : captures_of_source(std::string(format->source))) {
      for (const ArchivedFile& file : members_of_fixture(capture)) {
        if (!file.header.path.ends_with("/source/" + std::string(format->source))) continue;
        SCOPED_TRACE(file.header.path);
        ++count;
        Buffer packed;
        pack(*format, file.bytes, packed);
        EXPECT_EQ(text_of(*format, packed), file.bytes);
        Buffer text(file.bytes);
        EXPECT_EQ(text_of(*format, text), file.bytes) << "text stays unchanged";
        if (format == &kMallocTable) continue;  // its source also needs the names of types
        SourceReader of_text(*find_source(format->source));
        SourceReader of_rows(*find_source(format->source));
        for (SourceReader* reader : {&of_text, &of_rows}) {
          reader->raw.cpu_count = 4;
          reader->raw.page_size = 4096;
          reader->raw.parts[0].assign(reader == &of_text ? text.view() : packed.view());
          const auto parsed = parse_source(*reader);
          ASSERT_TRUE(parsed) << to_string(parsed.error());
        }
        EXPECT_EQ(statistics_of(of_rows.staging), statistics_of(of_text.staging));
        ASSERT_EQ(of_rows.staging.types().size(), of_text.staging.types().size());
        for (std::size_t i = 0; i < of_rows.staging.types().size(); ++i) {
          const StagedType& a = of_rows.staging.types()[i];
          const StagedType& b = of_text.staging.types()[i];
          ASSERT_EQ(a.name, b.name);
          for (std::size_t field = 0; field < kFieldCount; ++field) {
            EXPECT_EQ(a.figures[static_cast<Field>(field)], b.figures[static_cast<Field>(field)]) << a.name;
          }
        }
        EXPECT_LT(packed.size(), 20 * file.bytes.size()) << "rows are packed";
      }
    }
  }
  EXPECT_GE(count, 12U);
}

TEST(EventTable, CutAnywhereIsAnErrorOrEndsEarlier) {
  Buffer packed;
  TableWriter rows(kSlabTable, packed);
  rows.add("kmalloc_frees", {1});
  rows.add("type", {64}, {"kmalloc-64"});
  rows.add("event", {1, 2}, {"kmalloc"});
  std::size_t whole = 0;
  for (std::size_t size = 1; size <= packed.size(); ++size) {
    TableReader reader(kSlabTable, packed.view().substr(0, size));
    ASSERT_TRUE(reader.take_head());
    std::size_t taken = 0;
    const auto read = reader.take_rest([&taken](const TableRow&) { return ++taken > 0; });
    if (read) ++whole;
    EXPECT_LE(taken, 3U);
  }
  EXPECT_EQ(whole, 4U) << "behind the mark and behind each of the three rows";
}

TEST(EventTable, KeepsLineFeedsOfNamesOutOfTheText) {
  Buffer packed;
  TableWriter rows(kSlabTable, packed);
  rows.add("type", {64}, {"two\nlines and blanks"});
  EXPECT_EQ(text_of(kSlabTable, packed), "slab_events 1\ntype 64 two?lines and blanks\nend\n");
}

/// A line that fits, with fields instead of the row's own.
std::string line_of(const RowFormat& row, std::string_view fields) {
  std::string line(row.word);
  for (const char field : fields) line += field == 'n' ? " 7" : field == '*' ? " 8 9" : field == 'T' ? "\ta b" : " a";
  return line;
}

TEST(EventTable, RowsThatDoNotFitTheirFormatAreWrong) {
  for (const TableFormat* const format : kFormats) {
    const std::string version = std::string(format->version) + "\n";
    const auto read = [&](const std::string& lines) {
      TableReader reader(*format, lines);
      EXPECT_TRUE(reader.take_head());
      return reader.take_rest([](const TableRow&) { return true; });
    };
    const auto expect_wrong = [&](const std::string& line) {
      EXPECT_TRUE(fails(read(version + line + "\nend\n"), {.code = ErrorCode::kData, .offset = version.size()})) << line;
    };
    std::string all = version;
    for (const RowFormat& row : format->rows) {
      std::string fields(row.fields);
      std::erase(fields, '?');
      const std::string good = line_of(row, fields);
      all += good + "\n";
      if (fields.find_first_of("t*") == std::string::npos) expect_wrong(good + (fields.back() == 'T' ? "\tb" : " 7"));
      fields.resize(std::min(row.fields.find_first_of("?*"), row.fields.size()));
      expect_wrong(line_of(row, fields.substr(0, fields.size() - 1)));
      if (fields.back() == 'T' || fields.back() == 't') {
        expect_wrong(line_of(row, fields.substr(0, fields.size() - 1)) + (fields.back() == 'T' ? "\t" : " "));
      }
      const std::string line = line_of(row, fields);
      for (std::size_t at = 0; (at = line.find('7', at)) != std::string::npos; ++at) {
        for (const char* const number : {"x", "-1", "18446744073709551616"})
          expect_wrong(std::string(line).replace(at, 1, number));
      }
    }
    for (const char* const line : {"", "unknown 1"}) expect_wrong(line);
    EXPECT_TRUE(fails(read(all + "end\nmore\n"), {.offset = all.size() + 4}));
    all += "end\n";
    for (std::size_t size = version.size(); size + 1 < all.size(); ++size) EXPECT_FALSE(read(all.substr(0, size))) << size;
    EXPECT_TRUE(read(all));
  }
}

}  // namespace
}  // namespace memstat::events
