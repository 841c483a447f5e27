// The CUDA driver calls this library from within cuInit if CUDA_INJECTION64_PATH names it. Nothing here is ever destroyed: the program's
// threads and CUPTI's may call until the process is gone.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sstream>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>

#include "entries/entry_paths.hpp"
#include "files/input.hpp"
#include "measure/cupti.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "predict/parallel.hpp"
#include "record/kernel_name.hpp"
#include "trace/regions.hpp"
#include "trace/tracer.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;

/// A record is delivered a few milliseconds after this and then written: less than a second in all.
constexpr auto kTick = 250ms;

/// At the end, the library's thread may still wait for a busy GPU.
constexpr auto kLongestGoodbye = 4s;

void say(const std::string& line) try {
  const std::string text = fmt::format("occbench trace: process {}: {}\n", ::getpid(), line);
  // One write, so that lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
} catch (const std::bad_alloc&) {  // no memory for the message
}

std::int64_t number_of(const char* name) {
  const std::string text = environment_variable(name);
  const auto value = read_number<std::int64_t>(text, 0);
  if (!value) throw InputError("{}='{}' is not a number; occbench trace sets it", name, text);
  return *value;
}

/// Each process has its own.
std::string file_of_windows() {
  const std::string name = environment_variable(kTraceWindowsVariable);
  return name.empty() ? "" : fmt::format("{}.{}", name, ::getpid());
}

/// Launches are counted one by one before. That gives short programs counters, and others more of them.
constexpr std::chrono::milliseconds kCountedFirst{3000};

std::optional<std::chrono::milliseconds> samples_after() {
  const std::string counters = environment_variable(kTraceCountersVariable);
  if (counters == kTraceSampled) return std::chrono::milliseconds(0);
  if (counters == kTracePaced) return kCountedFirst;
  return {};
}

CountingRules rules() {
  CountingRules rules;
  rules.paced = samples_after().has_value();
  if (!rules.paced) rules.counted = static_cast<int>(number_of(kTraceCountersVariable));
  if (!environment_variable(kTraceAfterVariable).empty()) rules.after = number_of(kTraceAfterVariable);
  if (const std::string kernels = environment_variable(kTraceKernelsVariable); !kernels.empty()) {
    rules.wanted = [matches = kernel_filter(kernels)](std::string_view name) {
      return matches(demangled_kernel_name(std::string(name)));
    };
  }
  return rules;
}

/// Words with spaces between.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Empty if nothing prevents it.
std::string why_not_counted() {
  const auto socket = mps_socket();
  return socket ? why_not_with_mps(*socket) : "";
}

void stop_sampling();

/// The library in one process.
struct Library {
  std::unique_ptr<Driver> driver = loaded_driver();
  Tracer tracer;
  std::unique_ptr<ProgramEvents> events;
  std::mutex mutex;
  std::condition_variable changed;
  bool ends = false;
  bool has_ended = false;

  explicit Library(const std::filesystem::path& file)
      : tracer({file,
                words_of(environment_variable(kTraceMetricsVariable)),
                rules(),
                samples_after(),
                {},
                why_not_counted(),
                environment_variable(kTraceRegionsVariable) == "1",
                environment_variable(kTraceOnlyVariable),
                file_of_windows(),
                [] { std::atexit(stop_sampling); }},
               *driver, say) {}

  void poll() {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kTick, [&] { return ends; })) {
      lock.unlock();
      events->flush(false);
      tracer.poll();
      lock.lock();
    }
    has_ended = true;
    changed.notify_all();
  }

  void finish() {
    std::unique_lock lock(mutex);
    if (std::exchange(ends, true)) return;
    changed.notify_all();
    const bool stopped = changed.wait_for(lock, kLongestGoodbye, [&] { return has_ended; });
    lock.unlock();
    // A thread that still waits for CUPTI would block this one too.
    if (!stopped) return;
    tracer.finish([&] { events->flush(true); });
  }
};

Library* library = nullptr;

void at_exit() {
  library->finish();
}

/// The libraries that CUPTI opens end in exit handlers, registered later than this library's own and therefore run first. A thread inside
/// those libraries then crashes the program. A handler that is registered once CUPTI is ready stops that thread first. If the main thread
/// loaded this library, so does the main thread's end, before all handlers.
void stop_sampling() {
  if (!library->ends) library->tracer.stop_sampling();
}

struct EndOfThread {
  const bool is_main = ::syscall(SYS_gettid) == ::getpid();  // gettid() needs glibc 2.30, the wheel has 2.26
  ~EndOfThread() {
    if (is_main) stop_sampling();
  }
};

/// A forked child has the library's memory and none of its threads, and no CUDA.
void in_forked_child() {
  library->tracer.abandon();
  library->ends = true;
}

void start_thread() {
  thread_without_signals([] {
    run_where_any_thread_may();
    library->poll();
  }).detach();
}

void start() {
  const std::string out = environment_variable(kTraceOutVariable);
  if (out.empty() || library != nullptr) return;
  library = new Library(make_entry_file(out, ::getpid()));
  Tracer& tracer = library->tracer;
  try {
    library->events = std::make_unique<ProgramEvents>(tracer, tracer.counts());
  } catch (const CountersUnavailable& refused) {
    const bool other_tool = refused.status() == CountersStatus::busy;
    say(fmt::format("it is not traced{}: {}",
                    other_tool ? ", for another tool listens to CUDA in it already" : "", refused.what()));
    return;
  }
  if (samples_after()) library->events->hear_memory_calls();
  // Launches must be followed for their correlations.
  on_region([] { library->events->hear_launches(); });
  if (regions_used()) library->events->hear_launches();
  if (const std::string& why = library->events->why_no_records(); !why.empty()) {
    tracer.do_without_records();
    say(fmt::format("its kernels have no time, for CUPTI keeps no record of them ({})", why));
  }
  start_thread();
  if (samples_after()) static thread_local const EndOfThread end_of_thread;
  std::atexit(at_exit);
  std::at_quick_exit(at_exit);
  ::pthread_atfork(nullptr, nullptr, in_forked_child);
}

}  // namespace
}  // namespace occbench

extern "C" __attribute__((visibility("default"))) int InitializeInjection() try {
  try {
    occbench::start();
  } catch (const std::exception& failure) {
    if (occbench::library != nullptr) occbench::library->tracer.abandon();
    occbench::say(fmt::format("it is not traced: {}", failure.what()));
  }
  return 1;
} catch (const std::bad_alloc&) {
  return 1;
}

// The program's NVTX calls this at its first use, by NVTX_INJECTION64_PATH.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(occbench::NvtxTables tables) {
  return occbench::take_nvtx(tables) ? 1 : 0;
}

// For occbench.region of the Python package, which needs no NVTX.
extern "C" __attribute__((visibility("default"))) void occbench_push_region(const char* name) {
  occbench::push_region(name);
}
extern "C" __attribute__((visibility("default"))) void occbench_pop_region() {
  occbench::pop_region();
}
