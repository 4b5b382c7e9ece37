// SPDX-License-Identifier: BSD-2-Clause
// Programs that the kernel runs with our own arguments (BPF_PROG_TEST_RUN), attached to nothing: for cases that this
// machine's kernel does not produce on demand.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "core/events/attach/bpf_kernel.h"

namespace memstat::events {

constexpr std::uint64_t kAnyNode = ~std::uint64_t{0};
constexpr std::uint64_t kFakeCache = 0xffff8880deadb000;  // no such object: its name cannot be read
constexpr std::uint64_t kFakeObject = 0xffff8880deadc000;
constexpr std::uint64_t kFakeSite = 0xffffffff81000000;

class LoadedPrograms : public testing::Test {
 protected:
  /// For SetUp, as its last step: skips the test if the kernel does not load the programs, or cannot run them for tests.
  void load(std::span<const unsigned char> elf) {
    const auto types = TypesFile::make();
    if (!types) GTEST_SKIP() << to_string(types.error());
    auto object = open_programs(elf, *types);
    ASSERT_TRUE(object) << to_string(object.error());
    object_ = *std::move(object);
    if (const int error = load_with_types(object_.get(), *types); error != 0) {
      GTEST_SKIP() << "the kernel does not load these programs: " << to_string(refused("BPF_PROG_LOAD", error));
    }
    run("on_kmem_cache_alloc", {0, 0, 0});  // no cache: nothing is counted
    if (is_refused_) GTEST_SKIP() << "this kernel does not run such programs for tests (before 5.10)";
  }
  /// Runs a program on CPU 0, for which alone it has a row here.
  void run(const char* program, std::array<std::uint64_t, 6> arguments) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.ctx_in = arguments.data();
    options.ctx_size_in = sizeof arguments;
    options.flags = BPF_F_TEST_RUN_ON_CPU;
    is_refused_ =
        bpf_prog_test_run_opts(bpf_program__fd(bpf_object__find_program_by_name(object_.get(), program)), &options) != 0;
  }
  int map(const char* name) { return bpf_map__fd(bpf_object__find_map_by_name(object_.get(), name)); }
  /// Copies the first element of a map.
  void fetch(const char* name, void* element) {
    constexpr __u32 kFirst = 0;
    ASSERT_EQ(bpf_map_lookup_elem(map(name), &kFirst, element), 0);
  }
  void put(const char* name, const void* element) {
    constexpr __u32 kFirst = 0;
    ASSERT_EQ(bpf_map_update_elem(map(name), &kFirst, element, BPF_ANY), 0);
  }

  ObjectPointer object_;
  bool is_refused_ = false;
};

}  // namespace memstat::events
