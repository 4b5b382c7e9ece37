// SPDX-License-Identifier: BSD-2-Clause
#if defined(MEMSTAT_HAVE_LIBBPF)

#include "core/events/attach/kernel_types.h"

#include <gtest/gtest.h>

#include <string>

#include "core/events/attach/bpf_kernel.h"

namespace memstat::events {
namespace {

/// Types as a kernel has them: wanted ones, what these consist of or point to, and others. Returns their bytes.
std::string made_types() {
  const BtfPointer types(btf__new_empty());
  const int number = btf__add_int(types.get(), "int", 4, BTF_INT_SIGNED);
  btf__add_struct(types.get(), "other", 4);
  btf__add_field(types.get(), "unused", number, 0, 0);
  const int inner = btf__add_struct(types.get(), "inner", 4);
  btf__add_field(types.get(), "count", number, 0, 0);
  const int target = btf__add_struct(types.get(), "target", 4);
  btf__add_field(types.get(), "hidden", number, 0, 0);
  const int pointer = btf__add_ptr(types.get(), btf__add_const(types.get(), target));
  btf__add_struct(types.get(), "wanted", 24);
  btf__add_field(types.get(), "inner", inner, 0, 0);
  btf__add_field(types.get(), "pointer", pointer, 64, 0);
  btf__add_field(types.get(), "list", btf__add_array(types.get(), number, inner, 2), 128, 0);
  const int prototype = btf__add_func_proto(types.get(), 0);
  btf__add_func_param(types.get(), "context", btf__add_ptr(types.get(), 0));
  // libbpf adds parameters to the last type only, so the pointer of the next one was made before
  const int event = btf__add_func_proto(types.get(), 0);
  btf__add_func_param(types.get(), "context", pointer);
  btf__add_func_param(types.get(), "object", pointer);
  btf__add_typedef(types.get(), "btf_trace_event", btf__add_ptr(types.get(), event));
  btf__add_func(types.get(), "other_function", BTF_FUNC_STATIC, prototype);
  btf__add_func(types.get(), "function", BTF_FUNC_STATIC, event);
  btf__add_enum(types.get(), nullptr, 4);
  btf__add_enum_value(types.get(), "OTHER", 1);
  btf__add_enum_value(types.get(), "FLAG", 7);
  __u32 size = 0;
  const void* const bytes = btf__raw_data(types.get(), &size);
  return {static_cast<const char*>(bytes), size};
}

const TypeNames kNames{"wanted", "function", "FLAG"};

TEST(PartOfTypes, HasWhatIsNamedAndWhatThatConsistsOf) {
  const std::string bytes = made_types();
  const auto part = part_of_types(bytes, kNames);
  ASSERT_TRUE(part) << to_string(part.error());
  const BtfPointer whole(btf__new(bytes.data(), static_cast<__u32>(bytes.size())));
  const BtfPointer types(btf__new(part->bytes.data(), static_cast<__u32>(part->bytes.size())));
  ASSERT_TRUE(whole && types);
  EXPECT_TRUE(has_member(*types, "wanted", "pointer"));
  EXPECT_TRUE(has_member(*types, "inner", "count"));
  EXPECT_FALSE(has_member(*types, "target", "hidden")) << "only pointed to";
  EXPECT_LT(btf__find_by_name(types.get(), "other"), 0);
  EXPECT_TRUE(has_function(*types, "function"));
  EXPECT_FALSE(has_function(*types, "other_function"));
  EXPECT_TRUE(has_parameter(*types, "function", 1, "object"));
  EXPECT_EQ(arguments_of(*types, "event"), 1);
  EXPECT_TRUE(points_to(*types, "event", 0, "target"));
  EXPECT_EQ(gfp_flag(*types, "FLAG", 0), 1U << 7U);
  ASSERT_EQ(part->kernel_numbers.size(), btf__type_cnt(types.get()));
  for (__u32 number = 1; number < btf__type_cnt(types.get()); ++number) {
    const btf_type* const mine = btf__type_by_id(types.get(), number);
    const btf_type* const kernels = btf__type_by_id(whole.get(), part->kernel_numbers[number]);
    EXPECT_EQ(btf_kind(mine), btf_kind(kernels));
    EXPECT_STREQ(btf__name_by_offset(types.get(), mine->name_off), btf__name_by_offset(whole.get(), kernels->name_off));
    EXPECT_EQ(btf__resolve_size(types.get(), number), btf__resolve_size(whole.get(), part->kernel_numbers[number]));
  }
}

TEST(PartOfTypes, RefusesWhatIsCutOffOrDamaged) {
  const std::string bytes = made_types();
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(part_of_types(bytes.substr(0, size), kNames)) << size;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const char byte : {'\0', '\x1f', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = byte;
      (void)part_of_types(damaged, kNames);  // an error or another part; it stays within its bytes
    }
  }
}

}  // namespace
}  // namespace memstat::events

#endif
