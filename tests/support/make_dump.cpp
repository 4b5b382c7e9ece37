// SPDX-License-Identifier: BSD-2-Clause
// Writes the crash dump of a made-up kernel (fake_linux_dump.h), for tests that are scripts: make_dump FILE [OPTION]... The
// same options give the same bytes: those of a Linux on x86_64 with three slab caches, unless these say otherwise:
//   owners           a fourth cache, whose objects have owners
//   freebsd          a minidump of a small FreeBSD kernel instead, and the kernel in FILE.kernel
//   pages, sheaves   how it keeps its slabs: until 5.16, since 7.0
//   arm64            of that machine
//   torn             the list of partial slabs of dentry leads nowhere
//   grown            kmalloc-64 has two slabs more
//   empty=64         with 64 GiB of memory more, which is a hole in the file
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"

int main(int argc, char** argv) {
  using namespace memstat;
  if (argc < 2) return 2;
  const std::string path = std::filesystem::absolute(argv[1]);
  std::vector<std::string_view> options(argv + 2, argv + argc);
  const auto has = [&options](std::string_view option) { return std::erase(options, option) != 0; };
  if (has("freebsd")) {
    const FakeFreeBsdDump dump(freebsd_with_slabs());
    write_text(path, dump.dump());
    write_text(path + ".kernel", dump.kernel());
    return options.empty() ? 0 : 2;
  }
  FakeKernelOptions kernel = small_kernel(has("pages")     ? SlabKernel::kPages
                                          : has("sheaves") ? SlabKernel::kSheaves
                                                           : SlabKernel::kSlabs);
  if (has("arm64")) kernel.machine = postmortem::Machine::kArm64;
  if (has("owners")) kernel.caches.push_back(tracked_cache());
  if (has("grown")) kernel.caches[1].nodes = {{.slabs = 6, .objects = 384}};
  FakeLinuxDump dump(kernel);
  if (has("torn")) dump.poke(dump.address("slab dentry 0 1") + 8, 0xdead000000000100);
  if (has("empty=64")) {
    dump.write_sparse(path, std::uint64_t{64} << 30U);
  } else {
    write_text(path, dump.elf());
  }
  return options.empty() ? 0 : 2;  // unknown ones
}
