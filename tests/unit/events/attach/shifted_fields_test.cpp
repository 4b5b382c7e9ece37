// SPDX-License-Identifier: BSD-2-Clause
// Kernels whose structs have other fields, and whose tracepoints have other arguments: types made by the test.
#if defined(MEMSTAT_HAVE_LIBBPF)

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/events/attach/bpf_kernel.h"
#include "core/events/attach/embedded_programs.h"
#include "core/events/bpf/vm_layout.h"
#include "tests/support/fixtures.h"

namespace memstat::events {
namespace {

/// Types of a kernel that does not exist.
class MadeTypes {
 public:
  MadeTypes() : types_(btf__new_empty()) {
    char_ = btf__add_int(types_.get(), "char", 1, BTF_INT_CHAR);
    long_ = btf__add_int(types_.get(), "long unsigned int", 8, 0);
    pointer_ = btf__add_ptr(types_.get(), 0);
  }
  [[nodiscard]] const btf& get() const { return *types_; }

  void add_function(const char* name, const std::vector<const char*>& parameters) {
    const int prototype = btf__add_func_proto(types_.get(), 0);
    for (const char* parameter : parameters) btf__add_func_param(types_.get(), parameter, long_);
    btf__add_func(types_.get(), name, BTF_FUNC_STATIC, prototype);
  }
  void add_struct(const char* name, const char* member, int member_type, std::uint32_t offset, std::uint32_t size) {
    struct_ = btf__add_struct(types_.get(), name, size);
    btf__add_field(types_.get(), member, member_type, offset * 8, 0);
  }
  [[nodiscard]] int text_of(std::uint32_t size) { return btf__add_array(types_.get(), long_, char_, size); }
  /// A raw tracepoint; the first argument points to the struct that was added last, if one was.
  void add_tracepoint(const std::string& name, int arguments) {
    const int first = struct_ > 0 ? btf__add_ptr(types_.get(), struct_) : long_;
    const int prototype = btf__add_func_proto(types_.get(), 0);
    btf__add_func_param(types_.get(), "__data", pointer_);
    for (int i = 0; i < arguments; ++i) btf__add_func_param(types_.get(), "argument", i == 0 ? first : long_);
    const int pointer = btf__add_ptr(types_.get(), prototype);
    btf__add_typedef(types_.get(), ("btf_trace_" + name).c_str(), pointer);
  }

 private:
  BtfPointer types_;
  int char_ = 0;
  int long_ = 0;
  int pointer_ = 0;
  int struct_ = 0;
};

TEST(ShiftedFields, ArgumentsOfATracepointAreCounted) {
  MadeTypes types;
  types.add_tracepoint("percpu_alloc_percpu", 7);  // as before 5.19
  types.add_tracepoint("mm_page_free", 2);
  EXPECT_EQ(arguments_of(types.get(), "percpu_alloc_percpu"), 7);
  EXPECT_EQ(arguments_of(types.get(), "mm_page_free"), 2);
  EXPECT_EQ(arguments_of(types.get(), "mm_page_alloc"), -1);
  MadeTypes later;
  later.add_tracepoint("percpu_alloc_percpu", 11);
  EXPECT_EQ(arguments_of(later.get(), "percpu_alloc_percpu"), 11);
}

TEST(ShiftedFields, AnArgumentIsAStructOrANumber) {
  MadeTypes with_task;
  with_task.add_struct("task_struct", "comm", with_task.text_of(16), 40, 64);
  with_task.add_tracepoint("mark_victim", 2);
  EXPECT_TRUE(points_to(with_task.get(), "mark_victim", 0, "task_struct"));
  EXPECT_FALSE(points_to(with_task.get(), "mark_victim", 0, "kmem_cache"));
  EXPECT_FALSE(points_to(with_task.get(), "mark_victim", 1, "task_struct")) << "a number";
  EXPECT_FALSE(points_to(with_task.get(), "mark_victim", 2, "task_struct")) << "there is none";
  MadeTypes with_number;  // before 6.8 it was the number of the process
  with_number.add_tracepoint("mark_victim", 1);
  EXPECT_FALSE(points_to(with_number.get(), "mark_victim", 0, "task_struct"));
}

TEST(ShiftedFields, AParameterMoves) {
  MadeTypes before;
  before.add_function("do_brk_flags", {"addr", "len", "flags", "uf"});
  MadeTypes after;
  after.add_function("do_brk_flags", {"vmi", "vma", "addr", "len", "flags"});
  EXPECT_FALSE(has_parameter(before.get(), "do_brk_flags", 3, "len"));
  EXPECT_TRUE(has_parameter(before.get(), "do_brk_flags", 1, "len"));
  EXPECT_TRUE(has_parameter(after.get(), "do_brk_flags", 3, "len"));
  EXPECT_FALSE(has_parameter(after.get(), "do_brk_flags", 5, "len"));
  EXPECT_FALSE(has_parameter(after.get(), "brk", 0, "len"));
}

TEST(ShiftedFields, AMemberComesAndGoes) {
  MadeTypes types;
  types.add_struct("kmem_cache", "name", types.text_of(8), 8, 16);
  EXPECT_TRUE(has_member(types.get(), "kmem_cache", "name"));
  EXPECT_FALSE(has_member(types.get(), "kmem_cache", "cpu_slab"));
  EXPECT_FALSE(has_member(types.get(), "slab", "name"));
}

}  // namespace
}  // namespace memstat::events

#endif
