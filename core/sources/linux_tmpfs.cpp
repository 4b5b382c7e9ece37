// SPDX-License-Identifier: BSD-2-Clause
// Mounts of tmpfs and their content: files in memory that outlive the program that wrote them and can only be swapped out.
// No file reports the sizes, so this source reads a table, which core/collect/tmpfs_table.h describes.
#include <memory>

#include "core/collect/tmpfs_table.h"
#include "core/source.h"

namespace memstat::sources::linux_tmpfs {
namespace {

constexpr std::string_view kName = "linux_tmpfs";

constexpr SystemMetric kTmpfsBytes =
    gauge_metric("memstat_tmpfs_bytes", Tier::kDefault, "Bytes of memory and swap held by a tmpfs mount now.", {"mount"});

constexpr SystemMetric kTmpfsLimitBytes = gauge_metric(
    "memstat_tmpfs_limit_bytes", Tier::kDefault, "Maximum bytes that a tmpfs mount may hold (option size=).", {"mount"});

constexpr SystemMetric kTmpfsFiles =
    gauge_metric("memstat_tmpfs_files", Tier::kFull, "Files and directories in a tmpfs mount now.", {"mount"});

constexpr SystemMetric kTmpfsLimitFiles =
    gauge_metric("memstat_tmpfs_limit_files", Tier::kFull,
                 "Maximum files and directories that a tmpfs mount may have (option nr_inodes=).", {"mount"});

constexpr SystemMetric kTmpfsLeftOut = gauge_metric(
    "memstat_tmpfs_mounts_left_out", Tier::kDefault,
    "Mounts of tmpfs without their own series: smaller than the 16 largest, without a size limit, or inaccessible.");

constexpr SystemMetric kTmpfsLeftOutBytes =
    gauge_metric("memstat_tmpfs_left_out_bytes", Tier::kDefault,
                 "Total bytes now in mounts of tmpfs that are smaller than the 16 largest.");

struct State final : ReaderState {
  std::unique_ptr<TextTableSource> table = std::make_unique<TmpfsTable>();
};

/// Views name a table after its source; for people, name the file instead.
Result<void> under_mountinfo(Result<void> result) {
  if (!result) result.error().path = TmpfsTable::kPath;
  return result;
}

Result<void> open(KernelView& view, RawBytes&, State& state) {
  return under_mountinfo(view.open_table(kName, *state.table));
}

Result<void> read(KernelView& view, RawBytes& raw, State& state) {
  return under_mountinfo(view.read_table(kName, *state.table, raw.parts[0]));
}

Result<void> parse(const RawBytes& raw, Staging& staging) {
  staging.reset({}, 0);
  TmpfsMounts table;
  if (const auto offset = read_tmpfs_table(raw.parts[0].view(), table)) {
    return data_error(TmpfsTable::kPath, *offset, "the table of tmpfs mounts is truncated or malformed");
  }
  StagedStatistics& statistics = staging.statistics();
  for (std::size_t i = 0; i < table.size; ++i) {
    const TmpfsMount& mount = table.mounts[i];
    // Paths may become equal as labels, once invalid bytes are replaced and long ones are cut.
    if (!statistics.add_new(kTmpfsBytes, mount.bytes, {mount.path})) continue;
    statistics.add(kTmpfsLimitBytes, mount.limit_bytes, {mount.path});
    statistics.add(kTmpfsFiles, mount.files, {mount.path});
    if (mount.max_files != 0) statistics.add(kTmpfsLimitFiles, mount.max_files, {mount.path});
  }
  statistics.add(kTmpfsLeftOut, table.left_out);
  statistics.add(kTmpfsLeftOutBytes, table.left_out_bytes);
  return {};
}

constexpr MetricOrigin kOrigins[] = {
    {kTmpfsBytes, "(f_blocks - f_bfree) x f_bsize of statfs(2)"},
    {kTmpfsLimitBytes, "f_blocks x f_bsize of statfs(2)"},
    {kTmpfsFiles, "f_files - f_ffree of statfs(2)"},
    {kTmpfsLimitFiles, "f_files of statfs(2), none if it is 0"},
    {kTmpfsLeftOut, "mounts in /proc/self/mountinfo without series"},
    {kTmpfsLeftOutBytes, "sum of (f_blocks - f_bfree) x f_bsize of statfs(2)"},
};

}  // namespace

extern const SourceDescriptor descriptor{
    .name = "linux_tmpfs",
    .origin = "/proc/self/mountinfo, statfs(2)",
    .os = OperatingSystem::kLinux,
    .origins = kOrigins,
    .interval = std::chrono::seconds(30),
    .max_files = 1,
    .notes =
        "needs no privilege; sees the mounts of memstatd's mount namespace, so a service with PrivateTmp= has a /tmp of its "
        "own; memstatctl who tmpfs examines all namespaces; a file system that is mounted in several places counts once, at "
        "the "
        "first; a path is as in mountinfo, with \\040 for a blank; the kernel does not report the content of a mount "
        "without a size limit",
    .steps = source_steps<State, open, read, parse>(),
};

}  // namespace memstat::sources::linux_tmpfs
