#pragma once
// Only for a probe: time spent in parts, printed at exit where OCC_PROBE is set.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace occbench::probe {
enum Part { callback_launch_begin, callback_launch_end, callback_other, buffer_callback, record_add, table_lock_wait_add,
            sampling_lock_wait, flush, write_all, write_looked_at, write_entries_locked, write_file, prepare_counter, begin_count,
            end_count, describe, contexts_lock_wait, tick, parts };
inline const char* const kNames[] = {"callback_launch_begin", "callback_launch_end", "callback_other", "buffer_callback", "record_add", "table_lock_wait_add",
            "sampling_lock_wait", "flush", "write_all", "write_looked_at", "write_entries_locked", "write_file", "prepare_counter", "begin_count",
            "end_count", "describe", "contexts_lock_wait", "tick"};
struct Sum { std::atomic<std::int64_t> count{0}, ns{0}, cpu_ns{0}, worst{0}, above_100us{0}, ns_above{0}; };
inline Sum sums[parts];
inline std::int64_t wall() { return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
inline bool option(const char* word) { const char* v = std::getenv("OCC_PROBE"); return v != nullptr && std::strstr(v, word) != nullptr; }
inline bool on() { static const bool is = std::getenv("OCC_PROBE") != nullptr; return is; }
class Time {
 public:
  explicit Time(Part part) : part_(part), begin_(on() ? wall() : 0) {}
  ~Time() { if (!on()) return; const std::int64_t took = wall() - begin_; Sum& s = sums[part_]; ++s.count; s.ns += took;
    if (took > s.worst) s.worst = took; if (took > 100000) { ++s.above_100us; s.ns_above += took; } }
 private: Part part_; std::int64_t begin_;
};
inline void print(const char* when) {
  if (!on()) return;
  const char* file = std::getenv("OCC_PROBE_FILE"); std::FILE* out = file ? std::fopen(file, "a") : stderr;
  if (out == nullptr) return;
  std::fprintf(out, "# %s %s part,count,total_ms,mean_us,worst_us,above_100us,ms_above_100us\n", when, std::getenv("OCC_PROBE"));
  for (int i = 0; i < parts; ++i) { const Sum& s = sums[i]; if (s.count == 0) continue;
    std::fprintf(out, "%s,%ld,%.2f,%.2f,%.1f,%ld,%.2f\n", kNames[i], (long)s.count, s.ns / 1e6, s.ns / 1e3 / s.count, s.worst / 1e3, (long)s.above_100us, s.ns_above / 1e6); }
  if (out != stderr) std::fclose(out);
}
}
