// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/negotiation.h"

#include "tests/support/fixtures.h"
#include "tests/support/header_lists.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// A line of fixtures/negotiation.txt.
struct NegotiationCase {
  std::string wanted;  ///< A format, or a coding.
  std::string name;
  std::string header;

  [[nodiscard]] bool is_coding() const { return wanted == "gzip" || wanted == "identity"; }
};

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (text[++i] == 'x') {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == 't' ? '\t' : text[i];
    }
  }
  return out;
}

std::vector<NegotiationCase> read_cases() {
  constexpr std::string_view kSeparator = " | ";
  std::vector<NegotiationCase> cases;
  std::ifstream file(fixture_path("negotiation.txt"));
  for (std::string line; std::getline(file, line);) {
    const std::size_t name = line.find(kSeparator);
    const std::size_t header = line.find(" |", name + 1);
    if (line.starts_with('#') || name == std::string::npos) continue;
    const std::size_t value = std::min(header + kSeparator.size(), line.size());  // an empty one has no blank before it
    cases.push_back({line.substr(0, name), line.substr(name + 3, header - name - 3), without_escapes(line.substr(value))});
  }
  return cases;
}

std::string_view word_of(ExpositionFormat format) {
  return format == ExpositionFormat::kText ? "text" : format == ExpositionFormat::kProtobuf ? "protobuf" : "openmetrics";
}

// The choice for a single line.
ExpositionFormat negotiate_format(std::string_view accept) {
  return memstat::negotiate_format(std::vector<HttpHeader>{{"accept", accept}});
}
ContentCoding negotiate_coding(std::string_view accept) {
  return memstat::negotiate_coding(std::vector<HttpHeader>{{"accept-encoding", accept}});
}

/// The answer to a header, or to all headers of a request.
template <typename Header>
std::string_view answer(const NegotiationCase& row, const Header& header) {
  if (!row.is_coding()) return word_of(negotiate_format(header));
  return negotiate_coding(header) == ContentCoding::kGzip ? "gzip" : "identity";
}

template <typename Body>
void for_each_case(Body body) {
  for (const NegotiationCase& row : read_cases()) {
    SCOPED_TRACE(testing::Message() << row.name << ": " << row.header);
    body(row);
  }
}

TEST(Negotiation, AnswersEachCaseOfTheTable) {
  for_each_case([](const NegotiationCase& row) { EXPECT_EQ(answer(row, row.header), row.wanted); });
}

TEST(Negotiation, DoesNotDependOnBlanksAndEmptyElementsAroundCommas) {
  for_each_case([](const NegotiationCase& row) {
    for (const std::string_view separator : {",", " ,", ", ", "\t , \t", ", ,,"}) {
      EXPECT_EQ(answer(row, list_with_separator(row.header, separator)), row.wanted) << separator;
    }
  });
}

TEST(Negotiation, DoesNotDependOnHowTheListIsCutInLinesNorOnTheirOrder) {
  for_each_case([](const NegotiationCase& row) {
    std::vector<std::string> elements = list_elements(row.header);
    for (int order = 0; order < 2; ++order) {
      std::vector<HttpHeader> lines = {{"Host", "gzip"}, {"Accept-Charset", "application/openmetrics-text, identity"}};
      for (const std::string& element : elements) lines.push_back({row.is_coding() ? "accept-Encoding" : "aCCept", element});
      lines.push_back({"Acceptance", "*/*, *"});
      EXPECT_EQ(answer(row, lines), row.wanted);
      std::ranges::reverse(elements);
    }
  });
}

TEST(Negotiation, TakesEachPartOfAHeaderWithoutReadingBeyondIt) {
  for_each_case([](const NegotiationCase& row) {
    for (std::size_t size = 0; size <= row.header.size(); ++size) {
      // A block of exactly that size, so that the address sanitizer detects a byte too many.
      const std::unique_ptr<char[]> exact(new char[size]);
      std::copy_n(row.header.data(), size, exact.get());
      const std::string_view got = answer(row, std::string_view(exact.get(), size));
      if (size == row.header.size()) {
        EXPECT_EQ(got, row.wanted);
      }
    }
  });
}

TEST(ExpositionFormatNames, AreWhatANegotiationAsksFor) {
  for (const auto format : {ExpositionFormat::kText, ExpositionFormat::kOpenMetrics, ExpositionFormat::kProtobuf}) {
    EXPECT_EQ(negotiate_format(descriptor_of(format).content_type), format) << descriptor_of(format).content_type;
    const std::string with_others = "text/plain;q=0.5,*/*;q=0.6," + std::string(descriptor_of(format).content_type);
    EXPECT_EQ(negotiate_format(with_others), format) << with_others;
  }
}

}  // namespace
}  // namespace memstat
