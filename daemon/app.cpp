// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/app.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>

#include "core/base/free_heap.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/kernel/open_view.h"
#include "daemon/config_file.h"
#include "daemon/http/server.h"
#include "daemon/incidents/incident_keeper.h"
#include "daemon/listings.h"
#include "daemon/options.h"
#include "daemon/poll/answer_finder.h"
#include "daemon/poll/capture_bound.h"
#include "daemon/poll/pacer.h"
#include "daemon/poll/poll_recorder.h"
#include "daemon/poll/recorder.h"
#include "daemon/poll/source_settings.h"
#include "daemon/privileges/account.h"
#include "daemon/privileges/privileges.h"
#include "daemon/process/helpers.h"
#include "daemon/process/out_of_memory.h"
#include "daemon/process/signals.h"
#include "daemon/process/startup.h"
#include "daemon/process/stop_deadline.h"
#include "daemon/selftest/selftest.h"
#include "daemon/serve/authentication.h"
#include "daemon/serve/endpoints.h"
#include "daemon/serve/textfile.h"
#include "daemon/service/network_filter.h"
#include "daemon/service/service_watch.h"
#include "daemon/telemetry/log.h"

namespace memstat {
namespace {

constexpr std::chrono::milliseconds kLogPatience{200};
constexpr std::chrono::seconds kKillPatience{2};
constexpr auto kNoDeadline = TimePoint::max();

/// The daemon after options and configuration are known.
class App {
 public:
  App(CommandLine options, ConfigFile& file, Config config, ServiceManager manager)
      : options_(std::move(options)),
        file_(file),
        config_(std::move(config)),
        manager_(std::move(manager)),
        log_(config_.log) {
    publish_settings();
  }

  int run();

 private:
  Result<void> open_kernel();
  Result<void> listen();
  int once();
  bool finish_recording(PollRecorder& recorder, const std::function<bool()>& must_stop = {});
  std::unique_ptr<PollPacer> make_pacer(PollRecorder& recorder);
  int serve();
  void make_threads();
  void watch();
  [[nodiscard]] std::string service_status() const;
  int stop(int signal);
  int fail(std::string_view message);
  Result<void> give_up_privileges();
  Result<void> start_server();
  int wait_for_signals();
  std::vector<std::string> reload();
  [[nodiscard]] HostInfo host() const;
  /// The time of a poll's figures; empty for a live kernel, where it is now.
  [[nodiscard]] std::function<std::int64_t()> realtime_of_polls() const {
    if (capture_ == nullptr) return {};
    return [capture = capture_] { return capture->poll_info(capture->selected_poll()).realtime_ns; };
  }
  /// Of the polls: the capture's, if it is a replay.
  [[nodiscard]] const Clock& kernel_clock() const {
    return replay_clock_ ? static_cast<const Clock&>(*replay_clock_) : clock_;
  }
  [[nodiscard]] std::function<void(LogLevel, std::string_view)> log_function() {
    return [this](LogLevel level, std::string_view message) { log_.write(level, message); };
  }

  /// The configuration values that HTTP threads use.
  struct Published {
    std::chrono::nanoseconds scrape_age{0};  // key poll.on_scrape; 0: off
    bool has_per_cpu = false;                // whether key per_cpu selects any type
  };
  [[nodiscard]] Published published() {
    const MutexLock lock(published_mutex_);
    return published_;
  }
  void publish_settings() {
    const MutexLock lock(published_mutex_);
    published_ = {.scrape_age = config_.poll.on_scrape.value_or(std::chrono::nanoseconds(0)),
                  .has_per_cpu = !config_.per_cpu.allocators.empty() || !config_.per_cpu.types.empty()};
  }

  CommandLine options_;
  ConfigFile& file_;
  Config config_;
  const ServiceManager manager_;
  Log log_;
  SystemClock clock_;
  SelfMetrics metrics_{MEMSTAT_VERSION};
  SnapshotPool pool_;
  ReplayKernelView* capture_ = nullptr;  // set for a replay; owned by view_ or recorder_
  AnswerFinder answers_;                 // of the capture
  std::optional<ReplayClock> replay_clock_;
  std::unique_ptr<Recorder> recorder_;
  IncidentKeeper incidents_;
  bool recording_hangs_ = false;                 // its thread still uses our members
  std::atomic<bool> is_recording_open_ = false;  // not finished yet
  std::atomic<bool> has_polled_all_ = false;     // all polls of --polls are done
  std::optional<Textfile> textfile_;
  std::unique_ptr<TextfileWriter> textfile_writer_;
  std::shared_ptr<KernelView> view_;
  std::unique_ptr<Poller> poller_;
  EventHelper helper_{log_, metrics_};
  HolderHelper holder_helper_{log_, metrics_};
  KernelReader reader_{log_, metrics_};
  HttpListeners listeners_;
  HostInfo host_;  // known members only
  Authentication authentication_{config_.basic_auth};
  std::unique_ptr<HttpServer> server_;
  Mutex reload_mutex_;
  ServiceWatch* watch_ MEMSTAT_GUARDED_BY(reload_mutex_) = nullptr;  // outlives all callers of reload
  Mutex published_mutex_;
  Published published_ MEMSTAT_GUARDED_BY(published_mutex_);
  bool is_memory_locked_ = false;
  std::vector<UniqueFd> pinned_paths_;  // see PrivilegeReport

  // Used by threads while the daemon serves, in order of creation.
  std::unique_ptr<StopDeadline> stop_deadline_;
  std::unique_ptr<PollRecorder> poll_recorder_;
  std::unique_ptr<PollPacer> pacer_;
  std::unique_ptr<PollLoop> loop_;
  std::unique_ptr<Pages> pages_;
  std::unique_ptr<ServiceWatch> service_watch_;
};

// Must come first: sources keep thousands of files open, and a port below 1024 needs root.
Result<void> App::listen() {
  auto listeners = open_listeners(config_);
  if (!listeners && listeners.error().system_errno == EADDRINUSE && options_.is_demo && options_.listen.empty()) {
    log_.warning(listeners.error().path + " is taken, so the demo takes a free port");
    config_.listen = {*parse_listen_address("127.0.0.1:0")};
    listeners = open_listeners(config_);
  }
  if (!listeners) return listeners.error();
  listeners_ = *std::move(listeners);
  host_.warning = network_filter_warning(config_.listen, config_.allow);
  if (!host_.warning.empty()) log_.warning(host_.warning);
  return {};
}

Result<void> App::open_kernel() {
  const bool is_replay = !options_.replay.empty();
  // A directory is read poll by poll, which may not be permitted after root is given up.
  const bool will_drop = !options_.once && geteuid() == 0 && !config_.user.empty();
  const Result<std::uint64_t> max_bytes = is_replay ? capture_bound(options_.replay_max) : kMaxCaptureBytes;
  if (!max_bytes) return max_bytes.error();
  view_ = reader_.view();
  if (view_ == nullptr) {
    auto opened =
        open_view(is_replay ? options_.replay : std::string(kLiveReference),
                  {.takes_poll = false, .load_now = will_drop || KernelReader::is_wanted(config_), .max_bytes = *max_bytes});
    if (!opened) return opened.error();
    capture_ = opened->capture;
    view_ = std::move(opened->view);
    for (const std::string& note : opened->notes) log_.warning(options_.replay + ": " + note);
  }
  if (!is_replay) {
    for (const std::string& line : host_.mounts = missing_mounts(*view_, all_sources())) {
      log_.write(options_.once ? LogLevel::kInfo : LogLevel::kDebug, line);  // doctor and the page have them
    }
  }
  if (is_replay && capture_ == nullptr) {
    return Error{ErrorCode::kNotPresent, {}, options_.replay, 0, {}, "is not a capture; only a capture can be replayed"};
  }
  if (!config_.textfile.empty()) {
    auto textfile = Textfile::open(config_.textfile);
    if (!textfile) return textfile.error();
    textfile_ = *std::move(textfile);
  }
  const AccountNumbers account = will_drop ? account_numbers(account_for(config_.user, kOwnUser)) : AccountNumbers{};
  const DirectoryOwner owner{.user = account.user, .group = account.group};
  if (is_replay && capture_ != nullptr) replay_clock_.emplace(*capture_);
  if (!config_.capture.record.empty()) {
    if (!options_.once) block_stop_signals();  // a recording must be finished properly
    auto recorder = Recorder::create(
        view_, config_, kernel_clock(),
        {.is_service = !options_.once, .owner = owner, .replayed = is_replay ? &capture_->manifest() : nullptr});
    if (!recorder) return recorder.error();
    recorder_ = *std::move(recorder);
    is_recording_open_ = true;
    view_ = recorder_->view();
    if (recorder_->path() != config_.capture.record) log_.info("recording to " + recorder_->path());
  }
  if (!options_.once)
    incidents_.open(view_, config_.incidents, kernel_clock(),
                    {.owner = owner, .is_replay = capture_ != nullptr, .log = log_function()});
  Poller::Options options{.is_replay = capture_ != nullptr,
                          .everything = options_.once && options_.tier.value_or(Tier::kFull) == Tier::kFull,
                          .unlimited = options_.once,
                          .reads_when_opened = reader_.number() != 0,
                          .log = log_function(),
                          .realtime_ns = realtime_of_polls(),
                          .holders = holder_helper_.channel(),
                          .why_no_holders = holder_helper_.why_not()};
  if (capture_ != nullptr) {
    options.recorded_answer = [this](const Inspection& inspection) { return answers_.find(*view_, capture_, inspection); };
  }
  poller_ = std::make_unique<Poller>(view_, clock_, metrics_, pool_, config_, std::move(options));
  poller_->open_sources();
  incidents_.end_opening();
  const std::string refused = options_.once ? "" : refused_sources_line(poller_->statuses());
  if (!refused.empty()) log_.info(refused);
  helper_.keep_if_needed();
  if (Result<void> sealed = reader_.seal(); !sealed) return sealed;
  give_back_free_heap();  // type information of the whole kernel, needed to load programs, takes 10 MB
  return {};
}

int App::once() {
  // Complete the recording even if the page's reader exits early (memstatd --once --record FILE | head).
  ignore_failing_writes();
  PollRecorder recorder(recorder_ ? recorder_->view() : nullptr, metrics_, log_function(), PollRecorder::Manner::kInPlace);
  bool any_up = false;
  const std::unique_ptr<PollPacer> pacer = make_pacer(recorder);
  while (const auto due_ns = pacer->next_due_ns()) {
    if (capture_ == nullptr) std::this_thread::sleep_until(TimePoint{std::chrono::nanoseconds(*due_ns)});
    any_up = poller_->poll(pacer->begin());
    pacer->finish();
  }
  const bool is_recorded = finish_recording(recorder);
  const std::shared_ptr<const RenderedSnapshot> snapshot = pool_.current();
  if (snapshot == nullptr) return kCouldNotRun;
  if (!print(page_of(*snapshot, options_.format)) || !print(metrics_.page(options_.format, snapshot->options)) ||
      !print(descriptor_of(options_.format).document_end)) {
    if (errno != EPIPE) return fail(std::string("cannot write the page to standard output: ") + std::strerror(errno));
  }
  if (textfile_) {
    if (const Result<void> written = textfile_->write(textfile_page(*snapshot, metrics_)); !written) {
      return fail(to_string(written.error()));
    }
  }
  if (!any_up) return fail("no source is up; see the log lines above");
  return is_recorded ? kDone : kCouldNotRun;
}

std::unique_ptr<PollPacer> App::make_pacer(PollRecorder& recorder) {
  if (capture_ == nullptr) {
    const auto polls = options_.once ? options_.polls.value_or(1) : options_.polls;
    return std::make_unique<LivePacer>(clock_, metrics_, recorder, config_, polls);
  }
  return std::make_unique<ReplayPacer>(
      clock_, *capture_, *poller_, recorder,
      ReplayPacer::Options{
          .speed = options_.replay_speed, .loop = options_.replay_loop && !options_.once, .polls = options_.polls});
}

bool App::finish_recording(PollRecorder& recorder, const std::function<bool()>& must_stop) {
  if (!recorder_) return true;
  Result<void> finished = recorder.stop(std::chrono::seconds(1), must_stop);
  recording_hangs_ = !finished && finished.error().code == ErrorCode::kTimeout;
  const Result<void> packed = recording_hangs_ ? Result<void>() : recorder_->finish(must_stop);  // whatever was written
  if (!packed) finished = packed;
  if (!finished) log_.error("the recording is incomplete: " + to_string(finished.error()));
  const bool is_empty = !recording_hangs_ && !recorder_->view()->has_polls();
  if (is_empty) {
    log_.error(recorder_->path() + " has no poll" +
               (pool_.current() == nullptr ? ": memstatd was stopped before the first one" : "") +
               (recorder_->can_remove() ? "; nothing is left of it" : ""));
  }
  is_recording_open_ = false;
  return finished && !is_empty;
}

HostInfo App::host() const {
  HostInfo host = host_;
  host.os = to_string(view_->os());
  host.release = view_->os_release();
  if (capture_ != nullptr) {
    host.machine = capture_->manifest().machine;
    host.replay = options_.replay;
    return host;
  }
  utsname system{};
  if (::uname(&system) == 0) {
    host.name = system.nodename;
    host.machine = system.machine;
  }
  return host;
}

Result<void> App::give_up_privileges() {
  PrivilegeOptions options{.user = account_for(config_.user, kOwnUser),
                           .sandbox = config_.sandbox,
                           .lock_memory = config_.lock_memory,
                           .readable_paths = {"/proc/self"},
                           .reads_kernel = capture_ == nullptr && reader_.number() == 0,
                           .reader = reader_.number()};
  if (!file_.path().empty()) {
    const std::string directory = std::filesystem::path(file_.path()).parent_path().string();
    options.readable_paths.push_back(directory.empty() ? "." : directory);
  }
  if (!options_.replay.empty()) options.readable_paths.push_back(options_.replay);
  if (capture_ == nullptr) {
    for (std::string& directory : reopened_directories(all_sources(), view_->os(), config_)) {
      std::error_code ignored;  // ignore directories that this kernel lacks
      if (std::filesystem::exists(directory, ignored)) options.readable_paths.push_back(std::move(directory));
    }
  }
  if (recorder_) options.writable_paths = recorder_->writable_paths();
  if (!incidents_.directory().empty()) options.writable_paths.push_back(incidents_.directory());
  if (textfile_) options.writable_paths.push_back(textfile_->directory());
  for (std::string& directory : socket_directories(config_)) options.writable_paths.push_back(std::move(directory));
  const std::string account = account_name(geteuid());
  // Sources may have used every descriptor; accounts, sandbox rules and threads need some. The front refills the spares.
  listeners_.spare().give_all();
  Result<PrivilegeReport> report = drop_privileges(options);
  if (!report) return report.error();
  if (!report->notes.empty()) log_.info(separated(report->notes, "; "));
  host_.runs_as = present_privileges(report->user_changed ? options.user : account);
  if (textfile_) {
    if (Result<void> writable = textfile_->check(); !writable) return writable;
  }
  pinned_paths_ = std::move(report->pinned_paths);
  is_memory_locked_ = report->memory_locked;
  metrics_.memory_locked(is_memory_locked_);
  return {};
}

Result<void> App::start_server() {
  HttpServerOptions options{.listen = config_.listen, .allow = config_.allow};
  options.log = [this](std::string_view message) { log_.write(LogLevel::kDebug, message); };
  auto server = HttpServer::start(std::move(options), std::move(listeners_), [this](const HttpRequest& request) {
    auto refusal = authentication_.refuse(request);
    return refusal ? *std::move(refusal) : pages_->respond(request);
  });
  if (!server) return server.error();
  server_ = *std::move(server);
  for (const std::string& address : server_->addresses())
    log_.info("listening on " + (address.starts_with("unix:") ? address : "http://" + address + "/"));
  if (options_.is_demo && !print("open http://" + server_->addresses().front() + "/ - Ctrl-C stops\n"))
    return system_error("standard output", errno, "cannot print the address");
  return {};
}

std::vector<std::string> App::reload() try {
  const MutexLock lock(reload_mutex_);
  const Reloading reloading(watch_);
  ConfigResult loaded = file_.load();
  if (!loaded) {
    metrics_.config_reloaded(false);
    log_.error("the configuration was not reloaded; the old one stays in force:");
    for (const std::string& problem : loaded.problems()) log_.error(problem);
    return loaded.problems();
  }
  Config config = *std::move(loaded);
  apply(options_, config);
  if (const std::string changed = changed_restart_keys(config_, config); !changed.empty()) {
    log_.warning("these keys need a restart: " + changed);
  }
  log_.configure(config.log);
  authentication_.configure(config.basic_auth);
  loop_->configure(config);
  config_ = std::move(config);
  publish_settings();
  metrics_.config_reloaded(true);
  log_.info("the configuration was reloaded");
  return {};
} catch (const std::exception& exception) {  // the one before stays in force
  metrics_.config_reloaded(false);
  log_.error("the configuration was not reloaded: out of memory");
  return {std::string(why(exception))};
}

int App::wait_for_signals() {
  while (true) {
    const int signal = wait_for_signal();
    if (signal == SIGCHLD) {
      helper_.watch();
      holder_helper_.watch();
      if (reader_.watch()) continue;
    }
    if (signal != SIGHUP) return signal;  // stop also if the reader is gone, since the page would become stale
    try {
      reload();
    } catch (const std::bad_alloc&) {  // no memory even for an answer to the client
    }
  }
}

int App::serve() {
  if (const Result<void> dropped = give_up_privileges(); !dropped) return fail(to_string(dropped.error()));
  // Before any thread exists, so that only the main thread receives them.
  block_stop_signals();
  try {
    log_.start_thread();
    make_threads();
    if (const Result<void> started = start_server(); !started) return fail(to_string(started.error()));
    watch();
    loop_->start();
    return stop(wait_for_signals());
  } catch (const std::exception& exception) {
    // Do not unwind further: running threads use these objects.
    log_.flush(kLogPatience);
    complain(why(exception));
    std::_Exit(kCouldNotRun);
  }
}

void App::make_threads() {
  stop_deadline_ = std::make_unique<StopDeadline>([this](std::string_view step) {
    log_.error("some work did not end in time (" + std::string(step) + "); memstatd exits without it");
    if (is_recording_open_) log_.error("the recording is incomplete");
    log_.flush(kLogPatience);
    std::_Exit(is_recording_open_ || reader_.is_lost() ? kCouldNotRun : kDone);
  });
  poll_recorder_ = std::make_unique<PollRecorder>(recorder_ ? recorder_->view() : nullptr, metrics_, log_function(),
                                                  PollRecorder::Manner::kInThread);
  pacer_ = make_pacer(*poll_recorder_);
  std::function<void()> on_end = [this] { log_.info("the replay has ended; the last poll stays"); };
  if (capture_ == nullptr) {
    on_end = [this] {
      has_polled_all_ = true;
      kill(getpid(), SIGTERM);
    };
  }
  if (textfile_) textfile_writer_ = std::make_unique<TextfileWriter>(*std::move(textfile_), pool_, metrics_, log_function());
  loop_ = std::make_unique<PollLoop>(*poller_, *pacer_, on_end, [this] {
    for (const Incident& one : incidents_.polled(poller_->findings(), poller_->urgent()))
      poller_->name_incident(one.cause, one.object, incident_name(one.file));
    if (incidents_.is_crowded()) incidents_.want(poller_->groups_in_danger());
    if (textfile_writer_) textfile_writer_->notify();
    if (service_watch_) service_watch_->polled();
    metrics_.log_lines_dropped(log_.dropped());
    release_startup_memory(is_memory_locked_);
  });
  incidents_.start(metrics_, [this] { loop_->refresh({}, clock_.now() + kKillPatience); });
  Pages::Options of_pages{MEMSTAT_VERSION, config_.enable_reload, [this] { return reload(); }};
  of_pages.refresh = [this](TimePoint deadline) {
    if (const auto age = published().scrape_age; age.count() != 0) loop_->refresh(age, deadline);
  };
  of_pages.history = &poller_->history();
  of_pages.diagnostician = poller_.get();
  of_pages.incidents = [this] { return incidents_.list(); };
  of_pages.incident_file = [this](std::string_view file) { return incidents_.file(file); };
  of_pages.host = host();
  of_pages.has_per_cpu = [this] { return published().has_per_cpu; };
  pages_ = std::make_unique<Pages>(pool_, metrics_, *poller_, clock_, std::move(of_pages));
}

std::string App::service_status() const {
  const std::vector<SourceStatus> sources = poller_->statuses();
  const auto count = [&](SourceState state) {
    return std::count_if(sources.begin(), sources.end(), [&](const SourceStatus& source) { return source.state == state; });
  };
  std::string status = "serving; sources up: " + std::to_string(count(SourceState::kUp));
  if (const auto down = count(SourceState::kDown); down != 0) status += ", down: " + std::to_string(down);
  if (helper_.is_lost()) status += "; the helper process is gone";
  return status;
}

void App::watch() {
  if (!manager_.is_there()) return;
  static constexpr std::chrono::milliseconds kPatience{1000};
  service_watch_ = std::make_unique<ServiceWatch>(
      manager_,
      ServiceWatch::Checks{.is_first_poll_served = [this] { return server_->answers("/metrics", kPatience); },
                           .is_serving = [this] { return server_->answers("/-/healthy", kPatience); },
                           .is_polling = [this](std::chrono::nanoseconds patience) { return !loop_->is_late(patience); },
                           .status = [this] { return service_status(); }});
  const MutexLock lock(reload_mutex_);
  watch_ = service_watch_.get();
}

int App::stop(int signal) {
  const TimePoint asked = clock_.now();
  StopDeadline& deadline = *stop_deadline_;
  deadline.begin({.patience = kStopTime, .limit = kRecordingTime + kStopTime}, "the current poll");
  manager_.notify("STOPPING=1");
  if (signal != SIGCHLD) log_.info(signal == SIGINT ? "stopping: interrupted" : "stopping: asked to terminate");
  loop_->stop();  // first, because requests may wait for a poll
  deadline.next("requests");
  authentication_.stop();
  server_->stop();
  deadline.next("the incidents");
  incidents_.stop();
  service_watch_.reset();
  deadline.next("the text file");
  textfile_writer_.reset();
  deadline.next("the recording");
  // On SIGINT a person is waiting, so finish the recording. On SIGTERM, stop in time.
  const bool may_take_long = signal == SIGINT || has_polled_all_;
  if (may_take_long) deadline.cancel();
  const auto due = may_take_long ? kNoDeadline : asked + kRecordingTime;
  const auto must_stop = [&] {  // called whenever a piece was written
    deadline.progress();
    return clock_.now() >= due;
  };
  const int status = finish_recording(*poll_recorder_, must_stop) && !reader_.is_lost() ? kDone : kCouldNotRun;
  deadline.cancel();
  log_.info("stopped");
  // Threads stuck in the kernel cannot be joined, so exit without destroying their objects.
  if (poller_->stuck_count() != 0 || recording_hangs_ || file_.is_stuck()) {
    log_.flush(kLogPatience);
    std::_Exit(status);
  }
  return status;
}

int App::fail(std::string_view message) {
  log_.flush(options_.once ? std::chrono::hours(1) : std::chrono::milliseconds(1000));
  complain(message);
  return kCouldNotRun;
}

int App::run() {
  raise_open_file_limit();
  if (!options_.once) {
    host_.opened_as = present_privileges(account_name(geteuid()));
    if (options_.replay.empty()) helper_.start(config_);
    if (options_.replay.empty()) holder_helper_.start(config_);
    if (options_.replay.empty() && KernelReader::is_wanted(config_)) reader_.start(config_);
    if (const Result<void> listening = listen(); !listening) return fail(to_string(listening.error()));
  }
  if (const Result<void> opened = open_kernel(); !opened) return fail(to_string(opened.error()));
  if (!options_.once) return serve();
  const int status = once();
  log_.flush(std::chrono::hours(1));  // a command must print all its lines
  return status;
}

int run_or_throw(int argc, const char* const* argv) {
  ParsedCommandLine parsed = parse_command_line(argc, argv, MEMSTAT_VERSION);
  if (parsed.exit_status) return *parsed.exit_status;
  const CommandLine& options = parsed.options;
  if (options.once || options.check_config || options.list_metrics || options.list_sources || options.selftest)
    release_signals();
  if (options.selftest) return print_selftest();
  if (options.list_metrics) return print_or_complain(metric_list());
  if (options.list_sources) return print_or_complain(source_list());

  // Always removed from the environment: commands that print and exit have no manager.
  ServiceManager manager = ServiceManager::of_environment();
  ConfigFile file(options.config_file, {.must_stop = is_stop_wanted});
  ConfigResult loaded = file.load();
  for (const std::string& problem : loaded.problems()) std::fprintf(stderr, "%s\n", problem.c_str());
  if (!loaded) return kWrongUsage;
  Config config = *std::move(loaded);
  apply(options, config);
  for (const Endpoint& address : options.listen) {
    if (const Result<void> allowed = check_listen_address(address, !config.allow.empty()); !allowed) {
      complain("--listen " + format_endpoint(address) + ": " + allowed.error().detail);
      return kWrongUsage;
    }
  }
  if (options.check_config) {
    const std::string name = file.path().empty() ? "the built-in configuration" : file.path();
    if (const std::string problem = problem_on_this_machine(config); !problem.empty()) {
      complain(name + ": " + problem);
      return kWrongUsage;
    }
    return print_or_complain(name + ": the configuration is valid\n");
  }
  App app(options, file, std::move(config), std::move(manager));
  return app.run();
}

}  // namespace

int run_app(int argc, const char* const* argv) {
  hold_signals_for_start();
  try {
    return run_or_throw(argc, argv);
  } catch (const std::exception& exception) {
    complain(why(exception));
    return kCouldNotRun;
  }
}

}  // namespace memstat
