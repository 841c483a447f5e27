// Preloaded into a program, fails one of its calls as a full disk, an empty memory or a process table does, or sets its clock.
//
//   OCC_FAULT_LIST=FILE   writes a line "CALL N STACK" for the first call of each distinct call stack: it was the Nth of CALL
//   OCC_FAULT=CALL:N      the Nth CALL since main fails. CALL: malloc, write, tear (a write that takes half, then a full disk), fsync,
//                         rename, fork
//   OCC_FAULT=CALL@STACK  the first CALL of that stack fails, whatever the threads' order; several, of different calls, with commas
//   OCC_FAULT_WAITS=1     calls fail only between occ_faults(true) and occ_faults(false) of the program
//   OCC_CLOCK=SECONDS     the time of day is so much off from the third look at it on
//
// Programs that this one starts are left alone.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum Call : int { kMalloc, kWrite, kTear, kFsync, kRename, kFork, kCalls };
const char* const kNames[kCalls] = {"malloc", "write", "tear", "fsync", "rename", "fork"};
constexpr int kMostFrames = 48;
constexpr std::size_t kMostStacks = 1 << 16;

std::atomic<long> counts[kCalls];
long fails_at[kCalls];
std::uint64_t fails_on[kCalls];  // a stack
std::atomic<bool> has_failed;
int list = -1;
int torn = -1;  // the descriptor whose next write fails
long clock_off;
std::atomic<int> looks;
std::atomic_flag busy = ATOMIC_FLAG_INIT;
std::uint64_t stacks[kMostStacks];
thread_local bool inside = false;
std::atomic<bool> begun;  // main is: before it, a program cannot say what fails
int (*program)(int, char**, char**);

void* (*real_malloc)(size_t);
void* (*real_calloc)(size_t, size_t);
void* (*real_realloc)(void*, size_t);

__attribute__((constructor)) void begin() {
  inside = true;
  void* frames[4];
  backtrace(frames, 4);  // loads what it needs, once
  const char* const where = getenv("OCC_FAULT_LIST");
  if (where != nullptr) list = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (const char* fault = getenv("OCC_FAULT"); fault != nullptr; fault = strchr(fault, ',')) {
    if (*fault == ',') ++fault;
    for (int call = 0; call < kCalls; ++call) {
      const size_t length = strlen(kNames[call]);
      if (strncmp(fault, kNames[call], length) == 0 && fault[length] == ':')
        fails_at[call] = atol(fault + length + 1);
      if (strncmp(fault, kNames[call], length) == 0 && fault[length] == '@')
        fails_on[call] = strtoull(fault + length + 1, nullptr, 16);
    }
  }
  if (getenv("OCC_CLOCK") != nullptr) clock_off = atol(getenv("OCC_CLOCK"));
  unsetenv("OCC_FAULT_LIST");
  unsetenv("OCC_FAULT");
  inside = false;
}

// Whether this call is to fail; in a list, whether its stack is a new one.
bool is_hit(Call call) {
  if (inside || !begun) return false;
  const long count = ++counts[call];
  if (list < 0 && fails_on[call] == 0) return fails_at[call] == count;
  inside = true;
  void* frames[kMostFrames];
  const int depth = backtrace(frames, kMostFrames);
  std::uint64_t hash = 1469598103934665603u + static_cast<std::uint64_t>(call);
  for (int i = 1; i < depth; ++i) {
    Dl_info of{};  // where a library lies changes from run to run
    dladdr(frames[i], &of);
    hash = (hash ^
            (reinterpret_cast<std::uintptr_t>(frames[i]) - reinterpret_cast<std::uintptr_t>(of.dli_fbase))) *
           1099511628211u;
  }
  if (list < 0) {
    inside = false;
    return hash == fails_on[call] && !has_failed.exchange(true);
  }
  while (busy.test_and_set()) {
  }
  std::size_t place = hash % kMostStacks;
  while (stacks[place] != 0 && stacks[place] != hash) place = (place + 1) % kMostStacks;
  const bool is_new = stacks[place] == 0;
  stacks[place] = hash;
  busy.clear();
  if (is_new) dprintf(list, "%s %ld %lx\n", kNames[call], count, static_cast<unsigned long>(hash));
  inside = false;
  return false;
}

/// The function that this one stands before.
template <typename Function>
void find(Function*& real, const char* name) {
  if (real == nullptr) real = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int begin_program(int count, char** arguments, char** environment) {
  begun = getenv("OCC_FAULT_WAITS") == nullptr;
  return program(count, arguments, environment);
}

// dlsym itself allocates before these are known.
alignas(16) char early[1 << 16];
std::size_t early_used;
void* early_memory(std::size_t size) {
  void* const memory = early + early_used;
  early_used += (size + 15) / 16 * 16;
  return early_used <= sizeof early ? memory : nullptr;
}
void find_allocators() {
  static bool finding;
  if (finding) return;
  finding = true;
  find(real_calloc, "calloc");
  find(real_realloc, "realloc");
  find(real_malloc, "malloc");
}

}  // namespace

extern "C" {

void occ_faults(bool begin) {
  begun = begin;
}

int __libc_start_main(int (*main)(int, char**, char**), int count, char** arguments, void (*init)(),
                      void (*fini)(), void (*rtld_fini)(), void* stack) {
  static int (*real)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  find(real, "__libc_start_main");
  program = main;
  return real(begin_program, count, arguments, init, fini, rtld_fini, stack);
}

void* malloc(size_t size) noexcept {
  if (real_malloc == nullptr) find_allocators();
  if (real_malloc == nullptr) return early_memory(size);
  if (!is_hit(kMalloc)) return real_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(size_t count, size_t size) noexcept {
  if (real_calloc == nullptr) find_allocators();
  if (real_calloc == nullptr) return early_memory(count * size);
  if (!is_hit(kMalloc)) return real_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* memory, size_t size) noexcept {
  if (real_realloc == nullptr) find_allocators();
  if (real_realloc == nullptr) return early_memory(size);
  if (!is_hit(kMalloc)) return real_realloc(memory, size);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  static void* (*real)(size_t, size_t);
  find(real, "aligned_alloc");
  if (!is_hit(kMalloc)) return real(alignment, size);
  errno = ENOMEM;
  return nullptr;
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  static int (*real)(void**, size_t, size_t);
  find(real, "posix_memalign");
  return is_hit(kMalloc) ? ENOMEM : real(memory, alignment, size);
}
void free(void* memory) noexcept {
  if (memory >= early && memory < early + sizeof early) return;
  static void (*real_free)(void*);
  find(real_free, "free");
  real_free(memory);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static ssize_t (*real)(int, const void*, size_t);
  find(real, "write");
  if (!inside && (is_hit(kWrite) || torn == descriptor)) {
    errno = ENOSPC;
    return -1;
  }
  if (!inside && size > 1 && is_hit(kTear)) {
    torn = descriptor;
    return real(descriptor, bytes, size / 2);
  }
  return real(descriptor, bytes, size);
}
ssize_t writev(int descriptor, const struct iovec* pieces, int count) {
  if (is_hit(kWrite) || torn == descriptor) {
    errno = ENOSPC;
    return -1;
  }
  static ssize_t (*real)(int, const struct iovec*, int);
  find(real, "writev");
  return real(descriptor, pieces, count);
}
int fsync(int descriptor) {
  if (is_hit(kFsync)) {
    errno = EIO;
    return -1;
  }
  static int (*real)(int);
  find(real, "fsync");
  return real(descriptor);
}
int rename(const char* from, const char* to) noexcept {
  if (is_hit(kRename)) {
    errno = EACCES;
    return -1;
  }
  static int (*real)(const char*, const char*);
  find(real, "rename");
  return real(from, to);
}
pid_t fork() noexcept {
  if (is_hit(kFork)) {
    errno = EAGAIN;
    return -1;
  }
  static pid_t (*real)();
  find(real, "fork");
  const pid_t child = real();
  if (child == 0) {
    list = -1;
    memset(fails_at, 0, sizeof fails_at);
  }
  return child;
}
int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  static int (*real)(clockid_t, struct timespec*);
  find(real, "clock_gettime");
  const int status = real(clock, time);
  if (clock == CLOCK_REALTIME && clock_off != 0 && ++looks > 2) time->tv_sec += clock_off;
  return status;
}

}  // extern "C"
