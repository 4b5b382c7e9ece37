// SPDX-License-Identifier: BSD-2-Clause
// Kernels whose structs have fields at other offsets, and whose tracepoints have other arguments: types made by the test,
// and programs adapted to them.
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
  void write_to(const std::string& file) const {
    __u32 size = 0;
    const void* const bytes = btf__raw_data(types_.get(), &size);
    std::ofstream(file, std::ios::binary).write(static_cast<const char*>(bytes), size);
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

/// The offset of the command's name in this machine's struct task_struct.
std::optional<std::uint32_t> offset_of_command() {
  const auto types = kernel_types();
  const int id = types ? btf__find_by_name_kind(types->get(), "task_struct", BTF_KIND_STRUCT) : -1;
  if (id < 0) return std::nullopt;
  const btf_type* const type = btf__type_by_id(types->get(), static_cast<__u32>(id));
  for (__u16 i = 0; i < btf_vlen(type); ++i) {
    if (std::string_view(btf__name_by_offset(types->get(), btf_members(type)[i].name_off)) == "comm") {
      return btf_member_bit_offset(type, i) / 8;
    }
  }
  return std::nullopt;
}

/// The kernel's first task, which is called swapper; 0: this machine does not reveal its address.
std::uint64_t address_of_first_task() {
  std::ifstream symbols("/proc/kallsyms");
  for (std::string line; std::getline(symbols, line);) {
    if (!line.ends_with(" init_task")) continue;
    return std::stoull(line, nullptr, 16);
  }
  return 0;
}

class LiveShiftedFields : public testing::Test {
 protected:
  /// The name of the first task, read at the offset in these types.
  std::string name_of_first_task(const std::string& types, std::uint64_t task) {
    libbpf_set_print(nullptr);
    LIBBPF_OPTS(bpf_object_open_opts, how, .btf_custom_path = types.c_str());
    const auto elf = vm_events();
    ObjectPointer object(bpf_object__open_mem(elf.data(), elf.size(), &how));
    if (!object) return "not opened: " + std::string(std::strerror(errno));
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) bpf_program__set_autoload(program, false);
    program = bpf_object__find_program_by_name(object.get(), "on_mark_victim");
    bpf_program__set_autoload(program, true);
    if (const int error = bpf_object__load(object.get()); error != 0) {
      is_refused_ = error == -EPERM || error == -EACCES;
      return "not loaded: " + std::string(std::strerror(-error));
    }
    std::array<std::uint64_t, 6> arguments{task};
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.ctx_in = arguments.data();
    options.ctx_size_in = sizeof arguments;
    if (bpf_prog_test_run_opts(bpf_program__fd(program), &options) != 0) {
      is_refused_ = true;
      return "not run: " + std::string(std::strerror(errno));
    }
    const auto shared = std::make_unique<memstat_vm_shared>();
    constexpr __u32 kFirst = 0;
    bpf_map_lookup_elem(bpf_map__fd(bpf_object__find_map_by_name(object.get(), ".bss")), &kFirst, shared.get());
    return shared->victims.names[0].name;
  }

  bool is_refused_ = false;
};

TEST_F(LiveShiftedFields, AreReadWhereTheTypesOfTheKernelHaveThem) {
  const auto offset = offset_of_command();
  const std::uint64_t task = address_of_first_task();
  if (!offset) GTEST_SKIP() << "this kernel has no types (BTF) that can be read";
  if (task == 0) GTEST_SKIP() << "/proc/kallsyms does not show where init_task is: that needs root and CONFIG_KALLSYMS_ALL";
  const TemporaryDirectory directory;
  const std::string whole = "swapper";
  for (const std::uint32_t shift : {0U, 1U, 4U}) {
    MadeTypes types;
    types.add_struct("task_struct", "comm", types.text_of(16), *offset + shift, *offset + 64);
    const std::string file = directory.file("types" + std::to_string(shift));
    types.write_to(file);
    const std::string name = name_of_first_task(file, task);
    if (is_refused_) GTEST_SKIP() << name;
    EXPECT_EQ(name.substr(0, whole.size() - shift), whole.substr(shift)) << name;
  }
}

}  // namespace
}  // namespace memstat::events

#endif
