// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/negotiation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/header_lists.h"
#include "tests/support/negotiation_cases.h"

namespace memstat {
namespace {

ExpositionFormat answer(const NegotiationCase<ExpositionFormat>&, std::string_view header) {
  return negotiate_format(header);
}
ContentCoding answer(const NegotiationCase<ContentCoding>&, std::string_view header) { return negotiate_coding(header); }
ExpositionFormat answer(const NegotiationCase<ExpositionFormat>&, const std::vector<HttpHeader>& lines) {
  return negotiate_format(lines);
}
ContentCoding answer(const NegotiationCase<ContentCoding>&, const std::vector<HttpHeader>& lines) {
  return negotiate_coding(lines);
}
std::string_view header_name(const NegotiationCase<ExpositionFormat>&) { return "aCCept"; }
std::string_view header_name(const NegotiationCase<ContentCoding>&) { return "accept-Encoding"; }

/// Calls `body` with each row of both tables.
template <typename Body>
void for_each_case(Body body) {
  for (const auto& row : kAcceptCases) {
    SCOPED_TRACE(testing::Message() << row.name << ": " << row.header);
    body(row);
  }
  for (const auto& row : kAcceptEncodingCases) {
    SCOPED_TRACE(testing::Message() << row.name << ": " << row.header);
    body(row);
  }
}

TEST(Negotiation, AnswersEachCaseOfTheTable) {
  for_each_case([](const auto& row) { EXPECT_EQ(answer(row, row.header), row.wanted); });
}

TEST(Negotiation, HasACaseForEachAnswerAndNoNameTwice) {
  std::set<std::string_view> names;
  std::set<int> formats;
  std::set<int> codings;
  for (const auto& row : kAcceptCases) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    formats.insert(static_cast<int>(row.wanted));
  }
  names.clear();
  for (const auto& row : kAcceptEncodingCases) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    codings.insert(static_cast<int>(row.wanted));
  }
  EXPECT_EQ(formats.size(), 3U);
  EXPECT_EQ(codings.size(), 2U);
}

TEST(Negotiation, DoesNotDependOnBlanksAndEmptyElementsAroundCommas) {
  for_each_case([](const auto& row) {
    for (const std::string_view separator : {",", " ,", ", ", "\t , \t", ", ,,"}) {
      EXPECT_EQ(answer(row, list_with_separator(row.header, separator)), row.wanted) << separator;
    }
  });
}

TEST(Negotiation, DoesNotDependOnHowTheListIsCutInLinesNorOnTheirOrder) {
  for_each_case([](const auto& row) {
    std::vector<std::string> elements = list_elements(row.header);
    for (int order = 0; order < 2; ++order) {
      std::vector<HttpHeader> lines = {{"Host", "gzip"}, {"Accept-Charset", "application/openmetrics-text, identity"}};
      for (const std::string& element : elements) lines.push_back({header_name(row), element});
      lines.push_back({"Acceptance", "*/*, *"});
      EXPECT_EQ(answer(row, lines), row.wanted);
      std::ranges::reverse(elements);
    }
  });
}

TEST(Negotiation, OfARequestWithoutTheHeaderIsTextUncompressed) {
  const std::vector<HttpHeader> lines = {{"Host", "localhost"}, {"X-Accept", "application/openmetrics-text"}};
  EXPECT_EQ(negotiate_format(lines), ExpositionFormat::kText);
  EXPECT_EQ(negotiate_coding(lines), ContentCoding::kIdentity);
  EXPECT_EQ(negotiate_format(std::vector<HttpHeader>{}), ExpositionFormat::kText);
  EXPECT_EQ(negotiate_coding(std::vector<HttpHeader>{}), ContentCoding::kIdentity);
}

TEST(Negotiation, TakesEachPartOfAHeaderWithoutReadingBeyondIt) {
  for_each_case([](const auto& row) {
    for (std::size_t size = 0; size <= row.header.size(); ++size) {
      // A block of just that size, so that the address sanitizer sees a byte too much.
      const std::unique_ptr<char[]> exact(new char[size]);
      std::copy_n(row.header.data(), size, exact.get());
      const auto got = answer(row, std::string_view(exact.get(), size));
      EXPECT_LT(static_cast<int>(got), 3);
      if (size == row.header.size()) {
        EXPECT_EQ(got, row.wanted);
      }
    }
  });
}

TEST(Negotiation, ReadsToTheEndOfAMegabyteOfAnything) {
  const auto repeated = [](std::string_view text) {
    std::string all;
    while (all.size() < 1'000'000) all += text;
    return all;
  };
  const std::string_view wanted_format = ",application/openmetrics-text;version=1.0.0;q=0.5";
  const std::string_view wanted_coding = ",gzip;q=0.5";
  // Each leaves nothing open; what they say is malformed or about other things.
  for (const std::string_view junk : {",", " ", "\t, ", "a/b,", "x", "text/html;", "text/html;a=b;", "a/b;c=\"\\\"\",",
                                      "\"\\\\,\"", "=", ";", "/", "a/b;q=2,", "br;q=0,", "\x01", "*/b,"}) {
    SCOPED_TRACE(junk);
    EXPECT_EQ(negotiate_format(repeated(junk).append(wanted_format)), ExpositionFormat::kOpenMetrics);
    EXPECT_EQ(negotiate_coding(repeated(junk).append(wanted_coding)), ContentCoding::kGzip);
  }
  const std::string quoted = "a/b;c=\"" + repeated(",;\\\"") + "\"";
  EXPECT_EQ(negotiate_format(quoted + std::string(wanted_format)), ExpositionFormat::kOpenMetrics);
}

TEST(ExpositionFormatNames, AreWhatANegotiationAsksFor) {
  for (const auto format : {ExpositionFormat::kText, ExpositionFormat::kOpenMetrics, ExpositionFormat::kProtobuf}) {
    EXPECT_EQ(negotiate_format(content_type(format)), format) << content_type(format);
    const std::string with_others = "text/plain;q=0.5,*/*;q=0.6," + std::string(content_type(format));
    EXPECT_EQ(negotiate_format(with_others), format) << with_others;
  }
}

}  // namespace
}  // namespace memstat
