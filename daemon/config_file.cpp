// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "core/source.h"

namespace memstat {
namespace {

Result<std::string> read_descriptor(int descriptor, const std::string& path) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = pread(descriptor, piece, sizeof piece, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, errno);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > kMaxConfigBytes) return data_error(path, text.size(), "is larger than a configuration may be (1 MiB)");
  }
}

}  // namespace

ConfigFile::~ConfigFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<std::string> ConfigFile::read() {
  Result<std::string> text = read_config_file(path_);
  if (text) {
    const int fresh = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fresh >= 0) {
      if (descriptor_ >= 0) close(descriptor_);
      descriptor_ = fresh;
    }
    return text;
  }
  if (text.error().code != ErrorCode::kPermission || descriptor_ < 0) return text;
  struct stat kept = {};
  struct stat named = {};
  const bool is_gone = fstat(descriptor_, &kept) != 0 || kept.st_nlink == 0;
  // The name can be looked up when only the file itself is closed to us; where its folder is, too, the link count must do.
  const bool is_other =
      !is_gone && stat(path_.c_str(), &named) == 0 && (named.st_dev != kept.st_dev || named.st_ino != kept.st_ino);
  if (is_gone || is_other) {
    text.error().detail =
        "the file was replaced by one that memstatd may not read since it gave up root; make it (and its "
        "folders) readable for the account of the key user, or restart";
    return text;
  }
  return read_descriptor(descriptor_, path_);
}

ConfigResult ConfigFile::load() {
  if (path_.empty()) return Config{};
  const Result<std::string> text = read();
  if (!text) return ConfigProblems{{to_string(text.error())}};
  std::vector<std::string_view> sources;
  std::vector<std::span<const SourceOption>> options;
  for (const SourceDescriptor* source : all_sources()) {
    sources.push_back(source->name);
    options.push_back(source->options);
  }
  return load_config_text(*text, path_, ConfigContext{.sources = sources, .options = options});
}

}  // namespace memstat
