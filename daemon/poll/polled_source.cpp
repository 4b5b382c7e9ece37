// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/poll/polled_source.h"

#include <algorithm>
#include <utility>

#include "daemon/poll/source_settings.h"

namespace memstat {
namespace {

/// When to try again what this kernel lacks or does not permit: a module may be loaded, a pool of huge pages created, a
/// sysctl set.
constexpr std::chrono::nanoseconds kAbsentInterval = std::chrono::seconds(60);

std::uint64_t bytes_of(const RawBytes& raw) {
  std::uint64_t bytes = 0;
  for (const Buffer& part : raw.parts) bytes += part.size();
  for (const RawFile& file : raw.files) bytes += file.bytes.size();
  return bytes;
}

}  // namespace

PolledSource::PolledSource(const SourceDescriptor& source, std::size_t index, OnChange on_change)
    : descriptor_(&source),
      index_(index),
      on_change_(std::move(on_change)),
      reader_(std::make_shared<SourceReader>(source)) {
  status_.name = source.name;
  status_.origin = source.origin;
}

void PolledSource::relate(PolledSource& earlier) {
  const std::string_view replaced = earlier.descriptor_->replaces;
  if (replaced.empty() || earlier.descriptor_->allocator != descriptor_->allocator) return;
  if (!descriptor_->is_roster && descriptor_->replaces.empty()) cover_ = &earlier;
  if (replaced != descriptor_->name) return;
  replacement_ = &earlier;
  earlier.replaced_ = this;
}

void PolledSource::configure(const Config& config, bool is_replay) {
  config_ = config_of(*descriptor_, config);
  if (is_replay) config_.is_on_by_mode = descriptor_->is_traced;
  new_options_ = option_values(*descriptor_, config_, config);
  has_new_options_ = true;
  next_due_ns_ = INT64_MIN;
  is_off_ = memstat::is_off(*descriptor_, config_);
  if (is_off_) {
    refusal_.clear();
    outcome_ = {.kind = Outcome::Kind::kAbsent};
    set_state(SourceState::kOff, "");
  } else if (status_.state == SourceState::kOff) {
    set_state(SourceState::kUnknown, "");
  }
}

void PolledSource::prepare() {
  ReaderState& state = *reader_->state;
  const bool is_shared = has_cover();
  state.given_fields = is_shared ? cover_->descriptor_->fields : FieldMask();
  state.given_node_fields = is_shared ? cover_->descriptor_->node_fields : NodeFieldMask();
  if (!std::exchange(has_new_options_, false)) return;
  state.options.swap(new_options_);
}

void PolledSource::opened(const Result<void>& result) {
  is_open_ = result.has_value();
  if (is_open_) return;
  const Error& error = result.error();
  // Noted now: after the privilege drop, later polls see only EACCES.
  was_absent_at_start_ = error.code == ErrorCode::kNotPresent;
  // The state is set here, so that the first poll does not log it again.
  if (was_absent_at_start_) {
    if (has_cover()) return set_covered();
    if (config_.enabled == Switch::kAuto) set_state(SourceState::kAbsent, to_string(error));
    return;
  }
  open_failure_ = error.code;
  if (is_refusal(error)) {
    refusal_ = to_string(error);
  } else {
    set_state(SourceState::kDown, to_string(error));
  }
}

void PolledSource::set_next_due(std::int64_t now_ns, std::chrono::nanoseconds poll_interval) {
  // A tenth of tolerance: a poll that comes slightly early must not delay the source by a whole interval.
  if (interval().count() > 0) next_due_ns_ = now_ns + interval().count() - poll_interval.count() / 10;
}

bool PolledSource::was_not_due(const Error& error, std::int64_t now_ns) const {
  return error.code == ErrorCode::kNotPresent && last_read_ns_ != INT64_MIN &&
         now_ns - last_read_ns_ <= 2 * interval().count();
}

/// Whether `error` is a missing privilege that the source never had. With `enabled: on` it is a failure instead.
bool PolledSource::is_refusal(const Error& error) const {
  const bool was_open_refused = !open_failure_ || *open_failure_ == ErrorCode::kPermission;
  return error.code == ErrorCode::kPermission && !descriptor_->needs.empty() && config_.enabled == Switch::kAuto &&
         !was_up_ && was_open_refused;
}

/// Whether the kernel lacks what the source reads, as far as `error` can tell. Without descriptors the kernel fails before
/// it looks for the file, and without privileges, too: what was absent is then still absent.
bool PolledSource::is_absence(const Error& error) const {
  const bool is_hidden = (error.code == ErrorCode::kPermission && was_absent_at_start_) ||
                         (lacks_descriptors(error) && status_.state == SourceState::kAbsent);
  return (error.code == ErrorCode::kNotPresent || is_hidden) && config_.enabled == Switch::kAuto && !was_up_;
}

void PolledSource::succeeded(double read_seconds, std::int64_t now_ns, double unix_seconds) {
  const Staging& staging = reader_->staging;
  last_read_ns_ = now_ns;
  was_up_ = true;
  refusal_.clear();
  status_.note = staging.note();
  status_.types = staging.types().size();
  status_.read_seconds = read_seconds;
  status_.read_bytes = bytes_of(reader_->raw);
  outcome_ = {.kind = Outcome::Kind::kSucceeded,
              .report = {.read_seconds = read_seconds,
                         .read_bytes = status_.read_bytes,
                         .types = status_.types,
                         .success_timestamp_seconds = unix_seconds}};
  set_state(SourceState::kUp, "");
}

void PolledSource::failed(const Error& error, double read_seconds, std::int64_t now_ns) {
  if (is_absence(error)) {
    outcome_ = {.kind = Outcome::Kind::kAbsent};
    retry_in_a_minute(now_ns);
    const bool is_why = error.code == ErrorCode::kNotPresent || status_.state != SourceState::kAbsent;
    if (is_why) set_state(SourceState::kAbsent, to_string(error));
    return;
  }
  outcome_ = {.kind = Outcome::Kind::kFailed, .report = {.read_seconds = read_seconds}, .code = error.code};
  if (is_refusal(error)) {
    if (refusal_.empty()) refusal_ = to_string(error);  // keep the error from open()
    return;
  }
  refusal_.clear();
  // The error from open() stays: it was made with privileges and has a remedy, and losing them afterwards is expected.
  const bool is_old = open_failure_ == error.code || (open_failure_ && error.code == ErrorCode::kPermission);
  if (status_.state == SourceState::kDown && is_old) return;
  open_failure_.reset();
  set_state(SourceState::kDown, to_string(error));
}

void PolledSource::set_replaced() {
  next_due_ns_ = INT64_MIN;  // at once, if it is needed
  if (status_.state == SourceState::kReplaced || status_.state == SourceState::kAbsent) return;
  outcome_ = {.kind = Outcome::Kind::kAbsent};
  set_state(SourceState::kReplaced, std::string(replacement_->descriptor_->name) + " replaces it");
}

void PolledSource::set_covered() {
  next_due_ns_ = INT64_MIN;  // at once, if it is needed
  outcome_ = {.kind = Outcome::Kind::kAbsent};
  set_state(SourceState::kReplaced, std::string(cover_->descriptor_->name) + " has its figures");
}

void PolledSource::classify_refusal(std::int64_t now_ns) {
  if (refusal_.empty() || is_likely_replaced()) return;
  const bool was_read = outcome_.kind == Outcome::Kind::kFailed;
  if (is_optional()) {
    outcome_ = {.kind = Outcome::Kind::kNotPermitted};
    if (was_read) retry_in_a_minute(now_ns);
    return set_state(SourceState::kNotPermitted, refusal_);
  }
  if (status_.state == SourceState::kNotPermitted) {  // the roster that had its types is gone
    next_due_ns_ = INT64_MIN;
    outcome_ = {.kind = Outcome::Kind::kFailed, .code = ErrorCode::kPermission};
  }
  set_state(SourceState::kDown, refusal_);
}

void PolledSource::report(SelfMetrics& metrics) {
  const Outcome outcome = std::exchange(outcome_, Outcome{});
  const std::string_view name = descriptor_->name;
  switch (outcome.kind) {
    case Outcome::Kind::kNone: break;
    case Outcome::Kind::kSucceeded: metrics.source_succeeded(name, outcome.report); break;
    case Outcome::Kind::kFailed: metrics.source_failed(name, outcome.code, outcome.report.read_seconds); break;
    case Outcome::Kind::kAbsent: metrics.source_absent(name); break;
    case Outcome::Kind::kNotPermitted: metrics.source_not_permitted(name, descriptor_->needs); break;
  }
}

void PolledSource::forget_reads() {
  next_due_ns_ = last_read_ns_ = INT64_MIN;
  was_up_ = false;
  if (is_up()) reader_->staging.statistics().clear();
}

void PolledSource::retry_in_a_minute(std::int64_t now_ns) {
  next_due_ns_ = std::max<std::int64_t>(next_due_ns_, now_ns + kAbsentInterval.count());
}

void PolledSource::set_state(SourceState state, std::string_view error) {
  if (status_.state == state && status_.error == error) return;  // logged once, then counted
  const SourceState before = std::exchange(status_.state, state);
  status_.error = error;
  status_.needs = refusal_.empty() ? std::string_view() : descriptor_->needs;
  on_change_(*this, before);
}

}  // namespace memstat
