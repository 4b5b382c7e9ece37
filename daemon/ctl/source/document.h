// SPDX-License-Identifier: BSD-2-Clause
// Access to untrusted JSON: members that are missing or have the wrong type are unknown.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstat::ctl {

using Document = nlohmann::json;

/// Parses a document. Discards it if it is not JSON, is nested deeper than memstatd's documents, or has more values
/// than 20 000 types need.
inline Document parsed_document(std::string_view json) {
  constexpr int kMaxDepth = 8;
  constexpr std::size_t kMaxValues = 4'000'000;
  std::size_t values = 0;
  bool is_refused = false;
  const auto check = [&](int depth, Document::parse_event_t event, const Document&) {
    const bool is_end = event == Document::parse_event_t::object_end || event == Document::parse_event_t::array_end;
    values += is_end ? 0 : 1;
    is_refused = is_refused || depth > kMaxDepth || values > kMaxValues;
    return !is_refused;
  };
  Document document = Document::parse(json.begin(), json.end(), check, false);
  return is_refused || !document.is_object() ? Document(Document::value_t::discarded) : document;
}

/// The list with this key; nullptr if there is none.
inline const Document* list_of(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

/// Calls `visit` for each member of the list with the right type.
template <typename Visit>
void each_of(const Document& object, const char* key, Document::value_t kind, Visit visit) {
  const Document* const list = list_of(object, key);
  if (list == nullptr) return;
  for (const Document& one : *list) {
    if (one.type() == kind) visit(one);
  }
}

inline std::string text_of(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

inline std::vector<std::string> texts_of(const Document& object, const char* key) {
  std::vector<std::string> texts;
  each_of(object, key, Document::value_t::string, [&](const Document& one) { texts.push_back(one.get<std::string>()); });
  return texts;
}

/// Below 2^63, like all figures.
inline std::optional<std::uint64_t> amount_of(const Document& value) {
  if (!value.is_number_unsigned()) return {};
  const auto number = value.get<std::uint64_t>();
  return number >> 63U == 0 ? std::optional(number) : std::nullopt;
}
inline std::optional<std::uint64_t> amount_of(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? std::nullopt : amount_of(*found);
}

inline std::optional<double> number_of(const Document& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return {};
  const double number = found->get<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

inline bool is_true(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

}  // namespace memstat::ctl
