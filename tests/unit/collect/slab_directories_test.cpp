// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include "tests/support/fixtures.h"
#include "tests/support/slab_kernel.h"
#include "tests/support/source_cases.h"
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

TEST(SlabDirectories, HaveExclamationMarksForSlashes) {
  SlabKernel kernel;
  kernel.list("a/b/c");
  kernel.add_directory("a!b!c", {});
  EXPECT_EQ(directories_of(kernel), "a/b/c=a!b!c");
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

TEST(SlabDirectories, SkipLinesThatAreNotCaches) {
  SlabKernel kernel;
  kernel.add("good", {});
  const std::string good = kernel.slabinfo;
  for (const char* line : {"\n", " \n", "x\n", ":\n", " : tunables\n", "1 2 3 4 5 : tunables 0\n",
                           "name 2 3 4 5 : tunables 0\n", "no colon 1 2 3 4 5\n"}) {
    kernel.slabinfo = good + line;
    EXPECT_EQ(directories_of(kernel), "good=good") << line;
  }
  for (std::size_t size = 0; size <= good.size(); ++size) {
    kernel.slabinfo = good.substr(0, size);
    const std::string found = directories_of(kernel);
    EXPECT_TRUE(found.empty() || found == "good=good") << found;
  }
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

class CapturedSlabDirectories : public testing::TestWithParam<std::string> {};

/// slabinfo's names lead to all directories: in every kernel each name is an entry, no two share a directory, and no
/// directory is left over.
TEST_P(CapturedSlabDirectories, BelongToOneCacheEachAndNoneIsLeftOver) {
  const auto view = open_fixture(GetParam());
  Buffer scratch;
  const auto caches = find_slab_directories(*view, scratch);
  ASSERT_TRUE(caches) << to_string(caches.error());
  std::vector<std::string> names;
  ASSERT_TRUE(view->list_directory("/sys/kernel/slab", names));
  std::set<std::string> directories;
  std::size_t links = 0;
  for (const std::string& name : names) {
    const bool is_link = view->read_link("/sys/kernel/slab/" + name).has_value();
    links += is_link ? 1 : 0;
    if (!is_link) directories.insert(name);
  }
  EXPECT_GT(links, 20U);
  EXPECT_EQ(caches->size(), directories.size());
  for (const SlabDirectory& cache : *caches) {
    ASSERT_FALSE(cache.directory.empty()) << cache.cache;
    const auto link = view->read_link("/sys/kernel/slab/" + cache.directory);
    EXPECT_EQ(directories.erase(link ? *link : cache.directory), 1U) << cache.cache;
  }
  EXPECT_TRUE(directories.empty()) << *directories.begin();
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedSlabDirectories, shown_by("linux_slab_sysfs"), name_of_capture);

}  // namespace
}  // namespace memstat
