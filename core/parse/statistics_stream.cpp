// SPDX-License-Identifier: BSD-2-Clause
#include "core/parse/statistics_stream.h"

#include <string>

#include "core/base/text.h"

namespace memstat {
namespace {

constexpr std::size_t kNameSize = 32;
constexpr std::uint32_t kMaxCpuSlots = 65536;  // far above any kernel's limit; prevents overflow of the products

Error version_error(std::string_view name, std::size_t offset, const std::string& detail) {
  return data_error(name, offset, detail, ErrorCode::kVersion);
}

}  // namespace

Result<StatisticsStream> StatisticsStream::open(std::string_view name, std::string_view bytes, std::size_t record_header) {
  if (bytes.empty()) return data_error(name, 0, "the stream is empty");
  if (bytes.size() < kHeaderSize) return version_error(name, bytes.size(), "ends within its header of 16 bytes");
  if (const auto version = load<std::uint32_t>(bytes, 0); version != 1) {
    return version_error(name, 0, "version " + std::to_string(version) + ", but only version 1 is known");
  }
  StatisticsStream stream;
  stream.name_ = name;
  stream.bytes_ = bytes;
  stream.record_header_ = record_header;
  stream.cpu_slots_ = load<std::uint32_t>(bytes, 4);
  stream.count_ = load<std::uint32_t>(bytes, 8);
  if (stream.cpu_slots_ == 0 || stream.cpu_slots_ > kMaxCpuSlots) {
    return data_error(name, 4, "has slots for " + std::to_string(stream.cpu_slots_) + " CPUs");
  }
  if (stream.count_ == 0) return data_error(name, 8, "has no records");
  if (const std::size_t whole = (bytes.size() - kHeaderSize) / stream.record_size(); whole < stream.count_) {
    return data_error(name, bytes.size(),
                      "ends within record " + std::to_string(whole) + " of " + std::to_string(stream.count_) + " with " +
                          std::to_string(stream.cpu_slots_) + " CPU slots each");
  }
  return stream;
}

Result<std::string_view> StatisticsStream::record_name(std::size_t index) const {
  const std::string_view field = bytes_.substr(record(index), kNameSize);
  const std::size_t length = field.find('\0');
  if (length == std::string_view::npos) return data_error(name_, record(index), "a name of 32 bytes without its NUL");
  return field.substr(0, length);
}

}  // namespace memstat
