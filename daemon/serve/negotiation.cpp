// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/serve/negotiation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/ascii.h"
#include "core/base/text.h"
#include "daemon/http/rules.h"

namespace memstat {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The value of a parameter: a token, or the content of a quoted string, including escapes.
struct Value {
  std::string_view raw;
  bool quoted = false;

  /// Compares the unescaped value with `wanted`. With `fold` the case is ignored and `wanted` must be lower case.
  [[nodiscard]] bool is(std::string_view wanted, bool fold = false) const {
    std::size_t matched = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (quoted && raw[i] == '\\') ++i;  // the scanner ensured that a byte follows
      const char c = fold ? ascii_lower(raw[i]) : raw[i];
      if (matched == wanted.size() || c != wanted[matched++]) return false;
    }
    return matched == wanted.size();
  }
};

/// Scans a list of elements forward. Every byte is examined at most twice.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Skips blanks and empty elements. False at the end.
  bool next_element() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == ',')) ++at_;
    return at_ < text_.size();
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  [[nodiscard]] bool at_element_end() const { return at_ == text_.size() || text_[at_] == ','; }
  [[nodiscard]] bool at_parameter_end() const { return at_element_end() || text_[at_] == ';'; }

  /// Empty if there is none.
  std::string_view token() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_token_char(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::optional<Value> value() {
    if (take('"')) return quoted_rest();
    const std::string_view text = token();
    if (text.empty()) return {};
    return Value{text, false};
  }

  /// Skips a malformed element. Commas inside quotes do not end it.
  void skip_element() {
    while (!at_element_end()) {
      if (take('"')) {
        (void)quoted_rest();
      } else {
        ++at_;
      }
    }
  }

 private:
  /// Reads the rest of a quoted string. Nothing if the closing quote is missing or a control character is inside.
  std::optional<Value> quoted_rest() {
    const std::size_t begin = at_;
    bool good = true;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        const Value value{text_.substr(begin, at_ - begin), true};
        ++at_;
        return good ? std::optional(value) : std::nullopt;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      const auto byte = static_cast<unsigned char>(text_[at_]);
      good = good && (byte >= 0x20 || byte == '\t') && byte != 0x7F;
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A weight in thousandths: 0 to 1 with at most three decimals. Nothing for anything else.
std::optional<int> parse_quality(const Value& value) {
  const std::string_view text = value.raw;
  if (value.quoted || text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return {};
  if (text.size() > 1 && text[1] != '.') return {};
  int quality = text[0] == '1' ? 1000 : 0;
  int unit = 100;
  for (const char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (digit < '0' || digit > '9') return {};
    quality += unit * (digit - '0');
    unit /= 10;
  }
  if (quality > 1000) return {};
  return quality;
}

/// Reads the parameters of an element and passes all except q to `other`, which returns false for an invalid one. Returns
/// the weight (1000 without q), or nothing if the element is malformed.
template <typename Other>
std::optional<int> read_parameters(Scanner& scanner, Other other) {
  std::optional<int> quality;
  for (;;) {
    scanner.skip_blanks();
    if (scanner.at_element_end()) return quality.value_or(1000);
    if (!scanner.take(';')) return {};
    scanner.skip_blanks();
    if (scanner.at_parameter_end()) continue;  // RFC 9110 permits empty parameters
    const std::string_view name = scanner.token();
    if (name.empty() || !scanner.take('=')) return {};
    const std::optional<Value> value = scanner.value();
    if (!value) return {};
    if (equals_ignoring_case(name, "q")) {
      if (quality) return {};
      quality = parse_quality(*value);
      if (!quality) return {};
    } else if (!other(name, *value)) {
      return {};
    }
  }
}

/// The relation of an entry's parameter to ours.
enum class ParameterMatch : std::uint8_t { kNothing, kOurs, kOlder, kOther };

/// A parameter with two different meanings matches nothing.
void note(ParameterMatch& match, ParameterMatch now) {
  match = match == ParameterMatch::kNothing || match == now ? now : ParameterMatch::kOther;
}

/// An entry of Accept: its type, and how its parameters match those of each format.
struct MediaRange {
  std::string_view type;
  std::string_view subtype;
  std::array<std::array<ParameterMatch, kMaxMediaParameters>, kExpositionFormatCount> matches{};

  void note_parameter(std::string_view name, const Value& value) {
    for (std::size_t format = 0; format < matches.size(); ++format) {
      const auto parameters = descriptor_of(static_cast<ExpositionFormat>(format)).media.parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const MediaParameter& ours = parameters[i];
        if (!equals_ignoring_case(name, ours.name)) continue;
        const bool is_older = !ours.older.empty() && value.is(ours.older, ours.ignores_case);
        note(matches[format][i], value.is(ours.value, ours.ignores_case) ? ParameterMatch::kOurs
                                 : is_older                              ? ParameterMatch::kOlder
                                                                         : ParameterMatch::kOther);
      }
    }
  }
};

constexpr int kAnyType = 1;
constexpr int kAnySubtype = 2;
constexpr int kNamed = 16;  // plus the weights of parameters

/// Specificity with which the range names `type/subtype`, ignoring parameters; 0: not at all.
int type_specificity(const MediaRange& range, std::string_view type, std::string_view subtype) {
  const bool any_subtype = range.subtype == "*";
  if (range.type == "*") return any_subtype ? kAnyType : 0;
  if (!equals_ignoring_case(range.type, type)) return 0;
  if (any_subtype) return kAnySubtype;
  return equals_ignoring_case(range.subtype, subtype) ? kNamed : 0;
}

/// The same for a format, with its parameters. A format that needs a special reader is never chosen through a wildcard.
int specificity_for(const MediaRange& range, ExpositionFormat format) {
  const MediaType& media = descriptor_of(format).media;
  int specificity = type_specificity(range, media.type, media.subtype);
  if (specificity == 0) return 0;
  const bool is_named = specificity >= kNamed;
  for (std::size_t i = 0; i < media.parameters.size(); ++i) {
    const MediaParameter& parameter = media.parameters[i];
    const ParameterMatch match = range.matches[static_cast<std::size_t>(format)][i];
    if (match == ParameterMatch::kOther || (parameter.is_required && (!is_named || match != ParameterMatch::kOurs)))
      return 0;
    if (!is_named) continue;
    if (match == ParameterMatch::kOurs) specificity += parameter.weight;
    if (match == ParameterMatch::kOlder) specificity += parameter.older_weight;
  }
  return specificity;
}

/// Order at equal q.
int preference(ExpositionFormat format, int specificity) {
  const int rank = static_cast<int>(format);
  return specificity >= kNamed ? 100 + rank : 10 * specificity - rank;
}

template <typename Accepted>
auto negotiate(std::string_view line) {
  Accepted accepted;
  accepted.add(line);
  return accepted.choose();
}

template <typename Accepted>
auto negotiate(std::span<const HttpHeader> headers, std::string_view name) {
  Accepted accepted;
  for (const HttpHeader& header : headers) {
    if (equals_ignoring_case(header.name, name)) accepted.add(header.value);
  }
  return accepted.choose();
}

}  // namespace

void AcceptedFormats::add(std::string_view line) {
  Scanner scanner(line);
  while (scanner.next_element()) {
    MediaRange range;
    range.type = scanner.token();
    std::optional<int> quality;
    if (!range.type.empty() && scanner.take('/')) {
      range.subtype = scanner.token();
      if (!range.subtype.empty()) {
        quality = read_parameters(scanner, [&range](std::string_view name, const Value& value) {
          range.note_parameter(name, value);
          return true;
        });
      }
    }
    if (!quality) {
      scanner.skip_element();
      continue;
    }
    for (const ExpositionFormat format : kExpositionFormats) {
      Offer& offer = offers_[static_cast<std::size_t>(format)];
      const int specificity = specificity_for(range, format);
      if (specificity == 0 || specificity < offer.specificity) continue;
      offer.quality = specificity > offer.specificity ? *quality : std::max(offer.quality, *quality);
      offer.specificity = specificity;
    }
  }
}

ExpositionFormat AcceptedFormats::choose() const {
  ExpositionFormat best = kFallbackFormat;
  int best_quality = 0;
  int best_preference = 0;
  for (const ExpositionFormat format : kExpositionFormats) {
    const Offer& offer = offers_[static_cast<std::size_t>(format)];
    if (offer.quality == 0 || offer.quality < best_quality) continue;
    const int preferred = preference(format, offer.specificity);
    if (offer.quality == best_quality && preferred <= best_preference) continue;
    best = format;
    best_quality = offer.quality;
    best_preference = preferred;
  }
  return best;
}

void AcceptedCodings::add(std::string_view line) {
  Scanner scanner(line);
  while (scanner.next_element()) {
    const std::string_view name = scanner.token();
    std::optional<int> quality;
    // The only parameter of a coding is its weight.
    if (!name.empty()) quality = read_parameters(scanner, [](std::string_view, const Value&) { return false; });
    if (!quality) {
      scanner.skip_element();
      continue;
    }
    int* known = nullptr;
    if (name == "*") known = &any_;
    if (equals_ignoring_case(name, "identity")) known = &identity_;
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) known = &gzip_;
    if (known != nullptr) *known = *known == kNotNamed ? *quality : std::min(*known, *quality);
  }
}

ContentCoding AcceptedCodings::choose() const {
  const int others = any_ == kNotNamed ? 0 : any_;
  const int gzip = gzip_ == kNotNamed ? others : gzip_;
  const int identity = identity_ == kNotNamed ? others : identity_;
  return gzip > 0 && gzip >= identity ? ContentCoding::kGzip : ContentCoding::kIdentity;
}

ExpositionFormat negotiate_format(std::string_view accept) { return negotiate<AcceptedFormats>(accept); }
ExpositionFormat negotiate_format(std::span<const HttpHeader> headers) {
  return negotiate<AcceptedFormats>(headers, "accept");
}
ContentCoding negotiate_coding(std::string_view accept_encoding) { return negotiate<AcceptedCodings>(accept_encoding); }
ContentCoding negotiate_coding(std::span<const HttpHeader> headers) {
  return negotiate<AcceptedCodings>(headers, "accept-encoding");
}

bool has_entity(const HttpRequest& request, std::string_view etag) {
  const auto header = request.header("If-None-Match");
  if (!header) return false;
  for (std::string_view left = *header; !left.empty();) {
    std::string_view one = left.substr(0, left.find(','));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    one = trim(one);
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == etag.substr(etag.starts_with("W/") ? 2 : 0)) return true;
  }
  return false;
}

HttpResponse revalidated(const HttpRequest& request, std::string etag) {
  HttpResponse response;
  response.cache_control = "no-cache";
  if (has_entity(request, etag)) response.status = 304;
  response.headers.emplace_back("ETag", std::move(etag));
  response.headers.emplace_back("Vary", "Accept-Encoding");
  return response;
}

}  // namespace memstat
