// SPDX-License-Identifier: BSD-2-Clause
#include "core/collect/plan_reader.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "core/collect/reuse.h"
#include "core/collect/root_only.h"

namespace memstat {
namespace {

/// How long seldom files count as read where polls are rare: a minute, and polls come a little early.
constexpr std::int64_t kSeldomNs = 59'000'000'000;

bool is_refused(const Error& error) { return error.code == ErrorCode::kPermission; }

/// Whether the source does without a file that gave this error.
bool may_be_left_out(ReadNeed need, const Error& error) {
  if (need == ReadNeed::kExtra) return true;
  const bool is_gone = error.code == ErrorCode::kNotPresent || is_refused(error) || lacks_descriptors(error);
  return need == ReadNeed::kOptional && is_gone;
}

/// The directories of a pattern, whose last component may have a "*" at its end. Error: of a directory that cannot be
/// listed.
Result<void> expand(KernelView& view, const std::string& directory, std::string_view rest, std::vector<std::string>& found) {
  const std::size_t star = rest.find('*');
  if (star == std::string_view::npos) {
    found.push_back(directory + std::string(rest));
    return {};
  }
  const std::size_t slash = rest.rfind('/', star);
  const std::string parent = directory + std::string(rest.substr(0, slash));
  const std::string_view prefix = rest.substr(slash + 1, star - slash - 1);
  std::vector<std::string> names;
  if (auto result = view.list_directory(parent, names); !result) return result;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    auto result = expand(view, parent + "/" + name, rest.substr(star + 1), found);
    if (!result && result.error().code != ErrorCode::kNotPresent) return result;
  }
  return {};
}

/// Only the absence of a directory shows that it has no files.
bool may_lack_directories(ReadNeed need, const Error& error) {
  return need == ReadNeed::kExtra || (need == ReadNeed::kOptional && error.code == ErrorCode::kNotPresent);
}

std::string_view directory_of(const PlannedFile& file) { return file.path.substr(0, file.path.rfind('/')); }

/// The files of `plan`, in its order. Neighbours in one pattern of directories are together by directory.
Result<void> find_files(KernelView& view, std::span<const PlannedFile> plan, std::vector<RawFile>& files) {
  files.clear();
  for (std::size_t begin = 0, end = 0; begin < plan.size(); begin = end) {
    const std::string_view pattern = directory_of(plan[begin]);
    std::vector<std::string> directories;
    auto result = expand(view, {}, pattern, directories);
    if (result && directories.empty()) result = system_error(pattern.substr(0, pattern.rfind('/')), ENOENT);
    if (!result && !may_lack_directories(plan[begin].need, result.error())) return result;
    while (end < plan.size() && directory_of(plan[end]) == pattern) ++end;
    for (const std::string& directory : directories) {
      for (std::size_t i = begin; i < end; ++i) {
        files.push_back({.path = directory + std::string(plan[i].path.substr(pattern.size())), .planned = i});
      }
    }
  }
  return {};
}

void repeat(RawFile& file) {
  file.state = FileState::kRepeated;
  ++file.age_reads;
}

/// Reads one file that is due. The content of a seldom file survives a lack of descriptors.
Result<void> read_due(KernelView& view, const PlannedFile& planned, Buffer& scratch, RawFile& file) {
  const bool may_repeat = planned.time == ReadTime::kSeldom && file.has_content();
  Buffer& out = may_repeat ? scratch : file.bytes;
  auto result = view.read_file(file.path, out);
  if (!result && may_repeat && lacks_descriptors(result.error())) {
    repeat(file);
    return {};
  }
  if (may_repeat && result) file.bytes.assign(scratch.view());
  if (planned.time == ReadTime::kSeldom) scratch.reserve(file.bytes.capacity());  // now: the next read is four polls away
  if (!result) file.bytes.clear();
  file.age_reads = 0;
  file.state = result ? FileState::kRead : is_refused(result.error()) ? FileState::kRefused : FileState::kAbsent;
  return result;
}

/// Whether to read a wanted file now; `is_turn`: seldom files are due, and absent ones are looked for.
bool is_due(KernelView& view, const PlannedFile& planned, const RawFile& file, bool is_turn) {
  if (file.state == FileState::kUnwanted) return true;
  if (planned.need == ReadNeed::kRequired && !file.has_content()) return true;
  if (file.has_content()) return is_turn || planned.time == ReadTime::kEachRead;
  return is_turn && view.may_read(file.path);
}

/// Reads a file, or repeats or drops its content. Error: why the source must go without it.
Result<void> take_file(KernelView& view, const PlannedFile& planned, bool is_turn, const RawBytes& raw, ReaderState& state,
                       RawFile& file) {
  if (planned.is_wanted != nullptr && !planned.is_wanted(raw, state)) {
    file.state = FileState::kUnwanted;
    file.bytes.clear();
    return {};
  }
  if (is_due(view, planned, file, is_turn)) return read_due(view, planned, state.plan.scratch, file);
  if (file.has_content()) repeat(file);
  return {};
}

}  // namespace

Result<void> open_plan(KernelView& view, std::span<const PlannedFile> plan, RawBytes& raw) {
  if (auto result = find_files(view, plan, raw.files); !result) return result;
  for (const RawFile& file : raw.files) {
    const PlannedFile& planned = plan[file.planned];
    if (!planned.is_kept_open) continue;
    auto result = view.keep_open(file.path);
    if (result || may_be_left_out(planned.need, result.error())) continue;
    if (is_refused(result.error())) result.error().detail = kRootOnly;
    return result;
  }
  return {};
}

Result<void> read_plan(KernelView& view, std::span<const PlannedFile> plan, RawBytes& raw, ReaderState& state) {
  if (raw.files.empty()) {
    if (auto result = find_files(view, plan, raw.files); !result) return result;
  }
  const std::int64_t now_ns = view.clock().monotonic_ns();
  const bool is_turn = !may_skip(view, state.plan.reads++) || now_ns - state.plan.seldom_read_at_ns >= kSeldomNs;
  if (is_turn) state.plan.seldom_read_at_ns = now_ns;
  std::optional<Error> first;
  bool has_any = false;
  for (RawFile& file : raw.files) {
    const PlannedFile& planned = plan[file.planned];
    auto result = take_file(view, planned, is_turn, raw, state, file);
    if (!result && !may_be_left_out(planned.need, result.error())) {
      state.plan.reads = 0;  // the next read is due as a whole
      return result;
    }
    if (!result && !first) first = std::move(result.error());
    has_any = has_any || file.has_content();
  }
  if (!has_any && first) return *std::move(first);
  return {};
}

std::optional<std::uint64_t> number_of(const RawFile& file) {
  const std::string_view text = file.has_content() ? file.bytes.view() : std::string_view();
  return text.ends_with('\n') ? parse_u64(trim(text)) : std::nullopt;
}

}  // namespace memstat
