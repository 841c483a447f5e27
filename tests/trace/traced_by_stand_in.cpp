// A program that is traced with stand-ins for the driver and CUPTI, for tests/hostile/traced_test.py to fail calls inside the library.
//
//   traced_by_stand_in counted|sampled|handed_over|ended|refused FOLDER
//
// Prints `done N`, its launches, whatever fails in the library. Status 3: the file of the process holds what was never launched.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>

#include "predict/parallel.hpp"
#include "trace/regions.hpp"
#include "traced_program.hpp"

/// Of the preload: from when on calls fail, and until when.
extern "C" [[gnu::weak]] void occ_faults(bool begin);

namespace occbench {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kBegan = 1'000'000'000;  // as FakeDriver's clock
constexpr int kRounds = 60;
constexpr int kLaunchesOfRound = 5;
constexpr int kLaunchesOfAnother = 4;
constexpr const char* kKernel = "_Z6reducePf";

void say(const std::string& line) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, (line + "\n").c_str(), line.size() + 1);
}

/// As injection.cpp has it; never destroyed.
struct Library {
  Tracer tracer;
  std::atomic<bool> ends{false};
  std::thread thread;

  Library(TracerOptions options, Driver& driver) : tracer(std::move(options), driver, say) {}
  void poll() {
    while (!ends) {
      tracer.poll();
      std::this_thread::sleep_for(5ms);
    }
  }
};

struct Observed {
  std::string kind;
  std::filesystem::path folder;
  FakeGpu gpu{};
  FakeDriver driver{gpu};
  std::atomic<int> launched{0};
  std::atomic<bool> begins{false};
  std::filesystem::path file{};
  Library* library = nullptr;

  TracerOptions options() {
    TracerOptions options{file,
                          {std::string(kAchieved)},
                          {.counted = 3, .paced = false, .after = 0, .wanted = {}},
                          {},
                          kShortTimes};
    options.regions = true;
    if (kind != "counted") options.samples_after = kind == "handed_over" ? 5ms : 0ms;
    if (kind == "sampled") options.windows = folder / "windows";
    return options;
  }
  void start() {
    try {
      file = make_entry_file(folder / "run.csv", 41);
      library = new Library(options(), driver);
      library->thread = thread_without_signals([this] { library->poll(); });
    } catch (const std::exception& failure) {
      if (library != nullptr) library->tracer.abandon();
      say(failure.what());
    }
  }
  /// Of one of two threads: allocates nothing itself.
  void run(int number, const std::unique_ptr<Program>& program) {
    while (!begins) std::this_thread::sleep_for(1ms);
    void* const context = handle(0x10);
    void* const stream = handle(0x30 + 8 * number);
    Tracer& tracer = *program->tracer;
    for (int i = 0; i < kRounds; ++i) {
      tracer.stream_created(context, stream);
      program->launch(66, context, kKernel);
      push_region(number == 0 ? "forward" : "backward");
      program->launch(66 + i % 3, context, kKernel);
      pop_region();
      tracer.graph_instantiated(handle(0x60 + number), handle(kind == "handed_over" ? 0x50 : 0x50 + i % 2));
      program->launch_graph(handle(0x60 + number), context);
      tracer.graph_destroyed(handle(0x60 + number));
      tracer.memory_call_begins(context, ++program->correlation);
      if (i % 10 == 5) {
        tracer.capture_begins(stream);
        tracer.capture_has_begun(stream, true);
        program->launch(66, context, kKernel);
        tracer.capture_has_ended(stream);
      } else {
        program->launch(66, context, kKernel);
      }
      program->launch(66, context, kKernel);
      tracer.stream_destroyed(context, stream);
      std::this_thread::sleep_for(500us);
    }
  }
  /// And a context that comes and goes while the other is counted.
  void run_in_another(Program& program) {
    for (int i = 0; i < kLaunchesOfAnother; ++i) program.launch(66, handle(0x11), kKernel);
    program.tracer->context_destroyed(handle(0x11));
  }
  void finish() {
    library->tracer.stop_sampling();
    library->ends = true;
    if (library->thread.joinable()) library->thread.join();
    library->tracer.finish([] {});
  }
  /// What was launched, and no more.
  bool file_is_true() {
    for (const ProgramEntry& entry : read_entry_file(file).entries) {
      const bool is_known = entry.kernel.name.find("reduce") != entry.kernel.name.npos ||
                            entry.kernel.name.find("graph") != entry.kernel.name.npos;
      bool is_true = is_known && entry.seen.launches <= launched && entry.kernel.block.x == 256;
      for (const double time_us : entry.seen.times_us)
        is_true = is_true && (time_us == 10 || kind != "counted");
      for (const auto& [metric, values] : entry.seen.readings)
        for (const double value : values) is_true = is_true && (value == 1 || kind != "counted");
      if (!is_true) {
        say(fmt::format("{} of {} is not what was launched", entry.kernel.name, file.string()));
        return false;
      }
    }
    return true;
  }
};

int main_of(const std::string& kind, const std::filesystem::path& folder) {
  Observed& observed = *new Observed{kind, folder};
  FakeGpu& gpu = observed.gpu;
  observed.driver.graphs[handle(0x50)] = {kernel_node()};
  observed.driver.graphs[handle(0x51)] = {kernel_node(), kernel_node()};
  gpu.kernel = [&] { ++observed.launched; };
  gpu.read_samples = [] { return samples_of({66, 66, 66}, 8, kBegan); };
  if (kind == "ended") gpu.failing_call = "read samples";
  if (kind == "refused") gpu.failing_call = "configure";
  const auto faults = [](bool begin) {
    if (occ_faults != nullptr) occ_faults(begin);
  };
  // The program's threads are there before anything fails.
  std::unique_ptr<Program> program;
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) threads[i] = std::thread([&, i] { observed.run(i, program); });
  faults(true);
  observed.start();
  faults(false);
  if (observed.library != nullptr) {
    program = std::make_unique<Program>(&observed.library->tracer, gpu);
    faults(true);
    observed.begins = true;
    for (std::thread& thread : threads) thread.join();
    observed.run_in_another(*program);
    observed.finish();
    faults(false);
  } else {
    for (std::thread& thread : threads) thread.detach();
    observed.launched = 2 * kRounds * kLaunchesOfRound + kLaunchesOfAnother;
  }
  const bool is_true = observed.file.empty() || observed.file_is_true();
  std::printf("done %d\n", observed.launched.load());
  std::fflush(stdout);
  ::_exit(is_true ? 0 : 3);  // as the library's threads go on until then
}

}  // namespace
}  // namespace occbench

int main(int count, char** arguments) {
  if (count != 3) return 64;
  return occbench::main_of(arguments[1], arguments[2]);
}
