// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer target: any bytes as each of the files of linux_page, beside good ones for what the others need.
#include "tests/fuzz/fuzz_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memstat;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  constexpr std::string_view kPages =
      "\n pages free 90\n min 1\n low 2\n high 3\n present 100\n managed 95\n protection: (0)\n numa_hit 5\n cpu: 0\n "
      "count: 4\n "
      "start_pfn: 1\n";
  std::string zones;
  for (const char* zone : {"Node 0, zone DMA", "Node 0, zone DMA32", "Node 0, zone Normal", "Node 1, zone Normal"}) {
    zones += zone;
    zones += kPages;
  }
  for (std::size_t part = 0; part < RawBytes::kPartCount; ++part) {
    SourceReader reader(*find_source("linux_page"));
    reader.raw.page_size = 4096;
    reader.raw.cpu_count = 4;
    reader.raw.parts[0].assign(zones);
    reader.raw.parts[part].assign(bytes);
    fuzz_commit(reader);
  }
  return 0;
}
