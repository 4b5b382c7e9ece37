// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fixtures.h"

#include <fcntl.h>
#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <system_error>

#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/base/unique_fd.h"
#include "core/capture/archive.h"
#include "core/capture/archive_stream.h"

namespace memstat {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "the test cannot continue: %s\n", why.c_str());
  std::abort();
}

/// The files of a capture that other views of it use as well.
class SharedFiles final : public CaptureFiles {
 public:
  explicit SharedFiles(std::shared_ptr<const CaptureFiles> files) : files_(std::move(files)) {}

  [[nodiscard]] const std::string& name() const override { return files_->name(); }
  Result<FileKind> kind(std::string_view path) const override { return files_->kind(path); }
  Result<void> read(std::string_view path, Buffer& out) const override { return files_->read(path, out); }
  Result<std::string> read_link(std::string_view path) const override { return files_->read_link(path); }
  Result<void> list(std::string_view path, std::vector<std::string>& names) const override {
    return files_->list(path, names);
  }

 private:
  std::shared_ptr<const CaptureFiles> files_;
};

/// Unpacking takes longer than most tests, so a test program does it once for each capture.
std::shared_ptr<const CaptureFiles> files_of_capture(const std::string& path) {
  static Mutex mutex;
  static std::map<std::string, std::shared_ptr<const CaptureFiles>> known;
  const MutexLock lock(mutex);
  std::shared_ptr<const CaptureFiles>& files = known[path];
  if (files == nullptr) {
    auto opened = open_capture_files(path);
    if (!opened) give_up(to_string(opened.error()));
    files = *std::move(opened);
  }
  return files;
}

}  // namespace

std::string source_path(const std::string& name) { return MEMSTAT_SOURCE_DIR "/" + name; }

std::string fixture_path(const std::string& name) { return source_path("tests/fixtures/" + name); }

std::unique_ptr<ReplayKernelView> open_fixture(const std::string& capture_file_name) {
  const auto files = files_of_capture(fixture_path("captures/" + capture_file_name));
  auto capture = ReplayKernelView::open(std::make_unique<SharedFiles>(files));
  if (!capture) give_up(to_string(capture.error()));
  return std::move(*capture);
}

std::vector<ArchivedFile> members_of_fixture(const std::string& capture_file_name) {
  const std::string path = fixture_path("captures/" + capture_file_name);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto stream = open_archive_stream(path, fd.get());
  if (!stream) give_up(to_string(stream.error()));
  TarReader reader(**stream);
  std::vector<ArchivedFile> members;
  while (true) {
    ArchivedFile file;
    const auto more = reader.next(file.header);
    if (!more) give_up(path + ": " + to_string(more.error()));
    if (!*more) return members;
    while (true) {
      const auto piece = reader.content();
      if (!piece) give_up(path + ": " + to_string(piece.error()));
      if (piece->empty()) break;
      file.bytes += *piece;
    }
    members.push_back(std::move(file));
  }
}

std::vector<std::string> captures_of_source(const std::string& source_name) {
  const std::string text = read_text(fixture_path("sources/" + source_name + ".captures"));
  std::vector<std::string> names;
  std::string_view rest = text;
  std::string_view line;
  while (next_line(rest, line)) {
    line = trim(line);
    if (!line.empty() && line.front() != '#') names.emplace_back(line);
  }
  return names;
}

TemporaryDirectory::TemporaryDirectory() {
  const char* parent = std::getenv("TMPDIR");
  path_ = std::string(parent == nullptr || *parent == '\0' ? "/tmp" : parent) + "/memstat-test-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) give_up("cannot make a directory like " + path_);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_text(const std::string& path, const std::string& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) give_up("cannot write " + path);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace memstat
