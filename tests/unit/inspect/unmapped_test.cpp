// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/support/process_kernel.h"

namespace memstat::inspections::unmapped {
namespace {

TEST(WhoUnmapped, SharedMemoryBeyondAllMappedPages) {
  ProcessKernel kernel;
  kernel.files["/proc/meminfo"] = "MemTotal:  468640 kB\nMapped:      5800 kB\nShmem:     175104 kB\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "unmapped")),
            "files in tmpfs, segments without a process, and memfds 173367296B");
  kernel.files["/proc/meminfo"] = "Mapped:    175104 kB\nShmem:     175104 kB\n";
  EXPECT_EQ(holders_text(answer_of(kernel, "unmapped")), "") << "all of it may be mapped";
}

TEST(WhoUnmapped, WithoutEitherLineThereIsNoAnswer) {
  ProcessKernel kernel;
  EXPECT_EQ(inspect(kernel, *find_inspection("unmapped")).error().code, ErrorCode::kNotPresent);
  kernel.files["/proc/meminfo"] = "Shmem:     175104 kB\nMapped: many kB\n";
  EXPECT_EQ(inspect(kernel, *find_inspection("unmapped")).error().code, ErrorCode::kData);
}

}  // namespace
}  // namespace memstat::inspections::unmapped
