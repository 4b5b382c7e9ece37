// SPDX-License-Identifier: BSD-2-Clause
// The locations of the tests' data, and directories that remove themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/capture/replay_view.h"
#include "core/capture/tar.h"

namespace memstat {

/// The path of a file of the repository: "config/memstatd.yaml".
std::string source_path(const std::string& name);

/// The path of a file in tests/fixtures: "captures/linux-6.12-4cpu.tar.zst".
std::string fixture_path(const std::string& name);

/// A capture of tests/fixtures/captures by its file name, with poll 0 selected. Never null: ends the test program with a
/// message when it cannot be opened. Its files are unpacked once and stay in memory until the program ends.
std::unique_ptr<ReplayKernelView> open_fixture(const std::string& capture_file_name);

/// A member of an archive, and its content.
struct ArchivedFile {
  TarMember header;
  std::string bytes;
};

/// All members of a capture's archive in tests/fixtures/captures, in order, including oracle/. Ends the test program when it
/// cannot be read.
std::vector<ArchivedFile> members_of_fixture(const std::string& capture_file_name);

/// The captures that show a source: the lines of tests/fixtures/sources/NAME.captures without comments. Ends the test
/// program when there is no such list.
std::vector<std::string> captures_of_source(const std::string& source_name);

/// A new, empty directory under $TMPDIR or /tmp, removed with its content by the destructor.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The path of a file in it.
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Writes a file, making the directories above it. Ends the test program when that fails.
void write_text(const std::string& path, const std::string& bytes);
/// The whole of a file. Ends the test program when that fails.
std::string read_text(const std::string& path);

}  // namespace memstat
