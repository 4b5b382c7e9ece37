// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/freebsd/streams.h"

namespace memstat::postmortem {
namespace {

constexpr std::size_t kStreamHeaderBytes = 16;
constexpr std::uint32_t kStreamVersion = 1;

}  // namespace

StreamBytes::StreamBytes(std::uint32_t cpu_slots, std::size_t record_header)
    : cpu_slots_(cpu_slots), record_header_(record_header), bytes_(kStreamHeaderBytes, '\0') {
  put(0, kStreamVersion);
  put(4, cpu_slots);
}

bool StreamBytes::add(std::string_view name) {
  const std::size_t size = record_header_ + kBlockBytes * cpu_slots_;
  if (count_ == kMaxRecords || size > kMaxBytes - bytes_.size()) return false;
  record_ = bytes_.size();
  bytes_.resize(record_ + size);
  name.substr(0, kNameBytes - 1).copy(bytes_.data() + record_, kNameBytes - 1);
  ++count_;
  return true;
}

std::string StreamBytes::take() {
  std::memcpy(bytes_.data() + 8, &count_, sizeof count_);
  return std::move(bytes_);
}

}  // namespace memstat::postmortem
