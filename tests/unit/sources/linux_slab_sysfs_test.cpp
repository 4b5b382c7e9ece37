// SPDX-License-Identifier: BSD-2-Clause
// The files of /sys/kernel/slab of handwritten kernels: which are read when, and how. Captured and live kernels:
// tests/guests/checker.py.
#include "core/query.h"
#include "tests/support/result_checks.h"
#include "tests/support/slab_kernel.h"
#include "tests/support/test.h"

namespace memstat::linux_slab_sysfs_test {
namespace {

constexpr std::string_view kDirectory = "/sys/kernel/slab";
constexpr std::string_view kConstantTime[] = {"/slabs", "/total_objects", "/partial", "/cpu_slabs"};

const SourceDescriptor& source() { return *find_source("linux_slab_sysfs"); }

SlabKernel::Files files(const std::string& slabs = "10 N0=10\n", const std::string& total = "640 N0=640\n",
                        const std::string& partial = "3 N0=3\n", const std::string& cpu = "2 N0=2\n") {
  return {{"slabs", slabs},          {"total_objects", total},    {"partial", partial},
          {"cpu_slabs", cpu},        {"objects", "600 N0=600\n"}, {"objects_partial", "100 N0=100\n"},
          {"object_size", "64\n"},   {"objs_per_slab", "64\n"},   {"slabs_cpu_partial", "0(0)\n"},
          {"sheaf_capacity", "0\n"}, {"min_partial", "5\n"}};
}

/// The whole result of a parse: "name: field=value ... node0: field=value ... cpu0: ..."; types apart by "; ".
std::string words_of(const Staging& staging) {
  std::string words;
  for (std::size_t i = 0; i < staging.types().size(); ++i) {
    const StagedType& type = staging.types()[i];
    words += (i == 0 ? "" : "; ") + std::string(type.name) + ":";
    for_each_of(type.fields, [&](Field field) {
      words += " " + std::string(to_string(field)) + "=" + std::to_string(type.figures[field]);
    });
    for (std::uint32_t node = 0; node < staging.node_count() && !type.node_fields.empty(); ++node) {
      words += " node" + std::to_string(node) + ":";
      for_each_of(type.node_fields, [&](NodeField field) {
        words += " " + std::string(to_string(field)) + "=" + std::to_string(staging.node_figure(type, field, node));
      });
    }
    for (std::uint32_t cpu = 0; cpu < staging.cpu_count(); ++cpu) {
      words += " cpu" + std::to_string(cpu) + ":";
      for_each_of(staging.cpu_fields(), [&](CpuField field) {
        words += " " + std::string(to_string(field)) + "=" + std::to_string(staging.cpu_figure(i, field, cpu));
      });
    }
  }
  return words;
}

class LinuxSlabSysfs : public testing::Test {
 protected:
  Result<void> open() { return open_source(reader_, kernel_); }
  /// The result of the next read, or the error.
  std::string words() {
    if (const auto result = read_source(reader_, kernel_); !result) return to_string(result.error());
    const auto result = parse_source(reader_);
    return result ? words_of(reader_.staging) : to_string(result.error());
  }
  /// Like a reader that has not read yet.
  void forget_plan() { reader_.state = source().steps.make_state(); }
  void expect_refused(const std::string& file, const std::string& content, const std::string& what) {
    SlabKernel::Files of = files();
    of[file] = content;
    kernel_.directories["kmalloc-64"] = of;
    kernel_.directories["kmalloc-64"]["slab_size"] = "64\n";
    kernel_.directories["kmalloc-64"].try_emplace("order", "0\n");
    SourceReader reader(source());
    ASSERT_TRUE(read_source(reader, kernel_)) << content;
    const auto result = parse_source(reader);
    ASSERT_TRUE(fails(result, {.code = ErrorCode::kData, .path = kDirectory})) << file << ": " << content;
    ASSERT_TRUE(result.error().offset.has_value());
    EXPECT_TRUE(reader.raw.parts[0].view().substr(*result.error().offset).starts_with(content)) << content;
    EXPECT_TRUE(result.error().detail.starts_with("kmalloc-64/" + file + ": " + what)) << result.error().detail;
  }

  SlabKernel kernel_;
  SourceReader reader_{source()};
};

TEST_F(LinuxSlabSysfs, HasNoNodesOnAKernelThatDoesNot) {
  kernel_.add("kmalloc-64", files("29\n", "1856\n", "5\n", "6\n"));
  EXPECT_EQ(words(), "kmalloc-64: slabs=29 partial_slabs=5 cpu_slabs=6");
  EXPECT_EQ(reader_.staging.node_count(), 0U);
}

TEST_F(LinuxSlabSysfs, ReadsOnlyInConstantTime) {
  for (const char* cache : {"a", "b", "c"}) kernel_.add(cache, files());
  ASSERT_TRUE(open());
  EXPECT_EQ(kernel_.calls_of("/objects") + kernel_.calls_of("/objects_partial"), 0U) << "not even to test whether it exists";
  for (int read = 0; read < 100; ++read) {
    kernel_.calls.clear();
    ASSERT_TRUE(read_source(reader_, kernel_));
    EXPECT_EQ(kernel_.calls_of("/proc/slabinfo"), 0U) << "it walks the lists as well";
    std::size_t constant_time = 0;
    for (const std::string_view file : kConstantTime) constant_time += kernel_.calls_of(file);
    EXPECT_EQ(constant_time, 12U);
    EXPECT_EQ(kernel_.calls.size(), constant_time + kernel_.calls_of(kDirectory)) << "read " << read;
  }
}

TEST_F(LinuxSlabSysfs, OfOneNodeTakesSlabsAndSlotsFromSlabinfoWithoutTheirFiles) {
  for (const char* cache : {"a", "b"}) kernel_.add(cache, files());
  kernel_.add("idle", files("0\n", "0\n", "0\n", "0\n"));
  kernel_.slabinfo.replace(kernel_.slabinfo.rfind("      1      1      0\n"), 21, "      0      0      0\n");
  kernel_.nodes = "0\n";
  kernel_.counts_kept = true;
  ASSERT_TRUE(open());
  for (const auto& path : kernel_.kept) {
    EXPECT_FALSE(path.ends_with("/slabs") || path.ends_with("/total_objects")) << path;
  }
  EXPECT_EQ(kernel_.kept.size(), 8U) << "slabinfo, the list of nodes, and two a cache";
  kernel_.has_privileges = false;
  kernel_.calls.clear();
  const std::string of = ": slabs=1 partial_slabs=3 cpu_slabs=2 node0: held_bytes=4096 capacity=2; ";
  EXPECT_EQ(words(), "a" + of + "b" + of + "idle: slabs=0 partial_slabs=0 cpu_slabs=0 node0: held_bytes=0 capacity=2");
  EXPECT_EQ(kernel_.calls_of("/proc/slabinfo"), 1U);
  kernel_.nodes = "0-1\n";
  EXPECT_TRUE(words().starts_with("a: slabs=1 partial_slabs=3 cpu_slabs=2; b")) << "which node has which is no longer known";
}

// The recording of a machine with one node.
TEST_F(LinuxSlabSysfs, CaptureWithoutTheFilesHasThemFromSlabinfo) {
  SlabKernel::Files of = files();
  of.erase("slabs");
  of.erase("total_objects");
  kernel_.add("a", of);
  kernel_.nodes = "0\n";
  EXPECT_EQ(words(), "a: slabs=1 partial_slabs=3 cpu_slabs=2 node0: held_bytes=4096 capacity=2");
}

TEST_F(LinuxSlabSysfs, LeavesOutWhatTheKernelDoesNotHave) {
  kernel_.add("only_partial", {{"partial", "3 N0=3\n"}});  // CONFIG_SLUB_DEBUG off
  EXPECT_EQ(words(), "only_partial: partial_slabs=3");
}

TEST_F(LinuxSlabSysfs, HasNoHeldBytesWithoutAnOrder) {
  kernel_.add("kmalloc-64", files());
  kernel_.directories["kmalloc-64"].erase("order");
  EXPECT_EQ(words(), "kmalloc-64: slabs=10 partial_slabs=3 cpu_slabs=2 node0: capacity=640");
}

TEST_F(LinuxSlabSysfs, DoesNotReadCpuSlabsWhereNoCpuHasAny) {
  kernel_.add("a", files("10 N0=10\n", "640 N0=640\n", "3 N0=3\n", "0\n"));
  kernel_.add("b", files("10 N0=10\n", "640 N0=640\n", "3 N0=3\n", "0\n"));
  ASSERT_TRUE(open());
  kernel_.calls.clear();
  EXPECT_EQ(words(),
            "a: slabs=10 partial_slabs=3 node0: held_bytes=40960 capacity=640; "
            "b: slabs=10 partial_slabs=3 node0: held_bytes=40960 capacity=640");
  EXPECT_EQ(kernel_.calls_of("/cpu_slabs"), 0U);
  // One cache with the files is enough: the others then have none now.
  kernel_.directories["b"]["cpu_slabs"] = "1 N0=1\n";
  forget_plan();
  EXPECT_NE(words().find("a: slabs=10 partial_slabs=3 cpu_slabs=0"), std::string::npos);
}

TEST_F(LinuxSlabSysfs, AddsUpTheStatisticsByCpu) {
  SlabKernel::Files of = {{"slabs", "1\n"},
                          {"alloc_fastpath", "12593 C0=11792 C1=801\n"},
                          {"alloc_slowpath", "7 C1=7\n"},
                          {"free_fastpath", "100 C0=100\n"},
                          {"free_slowpath", "0\n"}};
  kernel_.add("old", of);
  EXPECT_EQ(words(),
            "old: numallocs=12600 numfrees=100 slabs=1 cpu0: numallocs=11792 numfrees=100 cpu1: numallocs=808 numfrees=0");
  of["free_rcu_sheaf"] = "9 C0=4 C1=5\n";
  kernel_.add_directory("old", of);
  forget_plan();
  EXPECT_EQ(words(),
            "old: numallocs=12600 numfrees=109 slabs=1 cpu0: numallocs=11792 numfrees=104 cpu1: numallocs=808 numfrees=5");
}

TEST_F(LinuxSlabSysfs, HasNoCountersThatWouldBeWrong) {
  SlabKernel::Files of = {{"slabs", "1\n"},           {"alloc_fastpath", "5 C0=5\n"}, {"alloc_slowpath", "7 C1=7\n"},
                          {"free_fastpath", "100\n"}, {"free_slowpath", "0\n"},       {"alloc_cpu_sheaf", "3 C0=3\n"}};
  kernel_.add("of_6_18", of);
  EXPECT_EQ(words(), "of_6_18: slabs=1") << "objects that move to and from sheaves are counted as well";
  of.erase("alloc_cpu_sheaf");
  of.erase("alloc_slowpath");
  kernel_.add_directory("of_6_18", of);
  forget_plan();
  EXPECT_EQ(words(), "of_6_18: numfrees=100 slabs=1 cpu0: numallocs=5 numfrees=0 cpu1: numallocs=0 numfrees=0")
      << "without one part of the sum there is no sum";
}

TEST_F(LinuxSlabSysfs, NamesEveryCacheOfSlabinfoInItsOrderAlsoThoseWithoutFigures) {
  kernel_.add("a/b", {});
  kernel_.directories.erase("a/b");
  kernel_.add_directory("a!b", files());
  for (const char* cache : {"twice", "gone", "twice"}) kernel_.list(cache);
  kernel_.add_directory("twice", files());
  const std::string bad = "\xFF two words";
  kernel_.add(bad, files());
  kernel_.links["alias"] = "a!b";
  const std::string figures = " slabs=10 partial_slabs=3 cpu_slabs=2 node0: held_bytes=40960 capacity=640";
  EXPECT_EQ(words(), "a/b:" + figures + "; twice:; gone:; twice:; \xEF\xBF\xBD two words:" + figures);
}

TEST_F(LinuxSlabSysfs, SaysInWhichFileOfWhichCacheSomethingIsWrong) {
  kernel_.add("first", files());
  kernel_.list("kmalloc-64");
  for (const char* content : {"", "x\n", "18446744073709551616\n", "5 N0=\n", "5 N0=5 N1=-1\n"}) {
    for (const char* file : {"slabs", "total_objects", "partial", "cpu_slabs"})
      expect_refused(file, content, "expected a number");
  }
  expect_refused("slabs", "5 N1024=5\n", "has a node above 1023");
  expect_refused("total_objects", "5 N18446744073709551615=5\n", "has a node above 1023");
  expect_refused("slabs", "5 N0=18446744073709551615\n", "reports a cache of more than 2^64 bytes");
  for (const char* order : {"x\n", "21\n"}) expect_refused("order", order, "not the order of a slab");
}

TEST_F(LinuxSlabSysfs, RefusesFiguresOfACpuThatTheMachineDoesNotHave) {
  kernel_.add("first", files());
  kernel_.directories["first"]["alloc_fastpath"] = "1\n";
  kernel_.list("kmalloc-64");
  expect_refused("alloc_fastpath", "5 C0=1 C2=4\n", "has a CPU that this machine does not have");
  expect_refused("alloc_fastpath", "5 C0=1 C1=-4\n", "expected a number of at most 64 bits");
}

// ---- which files are read when -------------------------------------------------------------------------------------------

TEST_F(LinuxSlabSysfs, KeepsItsFilesOpenThroughTheLossOfPrivileges) {
  for (const char* cache : {"a", "b"}) kernel_.add(cache, files());
  ASSERT_TRUE(open());
  EXPECT_EQ(kernel_.kept.size(), 8U);
  kernel_.has_privileges = false;
  kernel_.add("later", files());
  std::size_t looks = 0;
  for (int read = 0; read < 200; ++read) {
    kernel_.calls.clear();
    ASSERT_EQ(words(),
              "a: slabs=10 partial_slabs=3 cpu_slabs=2 node0: held_bytes=40960 capacity=640; "
              "b: slabs=10 partial_slabs=3 cpu_slabs=2 node0: held_bytes=40960 capacity=640");
    looks += kernel_.calls_of(kDirectory) != 0 ? 1 : 0;
  }
  EXPECT_EQ(looks, 1U) << "once it is clear that new files cannot be opened, no read looks for any";
}

TEST_F(LinuxSlabSysfs, FindsNewCachesAtTheNextReadWhileItMay) {
  kernel_.add("a", files());
  ASSERT_TRUE(open());
  kernel_.add("later", files());
  EXPECT_NE(words().find("later: slabs=10"), std::string::npos) << "a read is made once a minute";
  // An attempt that fails for other reasons than privileges is repeated.
  kernel_.add("last", files());
  kernel_.failures["/proc/slabinfo"] = EIO;
  for (int read = 0; read < 40; ++read) EXPECT_EQ(words().find("last"), std::string::npos);
  kernel_.failures.clear();
  EXPECT_NE(words().find("last: slabs=10"), std::string::npos);
}

TEST_F(LinuxSlabSysfs, LeavesACacheThatIsGoneWithoutFiguresAndInPeace) {
  for (const char* cache : {"a", "b"}) kernel_.add(cache, files());
  ASSERT_TRUE(open());
  kernel_.has_privileges = false;
  const SlabKernel::Files of_a = kernel_.directories["a"];
  kernel_.directories.erase("a");
  EXPECT_TRUE(words().starts_with("a:; b: slabs=10")) << words();
  kernel_.calls.clear();
  for (int read = 0; read < 25; ++read) EXPECT_TRUE(words().starts_with("a:; b: slabs=10"));
  EXPECT_EQ(kernel_.calls_of("/a/slabs"), 0U) << "a failing call each time costs more than one that does not fail";
  kernel_.directories["a"] = of_a;
  int reads = 0;
  while (!words().starts_with("a: slabs=10") && reads < 100) ++reads;
  EXPECT_LE(reads, 30);
}

TEST_F(LinuxSlabSysfs, KeepsAtMost4096Files) {
  for (int i = 0; i < 1500; ++i) kernel_.add("cache-" + std::to_string(i), files());
  ASSERT_TRUE(open());
  EXPECT_EQ(kernel_.kept.size(), 4096U);
  kernel_.has_privileges = false;
  const std::string all = words();
  EXPECT_NE(all.find("cache-1023: slabs=10"), std::string::npos);
  EXPECT_TRUE(all.ends_with("cache-1024:; cache-1025:" + all.substr(all.find("cache-1025:") + 11)))
      << "named, without figures";
  EXPECT_NE(all.find("cache-1499:"), std::string::npos);
}

TEST_F(LinuxSlabSysfs, SaysWhatToDoWithoutPrivileges) {
  kernel_.add("a", files());
  kernel_.failures["/proc/slabinfo"] = EACCES;
  auto result = open();
  ASSERT_TRUE(fails(result, {.code = ErrorCode::kPermission, .path = "/proc/slabinfo", .detail = "root"}));
  for (const char* file : {"slab_size", "order", "slabs", "cpu_slabs"}) {
    kernel_.failures = {{std::string(kDirectory) + "/a/" + file, EACCES}};
    result = open();
    ASSERT_TRUE(fails(result, {.path = kDirectory})) << file;
    EXPECT_TRUE(result.error().detail.starts_with("a/" + std::string(file) + ": the kernel lets only root"))
        << result.error().detail;
  }
  kernel_.failures.clear();
  EXPECT_TRUE(open());
}

// ---- figures that another source has -------------------------------------------------------------------------------------

class LinuxSlabSysfsGiven : public LinuxSlabSysfs {
 protected:
  void SetUp() override {
    kernel_.counts_kept = true;
    give();
  }
  void give() {
    reader_.state->given_fields = FieldMask(Field::kSlabs, Field::kPartialSlabs, Field::kCpuSlabs);
    reader_.state->given_node_fields = NodeFieldMask(NodeField::kHeldBytes, NodeField::kTotalObjects);
  }
};

TEST_F(LinuxSlabSysfsGiven, AreNotReadAndNoFileIsKept) {
  kernel_.add("a", files());
  EXPECT_TRUE(fails(open(), ErrorCode::kNotPresent));
  EXPECT_TRUE(kernel_.kept.empty());
  kernel_.calls.clear();
  kernel_.has_privileges = false;
  EXPECT_NE(words().find("another source provides all figures"), std::string::npos);
  EXPECT_TRUE(kernel_.calls.empty()) << "it is known without a look";
}

TEST_F(LinuxSlabSysfsGiven, LeaveTheCountersOfAllocations) {
  SlabKernel::Files counted = files();
  counted.insert({{"alloc_fastpath", "7 C0=7\n"},
                  {"alloc_slowpath", "1 C1=1\n"},
                  {"free_fastpath", "4 C0=4\n"},
                  {"free_slowpath", "0\n"}});
  kernel_.add("a", counted);
  ASSERT_TRUE(open());
  EXPECT_EQ(kernel_.kept.size(), 4U);
  EXPECT_EQ(words(), "a: numallocs=8 numfrees=4 cpu0: numallocs=7 numfrees=4 cpu1: numallocs=1 numfrees=0");
}

TEST_F(LinuxSlabSysfsGiven, AreReadAgainWhereTheOtherOneFails) {
  kernel_.add("a", files());
  ASSERT_FALSE(open());
  reader_.state->given_fields = {};
  reader_.state->given_node_fields = {};
  EXPECT_EQ(words().substr(0, 40), "a: slabs=10 partial_slabs=3 cpu_slabs=2 ");
  give();
  EXPECT_NE(words().find("another source provides all figures"), std::string::npos);
}

}  // namespace
}  // namespace memstat::linux_slab_sysfs_test
