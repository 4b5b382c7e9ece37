// SPDX-License-Identifier: BSD-2-Clause
// A recording instead of the kernel: by MEMSTAT_CAPTURE or memstat_mtl_set_capture, as a directory or an archive, at any
// poll.
#include <sys/wait.h>
#include <unistd.h>

#include "core/capture/archive.h"
#include "core/capture/recording_view.h"
#include "tests/support/c_list.h"
#include "tests/support/fixtures.h"
#include "tests/support/test.h"

namespace memstat {
namespace {

const std::string kFreeBsd = "freebsd-15.0-amd64-4cpu.tar.zst";
const std::string kLinux = "linux-6.12-4cpu.tar.zst";

/// Writes a capture of a FreeBSD kernel whose poll number p has a malloc type with 100 + p bytes and a zone with p items.
void write_capture(const std::string& directory, int polls) {
  write_text(directory + "/manifest.yaml",
             "format: 1\nos: freebsd\nrelease: 15.0\nmachine: amd64\npage_size: 4096\ncpus_present: \"0-1\"\nnodes: 1\n");
  for (int poll = 0; poll < polls; ++poll) {
    const std::string at = directory + "/00000" + std::to_string(poll) + "/";
    const auto number = static_cast<std::uint64_t>(poll);
    write_text(at + "poll.yaml",
               "label: a\nrealtime: 2026-01-01T00:00:00Z\nmonotonic_ns: " + std::to_string(poll + 1) + "\n");
    write_text(at + "sysctl/kern.malloc_stats", MallocStream(2).add("m", {{1, {100 + number, 0, 1, 0, 1}}}).bytes());
    write_text(at + "sysctl/kern.smp.maxcpus", bytes_of(2));
    write_text(at + "sysctl/kern.malloc_count", bytes_of(1));
    write_text(at + "sysctl/vm.zone_stats", UmaStream(2).add({.name = "z", .size = 1, .allocs = number}).bytes());
    write_text(at + "sysctl/kern.smp.maxid", bytes_of(1));
    write_text(at + "sysctl/vm.zone_count", bytes_of(1));
  }
}

bool has_archives() {
  const auto opened = open_capture(fixture_path("captures/" + kLinux));
  return opened.has_value();
}

class CApiCaptures : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("MEMSTAT_CAPTURE"); }
  void TearDown() override { ::unsetenv("MEMSTAT_CAPTURE"); }
  static void name(const std::string& reference) { ::setenv("MEMSTAT_CAPTURE", reference.c_str(), 1); }
  /// Bytes of the malloc type after a query that must succeed.
  static std::uint64_t bytes_after_query(memory_type_list* list) {
    EXPECT_EQ(memstat_sysctl_all(list, 0), 0) << memstat_mtl_get_message(list);
    return memstat_get_bytes(memstat_mtl_find(list, ALLOCATOR_MALLOC, "m"));
  }
  static void expect_failure(memory_type_list* list, int error, const std::string& words) {
    const std::string before = everything(list);
    EXPECT_EQ(memstat_sysctl_all(list, 0), -1);
    EXPECT_EQ(memstat_mtl_geterror(list), error) << memstat_mtl_get_message(list);
    EXPECT_NE(std::string(memstat_mtl_get_message(list)).find(words), std::string::npos) << memstat_mtl_get_message(list);
    EXPECT_EQ(everything(list), before);
  }
  const TemporaryDirectory directory_;
  const ListPtr list_ = make_list();
};

TEST_F(CApiCaptures, OfTheEnvironmentAreReadAtTheLastPollOrTheOneNamed) {
  write_capture(directory_.file("c"), 3);
  name(directory_.file("c"));
  EXPECT_EQ(bytes_after_query(list_.get()), 102U);
  for (const int poll : {0, 1, 2}) {
    name(directory_.file("c") + "@" + std::to_string(poll));
    EXPECT_EQ(bytes_after_query(list_.get()), 100U + static_cast<unsigned>(poll)) << "the variable counts at each query";
    EXPECT_EQ(memstat_get_count(memstat_mtl_find(list_.get(), ALLOCATOR_UMA, "z")), static_cast<std::uint64_t>(poll));
  }
  EXPECT_EQ(memstat_mtl_get_count(list_.get()), 2U) << "the same types all along";
}

TEST_F(CApiCaptures, ChangedBetweenTwoQueriesKeepTypesAndSlots) {
  write_capture(directory_.file("a"), 1);
  write_capture(directory_.file("b"), 2);
  name(directory_.file("a"));
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  fill_slots(list_.get());
  memory_type* type = memstat_mtl_find(list_.get(), ALLOCATOR_MALLOC, "m");
  name(directory_.file("b"));
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  EXPECT_EQ(memstat_mtl_find(list_.get(), ALLOCATOR_MALLOC, "m"), type);
  EXPECT_NE(memstat_get_percpu_caller_uint64(type, 1, 15), 0U);
}

TEST(CApiSysctl, IsGivenAsItIs) {
  auto kernel = make_kernel(MallocStream(2).add("m").bytes(), UmaStream(2).add({.name = "z", .size = 1}).bytes());
  kernel->set("kern.ipc.sfstat", "12345678");
  const ListPtr list = make_list(kernel);
  char room[16] = {};
  std::size_t size = sizeof room;
  ASSERT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), 0);
  EXPECT_EQ(std::string(room, size), "12345678");
  size = 7;
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_DATAERROR);
  EXPECT_EQ(size, 8U) << "what is needed";
  size = 0;
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", nullptr, &size), -1);
  EXPECT_EQ(size, 8U);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "no.such", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_NOTPRESENT);
  kernel->fail("kern.ipc.sfstat", EPERM);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "kern.ipc.sfstat", room, &size), -1);
  EXPECT_EQ(memstat_mtl_geterror(list.get()), MEMSTAT_ERROR_PERMISSION);
  EXPECT_EQ(memstat_sysctl_get(list.get(), nullptr, room, &size), -1);
  EXPECT_EQ(memstat_sysctl_get(list.get(), "x", room, nullptr), -1);
  EXPECT_EQ(memstat_sysctl_get(nullptr, "x", room, &size), -1);
  EXPECT_EQ(memstat_mtl_get_count(list.get()), 0U) << "no query";
}

TEST_F(CApiCaptures, SetByTheFunctionWinOverTheEnvironment) {
  write_capture(directory_.file("a"), 1);
  write_capture(directory_.file("b"), 2);
  name(directory_.file("a"));
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), directory_.file("b").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), (directory_.file("b") + "@0").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), nullptr), 0) << "back to the environment";
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  name(directory_.file("b"));
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
}

TEST_F(CApiCaptures, AnEmptyReferenceMeansTheLiveKernel) {
  write_capture(directory_.file("a"), 1);
  name(directory_.file("a"));
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), ""), 0);
  const auto live = make_live_kernel_view();
  if (live && (*live)->os() == OperatingSystem::kFreeBsd) GTEST_SKIP() << "this kernel is FreeBSD's, which needs no capture";
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "MEMSTAT_CAPTURE");
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), nullptr), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  name("");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "MEMSTAT_CAPTURE");
  ::unsetenv("MEMSTAT_CAPTURE");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "MEMSTAT_CAPTURE");
}

TEST_F(CApiCaptures, ThatCannotBeSetLeaveTheOldOneInForce) {
  write_capture(directory_.file("a"), 2);
  ASSERT_EQ(memstat_mtl_set_capture(list_.get(), directory_.file("a").c_str()), 0);
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  for (const std::string& bad : {directory_.file("none"), directory_.file("a") + "@2", directory_.path()}) {
    EXPECT_EQ(memstat_mtl_set_capture(list_.get(), bad.c_str()), -1) << bad;
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOTPRESENT) << bad;
    EXPECT_STRNE(memstat_mtl_get_message(list_.get()), "");
  }
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
}

TEST_F(CApiCaptures, ThatAreMissingOrBadAreErrorsOfTheQuery) {
  write_capture(directory_.file("a"), 2);
  name(directory_.file("a"));
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  name(directory_.file("none"));
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "none");
  name(directory_.file("a") + "@2");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 1");
  name(directory_.file("a") + "@18446744073709551615");
  expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 1");
  write_text(directory_.file("a/000001/poll.yaml"), "nonsense\n");
  name(directory_.file("a") + "@0");
  expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, "poll.yaml");
  write_text(directory_.file("b/manifest.yaml"), "format: 99\n");
  name(directory_.file("b"));
  EXPECT_EQ(memstat_sysctl_all(list_.get(), 0), -1);
  write_capture(directory_.file("c"), 1);
  std::filesystem::remove(directory_.file("c/000000/sysctl/vm.zone_stats"));
  name(directory_.file("c"));
  EXPECT_EQ(memstat_sysctl_malloc(list_.get(), 0), 0);
  EXPECT_EQ(memstat_sysctl_uma(list_.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_VERSION);
  write_text(directory_.file("c/000000/errors.yaml"), "- {sysctl: vm.zone_stats, errno: 1}\n");
  const ListPtr fresh = make_list();
  EXPECT_EQ(memstat_sysctl_uma(fresh.get(), 0), -1);
  EXPECT_EQ(memstat_mtl_geterror(fresh.get()), MEMSTAT_ERROR_PERMISSION) << "as it was recorded";
}

TEST_F(CApiCaptures, MayHaveAnAtSignInTheirPath) {
  const std::string path = directory_.file("dump of root@host/2026@7");
  write_capture(path, 2);
  name(path + "@0");
  EXPECT_EQ(bytes_after_query(list_.get()), 100U);
  name(path + "@1");
  EXPECT_EQ(bytes_after_query(list_.get()), 101U);
  const std::string plain = directory_.file("root@host");
  write_capture(plain, 2);
  name(plain);
  EXPECT_EQ(bytes_after_query(list_.get()), 101U) << "only digits behind the last @ are a poll";
}

TEST_F(CApiCaptures, AreReadFromArchives) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  write_capture(directory_.file("c"), 3);
  for (const std::string ending : {".tar", ".tar.zst"}) {
    const std::string archive = directory_.file("packed" + ending);
    ASSERT_TRUE(pack_capture(directory_.file("c"), archive));
    name(archive);
    EXPECT_EQ(bytes_after_query(list_.get()), 102U) << ending;
    name(archive + "@1");
    EXPECT_EQ(bytes_after_query(list_.get()), 101U) << ending;
    name(archive + "@3");
    expect_failure(list_.get(), MEMSTAT_ERROR_NOTPRESENT, "0 to 2");
    const std::string bytes = read_text(archive);
    write_text(archive, bytes.substr(0, bytes.size() / 2));
    name(archive + "@0");
    expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, archive);
    write_text(archive, "");
    name(archive);
    expect_failure(list_.get(), MEMSTAT_ERROR_DATAERROR, archive);
  }
}

TEST_F(CApiCaptures, OfARealKernelAreReadFromTheArchiveAsItIs) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  name(fixture_path("captures/" + kFreeBsd) + "@0");
  ASSERT_EQ(memstat_sysctl_all(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
  EXPECT_NE(memstat_mtl_find(list_.get(), ALLOCATOR_UMA, "malloc-384"), nullptr);
  EXPECT_NE(memstat_mtl_find(list_.get(), ALLOCATOR_MALLOC, "devbuf"), nullptr);
}

TEST_F(CApiCaptures, OfLinuxAreRejectedAsAFreeBsdKernel) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  name(fixture_path("captures/" + kLinux));
  for (const auto query : {memstat_sysctl_all, memstat_sysctl_malloc, memstat_sysctl_uma}) {
    EXPECT_EQ(query(list_.get(), 0), -1);
    EXPECT_EQ(memstat_mtl_geterror(list_.get()), MEMSTAT_ERROR_NOTPRESENT);
    EXPECT_NE(std::string(memstat_mtl_get_message(list_.get())).find("not a capture of a FreeBSD"), std::string::npos);
  }
  EXPECT_EQ(memstat_mtl_first(list_.get()), nullptr);
}

TEST_F(CApiCaptures, OfLinuxShowSlabCaches) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  name(fixture_path("captures/" + kLinux));
  ASSERT_EQ(memstat_linux_all(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
  EXPECT_GT(memstat_mtl_get_count(list_.get()), 50U);
  for (memory_type* type = memstat_mtl_first(list_.get()); type != nullptr; type = memstat_mtl_next(type)) {
    if (memstat_get_allocator(type) != ALLOCATOR_SLAB) continue;  // for vmalloc see OfLinuxShowVmallocAreas
    EXPECT_EQ(memstat_get_bytes(type), memstat_get_count(type) * memstat_get_rsize(type)) << memstat_get_name(type);
    EXPECT_EQ(memstat_get_cpu_count(type), 0);
    for (const CpuAccessor& accessor : kCpuAccessors) EXPECT_EQ(accessor.get(type, 0), 0U);
    for (const Accessor& accessor : kAccessors) {
      const bool is_slab_figure = std::string("size rsize bytes count free").find(accessor.name) != std::string::npos;
      EXPECT_TRUE(is_slab_figure || accessor.get(type) == 0) << memstat_get_name(type) << ' ' << accessor.name;
    }
  }
  memory_type* dentry = memstat_mtl_find(list_.get(), ALLOCATOR_SLAB, "dentry");
  ASSERT_NE(dentry, nullptr);
  EXPECT_EQ(memstat_mtl_find(list_.get(), ALLOCATOR_ANY, "dentry"), dentry);
  EXPECT_NE(memstat_get_held_bytes(dentry), 0U);
  memstat_set_caller_uint64(dentry, 0, 5);
  ASSERT_EQ(memstat_linux_slab(list_.get(), 0), 0);
  ASSERT_EQ(memstat_source_query(list_.get(), "linux_slabinfo", 0), 0);
  EXPECT_EQ(memstat_get_caller_uint64(dentry, 0), 5U);
}

TEST_F(CApiCaptures, OfLinuxShowVmallocAreas) {
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  name(fixture_path("captures/" + kLinux));
  ASSERT_EQ(memstat_linux_vmalloc(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
  for (memory_type* type = memstat_mtl_first(list_.get()); type != nullptr; type = memstat_mtl_next(type)) {
    EXPECT_EQ(memstat_get_allocator(type), ALLOCATOR_VMALLOC);
    EXPECT_EQ(memstat_get_figures(type) & MEMSTAT_FIGURE_HELD_BYTES, 0U) << memstat_get_name(type);
  }
  const memory_type* stacks = memstat_mtl_find(list_.get(), ALLOCATOR_VMALLOC, "kernel_clone");
  ASSERT_NE(stacks, nullptr);
  EXPECT_EQ(memstat_get_bytes(stacks), memstat_get_count(stacks) * 16384) << "stacks of four pages";
  EXPECT_EQ(memstat_mtl_find(list_.get(), ALLOCATOR_SLAB, "dentry"), nullptr);
}

TEST_F(CApiCaptures, TheLiveSlabCachesAreReadWithoutOne) {
  auto live = make_live_kernel_view();
  if (!live || (*live)->os() != OperatingSystem::kLinux) GTEST_SKIP() << "this is not Linux";
  Buffer bytes;
  if (const auto readable = (*live)->read_file("/proc/slabinfo", bytes); !readable) {
    EXPECT_EQ(memstat_linux_all(list_.get(), 0), -1);
    EXPECT_TRUE(memstat_mtl_geterror(list_.get()) == MEMSTAT_ERROR_PERMISSION ||
                memstat_mtl_geterror(list_.get()) == MEMSTAT_ERROR_NOTPRESENT);
    // It continues: sources that others may read are there.
    for (memory_type* type = memstat_mtl_first(list_.get()); type != nullptr; type = memstat_mtl_next(type)) {
      EXPECT_NE(memstat_get_allocator(type), ALLOCATOR_SLAB) << memstat_get_name(type);
    }
    GTEST_SKIP() << to_string(readable.error());
  }
  ASSERT_EQ(memstat_linux_all(list_.get(), 0), 0) << memstat_mtl_get_message(list_.get());
  EXPECT_GT(memstat_mtl_get_count(list_.get()), 10U);
  write_capture(directory_.file("a"), 1);
  name(directory_.file("a"));
  EXPECT_EQ(memstat_linux_slab(list_.get(), 0), 0) << "a capture of FreeBSD does not hide this machine's kernel";
  EXPECT_EQ(bytes_after_query(list_.get()), 100U) << "both in one list";
}

TEST_F(CApiCaptures, ThatOurRecorderMadeAreReadAtEveryPoll) {
  write_capture(directory_.file("c"), 3);
  auto inner = open_capture_directory(directory_.file("c"));
  ASSERT_TRUE(inner);
  const SystemClock clock;
  auto recorder = RecordingKernelView::create(**inner, {.directory = directory_.file("recorded")}, clock);
  ASSERT_TRUE(recorder) << to_string(recorder.error());
  for (std::size_t poll = 0; poll < 3; ++poll) {
    ASSERT_TRUE((*inner)->select_poll(poll));
    (*recorder)->begin_poll("p");
    for (const char* source : {"freebsd_malloc", "freebsd_uma"}) {
      SourceReader reader(*find_source(source));
      MemoryTypeList types;
      ASSERT_TRUE(refresh(reader, **recorder, types, 1)) << source;
    }
    ASSERT_TRUE((*recorder)->end_poll());
  }
  for (const int poll : {2, 0, 1}) {
    name(directory_.file("recorded") + "@" + std::to_string(poll));
    EXPECT_EQ(bytes_after_query(list_.get()), 100U + static_cast<unsigned>(poll));
  }
}

TEST_F(CApiCaptures, ThatMemstatdRecordedAreReadAtEveryPollAndSayTheSame) {
  std::error_code failure;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::string memstatd = (self.parent_path() / "memstatd").string();
  if (failure || ::access(memstatd.c_str(), X_OK) != 0) GTEST_SKIP() << "memstatd is not beside this program";
  if (!has_archives()) GTEST_SKIP() << "this build has no zstd";
  const std::string original = fixture_path("captures/" + kFreeBsd);
  const std::string recorded = directory_.file("recorded");
  const std::string command = "timeout 120 '" + memstatd + "' --replay '" + original + "' --once --record '" + recorded +
                              "' >'" + directory_.file("log") + "' 2>&1";
  const int status = std::system(command.c_str());
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_text(directory_.file("log"));
  for (const int poll : {0, 1, 2}) {
    const std::string at = "@" + std::to_string(poll);
    const ListPtr first = make_list();
    ASSERT_EQ(memstat_mtl_set_capture(first.get(), (original + at).c_str()), 0);
    ASSERT_EQ(memstat_sysctl_all(first.get(), 0), 0) << memstat_mtl_get_message(first.get());
    const ListPtr second = make_list();
    ASSERT_EQ(memstat_mtl_set_capture(second.get(), (recorded + at).c_str()), 0) << memstat_mtl_get_message(second.get());
    ASSERT_EQ(memstat_sysctl_all(second.get(), 0), 0) << memstat_mtl_get_message(second.get());
    ASSERT_EQ(memstat_mtl_get_count(first.get()), memstat_mtl_get_count(second.get()));
    memory_type* other = memstat_mtl_first(second.get());
    for (memory_type* type = memstat_mtl_first(first.get()); type != nullptr; type = memstat_mtl_next(type)) {
      ASSERT_EQ(figures_of(type), figures_of(other)) << at;
      other = memstat_mtl_next(other);
    }
  }
}

}  // namespace
}  // namespace memstat
