// SPDX-License-Identifier: BSD-2-Clause
// Memory bandwidth and cache occupancy by resource group, from handwritten text and a capture made after the kernel's
// documentation.
#include "core/query.h"
#include "tests/support/prepared_kernel_view.h"
#include "tests/support/result_checks.h"
#include "tests/support/staged_statistics.h"
#include "tests/support/test.h"

namespace memstat::linux_resctrl_test {
namespace {

const std::string kRoot = "/sys/fs/resctrl";
const std::string kNul(1, '\0');
using Words = std::map<std::string, std::uint64_t>;

const SourceDescriptor& source() { return *find_source("linux_resctrl"); }

class Resctrl : public testing::Test {
 protected:
  Resctrl() {
    view_.contents[kRoot + "/info/L3_MON/num_rmids"] = {"176\n"};
    set("", "00", "llc_occupancy", "4096\n");
    set("", "00", "mbm_total_bytes", "1000\n");
    set("", "00", "mbm_local_bytes", "600\n");
  }
  void set(const std::string& group, const std::string& domain, const std::string& file, const std::string& text) {
    view_.contents[kRoot + group + "/mon_data/mon_L3_" + domain + "/" + file] = {text};
  }
  /// Directories of the files' paths.
  void make_directories() {
    view_.directories.clear();
    for (const auto& [path, versions] : view_.contents) {
      for (std::size_t slash = path.rfind('/'); slash > kRoot.size() && slash != std::string::npos;) {
        const std::size_t above = path.rfind('/', slash - 1);
        std::string& names = view_.directories[path.substr(0, above)];
        const std::string name = path.substr(above + 1, slash - above - 1) + kNul;
        if ((kNul + names).find(kNul + name) == std::string::npos) names += name;
        view_.directories[path.substr(0, slash)];
        slash = above;
      }
    }
  }
  Result<void> refresh_once() {
    make_directories();
    MemoryTypeList list;
    if (auto result = open_source(reader_, view_); !result) return result;
    return refresh(reader_, view_, list, 1);
  }
  Words words() {
    const auto result = refresh_once();
    EXPECT_TRUE(result) << to_string(result.error());
    return statistics_of(reader_.staging);
  }
  PreparedKernelView view_{OperatingSystem::kLinux};
  SourceReader reader_{source()};
};

TEST_F(Resctrl, GroupsHaveTheirPathsAsNamesAndDomainsTheirNumbers) {
  set("/mon_groups/web", "00", "llc_occupancy", "1\n");
  set("/batch", "01", "llc_occupancy", "2\n");
  set("/batch/mon_groups/job", "10", "llc_occupancy", "18446744073709551615\n");
  const Words found = words();
  EXPECT_EQ(found.at("resctrl_cache_occupancy_bytes{/mon_groups/web,0}"), 1U);
  EXPECT_EQ(found.at("resctrl_cache_occupancy_bytes{/batch,1}"), 2U);
  EXPECT_EQ(found.at("resctrl_cache_occupancy_bytes{/batch/mon_groups/job,10}"), ~std::uint64_t{0});
  EXPECT_EQ(found.size(), 7U) << "info, mon_data and mon_groups are not groups";
}

TEST_F(Resctrl, AMissingValueHasNoSeriesAndIsNever0) {
  for (const char* word : {"Unavailable\n", "Unassigned\n", "Error\n"}) {
    set("", "00", "mbm_total_bytes", word);
    const Words found = words();
    EXPECT_FALSE(found.contains("resctrl_memory_bytes_total{/,0}")) << word;
    EXPECT_TRUE(found.contains("resctrl_local_memory_bytes_total{/,0}")) << word;
  }
}

TEST_F(Resctrl, ACpuThatMonitorsOnlyTheCacheHasNoTraffic) {
  std::erase_if(view_.contents, [](const auto& file) { return file.first.find("mbm_") != std::string::npos; });
  EXPECT_EQ(words(), (Words{{"resctrl_cache_occupancy_bytes{/,0}", 4096}, {"resctrl_groups_left_out", 0}}));
}

TEST_F(Resctrl, SaysThatItIsNotMounted) {
  view_.contents.clear();
  auto result = refresh_once();
  EXPECT_EQ(result.error().code, ErrorCode::kNotPresent);
  EXPECT_NE(to_string(result.error()).find("resctrl is not mounted; where the CPU has it: mount -t resctrl"),
            std::string::npos);
  view_.contents[kRoot + "/something/else"] = {"1\n"};
  EXPECT_EQ(refresh_once().error().code, ErrorCode::kNotPresent) << "a directory without info is not resctrl";
}

TEST_F(Resctrl, SaysThatTheCpuMonitorsNothing) {
  view_.contents = {{kRoot + "/info/L3/cbm_mask", {"fff\n"}}, {kRoot + "/batch/schemata", {"L3:0=f\n"}}};
  const auto result = refresh_once();
  EXPECT_EQ(result.error().code, ErrorCode::kNotPresent);
  EXPECT_NE(to_string(result.error()).find("this CPU monitors neither cache nor memory bandwidth"), std::string::npos);
}

TEST_F(Resctrl, GroupsBeyondTheBoundAreCountedMonitoredOnesFirst) {
  for (const char* group : {"/a", "/b", "/a/mon_groups/x", "/mon_groups/y"}) set(group, "00", "llc_occupancy", "1\n");
  reader_.state->options[0].number = 3;
  const Words found = words();
  EXPECT_EQ(found.at("resctrl_groups_left_out"), 2U);
  EXPECT_TRUE(found.contains("resctrl_cache_occupancy_bytes{/a,0}"));
  EXPECT_TRUE(found.contains("resctrl_cache_occupancy_bytes{/b,0}"));
  EXPECT_FALSE(found.contains("resctrl_cache_occupancy_bytes{/a/mon_groups/x,0}"));
}

TEST_F(Resctrl, AGroupThatDisappearsMeanwhileIsNotAnError) {
  set("/batch", "00", "llc_occupancy", "1\n");
  for (const int gone : {ENOENT, ENODEV}) {
    view_.failures[kRoot + "/batch/mon_data/mon_L3_00/llc_occupancy"] = gone;
    EXPECT_EQ(words().size(), 4U);
  }
  view_.failures[kRoot + "/batch/mon_data/mon_L3_00/llc_occupancy"] = EIO;
  EXPECT_EQ(refresh_once().error().system_errno, EIO);
}

TEST_F(Resctrl, RefusesWhatTheKernelDoesNotWrite) {
  for (const char* text :
       {"", "\n", "12", "x\n", "-1\n", "1 2\n", "18446744073709551616\n", "unavailable\n", "Unavailabl\n"}) {
    set("", "00", "llc_occupancy", text);
    EXPECT_EQ(refresh_once().error().code, ErrorCode::kData) << text;
  }
}

TEST_F(Resctrl, RefusesFiguresThatWouldBeOneSeriesTwice) {
  set("", "01", "llc_occupancy", "1\n");
  EXPECT_TRUE(refresh_once());
  set("", "1", "llc_occupancy", "2\n");
  auto result = refresh_once();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().detail, "has a file twice, two groups of equal names, or more than 8191 files");
  view_.contents.erase(kRoot + "/mon_data/mon_L3_1/llc_occupancy");
  set("/\x80", "00", "llc_occupancy", "3\n");
  EXPECT_TRUE(refresh_once());
  set("/\x81", "00", "llc_occupancy", "4\n");
  result = refresh_once();
  ASSERT_TRUE(fails(result, ErrorCode::kData));
}

}  // namespace
}  // namespace memstat::linux_resctrl_test
