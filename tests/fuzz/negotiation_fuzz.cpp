// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any lines as Accept and Accept-Encoding. Aborts if an equivalent header changes the answer, or if an
// unambiguous last entry does not. A quadratic reader would exceed the time limit at 64 KiB.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "daemon/serve/negotiation.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/header_lists.h"

namespace memstat {
namespace {

using Lines = std::vector<std::string>;

template <typename Accepted>
auto answer(const Lines& lines) {
  Accepted accepted;
  for (const std::string& line : lines) {
    // A block of exactly that size, so that the address sanitizer detects a byte too many.
    const std::unique_ptr<char[]> exact(new char[line.size()]);
    std::copy(line.begin(), line.end(), exact.get());
    accepted.add({exact.get(), line.size()});
  }
  return accepted.choose();
}

template <typename Accepted>
void require_same_in_other_words(const Lines& lines) {
  const auto wanted = answer<Accepted>(lines);
  Lines reversed = lines;
  std::ranges::reverse(reversed);
  MEMSTAT_FUZZ_REQUIRE(answer<Accepted>(reversed) == wanted);

  Lines spaced;
  Lines elements;
  for (const std::string& line : lines) {
    spaced.push_back(list_with_separator(line, " ,,\t, "));
    for (std::string& element : list_elements(line)) elements.push_back(std::move(element));
  }
  MEMSTAT_FUZZ_REQUIRE(answer<Accepted>(spaced) == wanted);
  MEMSTAT_FUZZ_REQUIRE(answer<Accepted>(elements) == wanted);
  std::ranges::reverse(elements);
  MEMSTAT_FUZZ_REQUIRE(answer<Accepted>(elements) == wanted);
}

}  // namespace
}  // namespace memstat

void memstat::fuzz(std::string_view bytes) {
  Lines lines(1);
  for (const char c : bytes) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  require_same_in_other_words<AcceptedFormats>(lines);
  require_same_in_other_words<AcceptedCodings>(lines);

  Lines upper = lines;
  for (std::string& line : upper) {
    for (char& c : line) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  MEMSTAT_FUZZ_REQUIRE(answer<AcceptedCodings>(upper) == answer<AcceptedCodings>(lines));

  lines.emplace_back(descriptor_of(ExpositionFormat::kProtobuf).content_type);
  MEMSTAT_FUZZ_REQUIRE(answer<AcceptedFormats>(lines) == ExpositionFormat::kProtobuf);
  lines.back() = "x-gzip;q=0";
  MEMSTAT_FUZZ_REQUIRE(answer<AcceptedCodings>(lines) == ContentCoding::kIdentity);
}
