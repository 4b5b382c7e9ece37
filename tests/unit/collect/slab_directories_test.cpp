// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/slab_directories.h"

#include <gtest/gtest.h>

#include "tests/support/fixtures.h"
#include "tests/support/slab_kernel.h"
#include "tests/support/source_cases.h"

namespace memstat {
namespace {

/// "cache=directory", "cache=" for one without.
std::string folders_of(KernelView& view) {
  Buffer scratch;
  const auto folders = find_slab_folders(view, scratch);
  if (!folders) return to_string(folders.error());
  std::string words;
  for (const SlabFolder& cache : *folders) words += (words.empty() ? "" : "; ") + cache.cache + "=" + cache.folder;
  return words;
}

TEST(SlabFolders, AreThoseOfTheNamesThatSlabinfoLists) {
  SlabKernel kernel;
  kernel.add("dentry", {}, 192);
  kernel.list("kmalloc-64");
  kernel.add_folder(":0000064", {});
  kernel.links = {{"kmalloc-64", ":0000064"}, {"an_alias", ":0000064"}, {"other", "elsewhere"}};
  EXPECT_EQ(folders_of(kernel), "dentry=dentry; kmalloc-64=kmalloc-64") << "an alias is no cache";
}

TEST(SlabFolders, HaveExclamationMarksForSlashes) {
  SlabKernel kernel;
  kernel.list("a/b/c");
  kernel.add_folder("a!b!c", {});
  EXPECT_EQ(folders_of(kernel), "a/b/c=a!b!c");
}

TEST(SlabFolders, AreNoneWhereTheNameLeadsToAnotherCache) {
  SlabKernel kernel;
  kernel.list("foo", 64);
  kernel.list("bar", 128);
  kernel.list("baz", 64);
  kernel.add_folder(":0000064", {}, 64);
  kernel.add_folder(":0000128", {}, 128);
  // A cache that was merged into foo came after bar, and had its name.
  kernel.links = {{"foo", ":0000064"}, {"bar", ":0000064"}, {"baz", ":a-0000064"}};
  EXPECT_EQ(folders_of(kernel), "foo=foo; bar=; baz=");
}

TEST(SlabFolders, AreNoneWhereTwoNamesLeadToOneOrTwoCachesHaveOneName) {
  SlabKernel kernel;
  for (const char* cache : {"one", "two", "twice", "twice", "alone"}) kernel.list(cache);
  kernel.add_folder(":0000064", {});
  kernel.add_folder(":A-0000064", {});
  kernel.add_folder("alone", {});
  kernel.links = {{"one", ":0000064"}, {"two", ":0000064"}, {"twice", ":A-0000064"}};
  EXPECT_EQ(folders_of(kernel), "one=; two=; twice=; twice=; alone=alone");
}

TEST(SlabFolders, TakeAnyNameThatAFileCanHave) {
  SlabKernel kernel;
  const std::string longest(255, 'n');
  const std::string longer(4096, 'n');
  for (const std::string& cache : {std::string("two words"), std::string("3 4 5"), std::string("q\"uo'te\\"),
                                   std::string("\xFF\xFE"), std::string("a : b"), longest, longer, std::string("."),
                                   std::string(".."), std::string("nul\0nul", 7), std::string("../dentry")}) {
    kernel.list(cache);
    kernel.add_folder(cache, {});
  }
  kernel.add_folder("nul", {});
  EXPECT_EQ(folders_of(kernel), "two words=two words; 3 4 5=3 4 5; q\"uo'te\\=q\"uo'te\\; \xFF\xFE=\xFF\xFE; a : b=a : b; " +
                                    longest + "=" + longest + "; " + longer + "=; .=; ..=; " + std::string("nul\0nul", 7) +
                                    "=; ../dentry=");
}

TEST(SlabFolders, PassOverLinesThatAreNoCaches) {
  SlabKernel kernel;
  kernel.add("good", {});
  const std::string good = kernel.slabinfo;
  for (const char* line : {"\n", " \n", "x\n", ":\n", " : tunables\n", "1 2 3 4 5 : tunables 0\n",
                           "name 2 3 4 5 : tunables 0\n", "no colon 1 2 3 4 5\n"}) {
    kernel.slabinfo = good + line;
    EXPECT_EQ(folders_of(kernel), "good=good") << line;
  }
  for (std::size_t size = 0; size <= good.size(); ++size) {
    kernel.slabinfo = good.substr(0, size);
    const std::string found = folders_of(kernel);
    EXPECT_TRUE(found.empty() || found == "good=good") << found;
  }
}

TEST(SlabFolders, DoWithoutTheSizeWhereSlabinfoHasNone) {
  SlabKernel kernel;
  kernel.slabinfo = "slabinfo - version: 3.0\n# name <new> <num_objs> : later\nfoo 1 2 : later 3\n";
  kernel.add_folder("foo", {});
  EXPECT_EQ(folders_of(kernel), "foo=foo");
}

TEST(SlabFolders, AreNoneThatAreGoneAndFailWhereTheyCannotBeRead) {
  SlabKernel kernel;
  kernel.list("gone");
  kernel.add("there", {});
  EXPECT_EQ(folders_of(kernel), "gone=; there=there");
  kernel.failures["/sys/kernel/slab/there/slab_size"] = EACCES;
  EXPECT_NE(folders_of(kernel).find("/sys/kernel/slab/there/slab_size: permission"), std::string::npos);
  kernel.failures = {{"/proc/slabinfo", EACCES}};
  EXPECT_NE(folders_of(kernel).find("/proc/slabinfo: permission"), std::string::npos);
}

class CapturedSlabFolders : public testing::TestWithParam<std::string> {};

/// What shows that slabinfo's names are the way in: in every kernel each is an entry, no two are of one directory, and no
/// directory is left over.
TEST_P(CapturedSlabFolders, BelongToOneCacheEachAndNoneIsLeftOver) {
  const auto view = open_fixture(GetParam());
  Buffer scratch;
  const auto caches = find_slab_folders(*view, scratch);
  ASSERT_TRUE(caches) << to_string(caches.error());
  std::vector<std::string> names;
  ASSERT_TRUE(view->list_directory("/sys/kernel/slab", names));
  std::set<std::string> folders;
  std::size_t links = 0;
  for (const std::string& name : names) {
    const bool is_link = view->read_link("/sys/kernel/slab/" + name).has_value();
    links += is_link ? 1 : 0;
    if (!is_link) folders.insert(name);
  }
  EXPECT_GT(links, 20U);
  EXPECT_EQ(caches->size(), folders.size());
  for (const SlabFolder& cache : *caches) {
    ASSERT_FALSE(cache.folder.empty()) << cache.cache;
    const auto link = view->read_link("/sys/kernel/slab/" + cache.folder);
    EXPECT_EQ(folders.erase(link ? *link : cache.folder), 1U) << cache.cache;
  }
  EXPECT_TRUE(folders.empty()) << *folders.begin();
}

INSTANTIATE_TEST_SUITE_P(Captures, CapturedSlabFolders, testing::ValuesIn(captures_of_source("linux_slab_sysfs")),
                         [](const auto& parameter) { return word_of(parameter.param); });

}  // namespace
}  // namespace memstat
