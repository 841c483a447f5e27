#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "trace/captures.hpp"
#include "trace/context_counter.hpp"
#include "trace/driver.hpp"
#include "trace/launch_table.hpp"
#include "trace/sampling.hpp"

namespace occbench {

struct TracerOptions {
  std::filesystem::path file;  ///< of this process
  SamplingRules sampling;
  CountingTimes times;
  std::string why_not_counted{};  ///< where nothing may be, whatever the rules say; otherwise empty
};

/// Hears of a process's launches, has some of them counted, and keeps the process's file. What goes wrong is
/// said once on standard error and never reaches the program.
class Tracer : public ProgramListener {
 public:
  /// @param say prints a line
  Tracer(TracerOptions options, Driver& driver, std::function<void(const std::string&)> say);

  /// Whether the launches that are made have to be told, not only the kernels that have run.
  bool counts() const {
    return options_.sampling.counted > 0 && options_.why_not_counted.empty();
  }
  /// There will be no records: what launches say of themselves has to do.
  void do_without_records() {
    has_records_ = false;
  }

  /// To be called every fraction of a second: reads what was counted and rewrites the file if something
  /// has changed.
  void tend();
  /// The last call: the process ends. Waits for kernels that are counted, with a deadline.
  /// @param last_records asks CUPTI for them, once nothing more is counted
  void finish(const std::function<void()>& last_records);
  /// From now on nothing is done: this is another process, forked.
  void abandon() {
    abandoned_ = true;
  }

  void launch_begins(const LaunchCall& call) override;
  void launch_ends(const LaunchCall& call, bool launched) override;
  void capture_begins(void* stream) override;
  void capture_has_begun(void* stream, bool capturing) override;
  void capture_has_ended(void* stream) override;
  void graph_instantiated(void* exec, void* graph) override;
  void graph_destroyed(void* exec) override;
  void stream_created(void* context, void* stream) override;
  void stream_destroyed(void* context, void* stream) override;
  void context_destroyed(void* context) override;
  void profiler_started() override;
  void kernel_ran(const KernelRecord& record) override;
  void records_lost(std::size_t count) override;

 private:
  /// One context of the program.
  struct Context {
    int device = -1;
    std::unique_ptr<ContextCounter> counter;  ///< none where another context of the GPU is counted
    /// How many records had come when a launch that is to have one was made last.
    std::atomic<std::uint64_t> records_before{0};
    /// How many had come when they were asked for in vain.
    std::optional<std::uint64_t> records_in_vain;
  };

  std::shared_ptr<Context> find_context(void* handle) const;
  std::shared_ptr<Context> context_of(void* handle);
  std::shared_ptr<Context> make_context(void* handle);
  std::vector<std::shared_ptr<Context>> live_contexts() const;
  bool is_to_be_counted(const LaunchCall& call, const Context& context);
  bool records_come_of(const Context& context) const {
    return has_records_ && records_ > context.records_before;
  }
  bool begin_to_count(const LaunchCall& call, Context& context);
  void end_counted(const LaunchCall& call, Context& context, bool launched);
  void resume_records(const LaunchCall& call, const Context& context, bool launched);
  void counting_ended(int device, CountersStatus status, const std::string& why);
  LaunchTable::DeviceWords words_of(int device);
  bool words_of_all_are_ok();
  /// Nothing is counted that was to be.
  bool may_not_count() const {
    return options_.sampling.counted > 0 && !options_.why_not_counted.empty();
  }
  Unrecorded write();
  void say_what_has_no_record(const Unrecorded& unrecorded);
  void say_once(const std::string& line);

  const TracerOptions options_;
  Driver& driver_;
  const std::function<void(const std::string&)> say_;
  std::atomic<bool> has_records_{true};
  std::atomic<std::uint64_t> records_{0};  ///< that have come
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> finished_{false};

  Sampling sampling_;
  LaunchTable table_;
  Captures captures_;

  mutable std::shared_mutex contexts_mutex_;
  std::map<void*, std::shared_ptr<Context>> contexts_;
  std::map<int, void*> counted_of_device_;  ///< the context whose launches are counted

  std::mutex words_mutex_;
  std::map<int, LaunchTable::DeviceWords> words_;
  std::set<std::string> said_;

  std::mutex graphs_mutex_;
  std::set<void*> one_kernel_graphs_;

  std::mutex write_mutex_;
  std::uint64_t written_version_ = 0;
};

}  // namespace occbench
