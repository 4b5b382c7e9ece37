// SPDX-License-Identifier: BSD-2-Clause
#include "core/postmortem/linux/free_list.h"

namespace memstat::postmortem {

std::string walk_free_list(KernelImage& image, const FreeListFormat& format, std::uint64_t object, std::uint64_t most,
                           const std::function<bool(std::uint64_t)>& visit) {
  for (std::uint64_t count = 0; object != 0 && count < most; ++count) {
    const std::uint64_t at = object + format.offset;
    const auto next = object < kFirstKernelAddress ? Result<std::uint64_t>(Error{}) : image.read_number<std::uint64_t>(at);
    if (!next) return "a list of free objects leads to " + hex(object);
    if (!visit(object)) break;
    object = format.random ? *next ^ *format.random ^ __builtin_bswap64(at) : *next;
  }
  return {};
}

}  // namespace memstat::postmortem
