// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include "tests/support/slab_kernel.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

/// "cache=directory", "cache=" for one without.
std::string directories_of(KernelView& view) {
  Buffer scratch;
  const auto directories = find_slab_directories(view, scratch);
  if (!directories) return to_string(directories.error());
  std::string words;
  for (const SlabDirectory& cache : *directories) words += (words.empty() ? "" : "; ") + cache.cache + "=" + cache.directory;
  return words;
}

TEST(SlabDirectories, AreThoseOfTheNamesThatSlabinfoLists) {
  SlabKernel kernel;
  kernel.add("dentry", {}, 192);
  kernel.list("kmalloc-64");
  kernel.add_directory(":0000064", {});
  kernel.links = {{"kmalloc-64", ":0000064"}, {"an_alias", ":0000064"}, {"other", "elsewhere"}};
  EXPECT_EQ(directories_of(kernel), "dentry=dentry; kmalloc-64=kmalloc-64") << "an alias is not a cache";
}

TEST(SlabDirectories, AreNoneWhereTheNameLeadsToAnotherCache) {
  SlabKernel kernel;
  kernel.list("foo", 64);
  kernel.list("bar", 128);
  kernel.list("baz", 64);
  kernel.add_directory(":0000064", {}, 64);
  kernel.add_directory(":0000128", {}, 128);
  // A cache that was merged into foo came after bar, and had its name.
  kernel.links = {{"foo", ":0000064"}, {"bar", ":0000064"}, {"baz", ":a-0000064"}};
  EXPECT_EQ(directories_of(kernel), "foo=foo; bar=; baz=");
}

TEST(SlabDirectories, AreNoneWhereTwoNamesLeadToOneOrTwoCachesHaveOneName) {
  SlabKernel kernel;
  for (const char* cache : {"one", "two", "twice", "twice", "alone"}) kernel.list(cache);
  kernel.add_directory(":0000064", {});
  kernel.add_directory(":A-0000064", {});
  kernel.add_directory("alone", {});
  kernel.links = {{"one", ":0000064"}, {"two", ":0000064"}, {"twice", ":A-0000064"}};
  EXPECT_EQ(directories_of(kernel), "one=; two=; twice=; twice=; alone=alone");
}

TEST(SlabDirectories, TakeAnyNameThatAFileCanHave) {
  SlabKernel kernel;
  const std::string longest(255, 'n');
  const std::string longer(4096, 'n');
  for (const std::string& cache : {std::string("two words"), std::string("3 4 5"), std::string("q\"uo'te\\"),
                                   std::string("\xFF\xFE"), std::string("a : b"), longest, longer, std::string("."),
                                   std::string(".."), std::string("nul\0nul", 7), std::string("../dentry")}) {
    kernel.list(cache);
    kernel.add_directory(cache, {});
  }
  kernel.add_directory("nul", {});
  EXPECT_EQ(directories_of(kernel),
            "two words=two words; 3 4 5=3 4 5; q\"uo'te\\=q\"uo'te\\; \xFF\xFE=\xFF\xFE; a : b=a : b; " + longest + "=" +
                longest + "; " + longer + "=; .=; ..=; " + std::string("nul\0nul", 7) + "=; ../dentry=");
}

TEST(SlabDirectories, AreNoneThatAreGoneAndFailWhereTheyCannotBeRead) {
  SlabKernel kernel;
  kernel.list("gone");
  kernel.add("there", {});
  EXPECT_EQ(directories_of(kernel), "gone=; there=there");
  kernel.failures["/sys/kernel/slab/there/slab_size"] = EACCES;
  EXPECT_NE(directories_of(kernel).find("/sys/kernel/slab/there/slab_size: Permission denied"), std::string::npos);
  kernel.failures = {{"/proc/slabinfo", EACCES}};
  EXPECT_NE(directories_of(kernel).find("/proc/slabinfo: Permission denied"), std::string::npos);
}

}  // namespace
}  // namespace memstat
