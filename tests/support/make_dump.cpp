// SPDX-License-Identifier: BSD-2-Clause
// Writes the crash dump of a made-up kernel (fake_linux_dump.h), for tests that are scripts. The same options give
// the same bytes.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/support/fake_freebsd_dump.h"
#include "tests/support/fake_linux_dump.h"
#include "tests/support/fixtures.h"

namespace memstat {
namespace {

constexpr const char* kUsage =
    "usage: make_dump FILE [OPTION]...\n"
    "\n"
    "Writes an ELF dump of a small Linux kernel with three slab caches.\n"
    "  owners                a fourth, whose objects have owners\n"
    "  freebsd               a minidump of a small FreeBSD kernel instead, and the kernel in FILE.kernel\n"
    "  pages|slabs|sheaves   how it keeps its slabs: until 5.16, until 6.17, since 7.0 (slabs)\n"
    "  arm64                 of that machine instead of x86_64\n"
    "  torn                  the list of partial slabs of dentry leads nowhere\n"
    "  grown                 kmalloc-64 has two slabs more\n"
    "  empty=GIB             with that much memory more, which is a hole in the file\n";

struct Arguments {
  FakeKernelOptions kernel = small_kernel();
  bool is_torn = false;
  bool is_freebsd = false;
  std::uint64_t empty_bytes = 0;
};

bool take(std::string_view option, Arguments& arguments) {
  constexpr std::string_view kEmpty = "empty=";
  if (option == "freebsd")
    arguments.is_freebsd = true;
  else if (option == "pages")
    arguments.kernel = small_kernel(SlabKernel::kPages);
  else if (option == "slabs")
    arguments.kernel = small_kernel(SlabKernel::kSlabs);
  else if (option == "sheaves")
    arguments.kernel = small_kernel(SlabKernel::kSheaves);
  else if (option == "arm64")
    arguments.kernel.machine = postmortem::Machine::kArm64;
  else if (option == "owners")
    arguments.kernel.caches.push_back(tracked_cache());
  else if (option == "torn")
    arguments.is_torn = true;
  else if (option == "grown")
    arguments.kernel.caches[1].nodes = {{.slabs = 6, .objects = 384}};
  else if (option.starts_with(kEmpty))
    arguments.empty_bytes = std::stoull(std::string(option.substr(kEmpty.size()))) << 30U;
  else
    return false;
  return true;
}

int run(int argc, char** argv) {
  Arguments arguments;
  bool is_usage = argc < 2;
  for (int i = 2; i < argc && !is_usage; ++i) is_usage = !take(argv[i], arguments);
  if (is_usage) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string path = std::filesystem::absolute(argv[1]);
  if (arguments.is_freebsd) {
    const FakeFreeBsdDump freebsd(freebsd_with_slabs());
    write_text(path, freebsd.dump());
    write_text(path + ".kernel", freebsd.kernel());
    return 0;
  }
  FakeLinuxDump dump(arguments.kernel);
  if (arguments.is_torn) dump.poke(dump.address("slab dentry 0 1") + 8, 0xdead000000000100);
  if (arguments.empty_bytes == 0) {
    write_text(path, dump.elf());
  } else {
    dump.write_sparse(path, arguments.empty_bytes);
  }
  return 0;
}

}  // namespace
}  // namespace memstat

int main(int argc, char** argv) {
  try {
    return memstat::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_dump: %s\n", error.what());
    return 1;
  }
}
