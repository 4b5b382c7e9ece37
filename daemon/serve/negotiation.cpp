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

constexpr int kAnyType = 1;
constexpr int kAnySubtype = 2;
constexpr int kNamed = 16;  // plus the weights of parameters

/// Specificity with which a range names `media`, ignoring parameters; 0: not at all.
int type_specificity(std::string_view type, std::string_view subtype, const MediaType& media) {
  const bool any_subtype = subtype == "*";
  if (type == "*") return any_subtype ? kAnyType : 0;
  if (!equals_ignoring_case(type, media.type)) return 0;
  if (any_subtype) return kAnySubtype;
  return equals_ignoring_case(subtype, media.subtype) ? kNamed : 0;
}

/// How an entry of Accept matches a format.
struct Match {
  const MediaType* media = nullptr;
  int specificity = 0;  // 0: not at all
  unsigned named = 0;   // bit set of the parameters that the entry names

  /// A parameter with another value than ours excludes the format.
  void add_parameter(std::string_view name, const Value& value) {
    for (std::size_t i = 0; i < media->parameters.size(); ++i) {
      const MediaParameter& ours = media->parameters[i];
      if (!equals_ignoring_case(name, ours.name)) continue;
      const bool is_older = !ours.older.empty() && value.is(ours.older, ours.ignores_case);
      if (!is_older && !value.is(ours.value, ours.ignores_case)) specificity = 0;
      if (specificity >= kNamed && (named >> i & 1U) == 0) specificity += ours.weight;
      named |= 1U << i;
    }
  }
  /// A format that needs a special reader is never chosen through a wildcard.
  [[nodiscard]] int whole_specificity() const {
    for (std::size_t i = 0; i < media->parameters.size(); ++i) {
      if (media->parameters[i].is_required && (specificity < kNamed || (named >> i & 1U) == 0)) return 0;
    }
    return specificity;
  }
};

/// Order at equal q.
int preference(ExpositionFormat format, int specificity) {
  const int rank = static_cast<int>(format);
  return specificity >= kNamed ? 100 + rank : 10 * specificity - rank;
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
    std::array<Match, kExpositionFormatCount> matches;
    std::optional<int> quality;
    const std::string_view type = scanner.token();
    if (!type.empty() && scanner.take('/')) {
      const std::string_view subtype = scanner.token();
      for (const ExpositionFormat format : kExpositionFormats) {
        const MediaType& media = descriptor_of(format).media;
        matches[static_cast<std::size_t>(format)] = {.media = &media, .specificity = type_specificity(type, subtype, media)};
      }
      if (!subtype.empty()) {
        quality = read_parameters(scanner, [&matches](std::string_view name, const Value& value) {
          for (Match& match : matches) match.add_parameter(name, value);
          return true;
        });
      }
    }
    if (!quality) {
      scanner.skip_element();
      continue;
    }
    for (std::size_t i = 0; i < matches.size(); ++i) {
      const int specificity = matches[i].whole_specificity();
      Offer& offer = offers_[i];
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

ExpositionFormat negotiate_format(std::span<const HttpHeader> headers) {
  return negotiate<AcceptedFormats>(headers, "accept");
}
ContentCoding negotiate_coding(std::span<const HttpHeader> headers) {
  return negotiate<AcceptedCodings>(headers, "accept-encoding");
}

namespace {

/// Whether a request with `If-None-Match` already has this entity.
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

}  // namespace

HttpResponse revalidated(const HttpRequest& request, std::string etag) {
  HttpResponse response;
  response.cache_control = "no-cache";
  if (has_entity(request, etag)) response.status = 304;
  response.headers.emplace_back("ETag", std::move(etag));
  response.headers.emplace_back("Vary", "Accept-Encoding");
  return response;
}

}  // namespace memstat
