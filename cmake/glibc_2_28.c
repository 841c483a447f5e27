/* What the compiler's own libraries and this machine's headers ask of the C library, and glibc 2.28 has not: a wheel is
   compiled against this machine's and linked for that one (oldest_glibc.cmake). Hidden: no other code sees these. */
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define IN_PLACE_OF(name) __asm__(name) __attribute__((visibility("hidden")))

enum { stat_version = 1 }; /* _STAT_VER_LINUX of x86-64 */
int __xstat(int version, const char* path, struct stat* of);
int __lxstat(int version, const char* path, struct stat* of);
int __fxstat(int version, int file, struct stat* of);

int occ_stat(const char* path, struct stat* of) IN_PLACE_OF("stat");
int occ_stat(const char* path, struct stat* of) {
  return __xstat(stat_version, path, of);
}
int occ_lstat(const char* path, struct stat* of) IN_PLACE_OF("lstat");
int occ_lstat(const char* path, struct stat* of) {
  return __lxstat(stat_version, path, of);
}
int occ_fstat(int file, struct stat* of) IN_PLACE_OF("fstat");
int occ_fstat(int file, struct stat* of) {
  return __fxstat(stat_version, file, of);
}
int occ_fstat64(int file, struct stat* of) IN_PLACE_OF("fstat64"); /* struct stat64 is the same */
int occ_fstat64(int file, struct stat* of) {
  return __fxstat(stat_version, file, of);
}

/* libstdc++ then counts references by atomic instructions. */
extern char occ_single_threaded IN_PLACE_OF("__libc_single_threaded");
char occ_single_threaded = 0;

uint32_t occ_random(void) IN_PLACE_OF("arc4random");
uint32_t occ_random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

/* Waits until a time of the monotonic clock: as far away by the real-time clock. If that clock is set meanwhile, the wait
   ends early or late; callers look at their condition and the time again. */
int occ_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until)
    IN_PLACE_OF("pthread_cond_clockwait");
int occ_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  struct timespec now;
  struct timespec real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (real.tv_nsec < 0) {
    real.tv_nsec += 1000000000;
    --real.tv_sec;
  } else if (real.tv_nsec >= 1000000000) {
    real.tv_nsec -= 1000000000;
    ++real.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

/* GCC's crtbeginS.o, which Zig does not link: what a library registered to be called at the end is called when it is
   closed, and not after. */
void* occ_handle IN_PLACE_OF("__dso_handle");
void* occ_handle = &occ_handle;
void __cxa_finalize(void* handle);
__attribute__((destructor)) static void finalize(void) {
  __cxa_finalize(&occ_handle);
}
