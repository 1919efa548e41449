// What a portable program brings itself so that it runs with an old C library (CMake option
// DRYDOCK_PORTABLE): functions that glibc has only since 2.25 to 2.36 (the linked-in C++ and
// OpenSSL libraries refer to them), in terms of what 2.17 has. Functions that became newer versions
// of old ones need nothing here: tests/packages/older_symbols.py names the old version in the file.
//
// Each function has its name in the object file only, since the system's headers declare it, too.

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#include <sys/syscall.h>

#if defined(__x86_64__)
#define DRYDOCK_OLDEST "GLIBC_2.2.5"
#define DRYDOCK_CLOCKS "GLIBC_2.3.3"
#define DRYDOCK_CPUS "GLIBC_2.3.4"
#define DRYDOCK_STAT_FORM 1
#else
#define DRYDOCK_OLDEST "GLIBC_2.17"
#define DRYDOCK_CLOCKS "GLIBC_2.17"
#define DRYDOCK_CPUS "GLIBC_2.17"
#define DRYDOCK_STAT_FORM 0
#endif
#define DRYDOCK_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// ---- Files: before 2.33 the form of the struct was an argument.

int OldStat(int form, const char* path, void* out) __asm__("__xstat");
int OldLstat(int form, const char* path, void* out) __asm__("__lxstat");
int OldFstat(int form, int file, void* out) __asm__("__fxstat");
int OldFstatAt(int form, int folder, const char* path, void* out, int flags) __asm__("__fxstatat");

#define DRYDOCK_STAT(name) \
  DRYDOCK_HIDDEN int Portable_##name(const char* path, void* out) __asm__(#name)
DRYDOCK_STAT(stat);
DRYDOCK_STAT(stat64);
DRYDOCK_STAT(lstat);
DRYDOCK_STAT(lstat64);
int Portable_stat(const char* path, void* out) {
  return OldStat(DRYDOCK_STAT_FORM, path, out);
}
int Portable_stat64(const char* path, void* out) {
  return OldStat(DRYDOCK_STAT_FORM, path, out);
}
int Portable_lstat(const char* path, void* out) {
  return OldLstat(DRYDOCK_STAT_FORM, path, out);
}
int Portable_lstat64(const char* path, void* out) {
  return OldLstat(DRYDOCK_STAT_FORM, path, out);
}

DRYDOCK_HIDDEN int PortableFstat(int file, void* out) __asm__("fstat");
DRYDOCK_HIDDEN int PortableFstat64(int file, void* out) __asm__("fstat64");
DRYDOCK_HIDDEN int PortableFstatAt(int folder, const char* path, void* out,
                                   int flags) __asm__("fstatat");
int PortableFstat(int file, void* out) {
  return OldFstat(DRYDOCK_STAT_FORM, file, out);
}
int PortableFstat64(int file, void* out) {
  return OldFstat(DRYDOCK_STAT_FORM, file, out);
}
int PortableFstatAt(int folder, const char* path, void* out, int flags) {
  return OldFstatAt(DRYDOCK_STAT_FORM, folder, path, out, flags);
}

// ---- Random bytes

DRYDOCK_HIDDEN ssize_t PortableGetRandom(void* out, std::size_t size,
                                         unsigned flags) __asm__("getrandom");
ssize_t PortableGetRandom(void* out, std::size_t size, unsigned flags) {
  return ::syscall(SYS_getrandom, out, size, flags);
}

DRYDOCK_HIDDEN int PortableGetEntropy(void* out, std::size_t size) __asm__("getentropy");
int PortableGetEntropy(void* out, std::size_t size) {
  return PortableGetRandom(out, size, 0) == static_cast<ssize_t>(size) ? 0 : -1;
}

DRYDOCK_HIDDEN std::uint32_t PortableArc4Random() __asm__("arc4random");
std::uint32_t PortableArc4Random() {
  std::uint32_t word = 0;
  while (PortableGetRandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
  }
  return word;
}

// ---- Threads

DRYDOCK_HIDDEN pid_t PortableThreadId() __asm__("gettid");
pid_t PortableThreadId() {
  return static_cast<pid_t>(::syscall(SYS_gettid));
}

/// A flag of the C library that lets it leave atomic operations out; never set here.
DRYDOCK_HIDDEN extern char portable_single_threaded __asm__("__libc_single_threaded");
char portable_single_threaded = 0;

int OldSetClock(pthread_condattr_t* attributes, clockid_t clock) __asm__("old_condattr_setclock");
__asm__(".symver old_condattr_setclock, pthread_condattr_setclock@" DRYDOCK_CLOCKS);
DRYDOCK_HIDDEN int PortableSetClock(pthread_condattr_t* attributes,
                                    clockid_t clock) __asm__("pthread_condattr_setclock");
int PortableSetClock(pthread_condattr_t* attributes, clockid_t clock) {
  return OldSetClock(attributes, clock);
}

int OldGetCpus(pthread_t thread, std::size_t size, void* cpus) __asm__("old_getaffinity");
int OldSetCpus(pthread_t thread, std::size_t size, const void* cpus) __asm__("old_setaffinity");
__asm__(".symver old_getaffinity, pthread_getaffinity_np@" DRYDOCK_CPUS);
__asm__(".symver old_setaffinity, pthread_setaffinity_np@" DRYDOCK_CPUS);
DRYDOCK_HIDDEN int PortableGetCpus(pthread_t thread, std::size_t size,
                                   void* cpus) __asm__("pthread_getaffinity_np");
DRYDOCK_HIDDEN int PortableSetCpus(pthread_t thread, std::size_t size,
                                   const void* cpus) __asm__("pthread_setaffinity_np");
int PortableGetCpus(pthread_t thread, std::size_t size, void* cpus) {
  return OldGetCpus(thread, size, cpus);
}
int PortableSetCpus(pthread_t thread, std::size_t size, const void* cpus) {
  return OldSetCpus(thread, size, cpus);
}

/// Waits until `end` of `clock` with a condition whose own clock is the time of day.
DRYDOCK_HIDDEN int
PortableClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* end) __asm__(
    "pthread_cond_"
    "clockwait");
int PortableClockWait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                      const timespec* end) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  timespec now = {};
  timespec day = {};
  ::clock_gettime(clock, &now);
  ::clock_gettime(CLOCK_REALTIME, &day);
  std::int64_t rest = end->tv_nsec - now.tv_nsec + day.tv_nsec;
  day.tv_sec += end->tv_sec - now.tv_sec;
  for (; rest < 0; rest += kNanoseconds) {
    --day.tv_sec;
  }
  day.tv_sec += rest / kNanoseconds;
  day.tv_nsec = rest % kNanoseconds;
  return ::pthread_cond_timedwait(condition, mutex, &day);
}

// ---- Names of signals

DRYDOCK_HIDDEN const char* PortableSignalName(int number) __asm__("sigabbrev_np");
const char* PortableSignalName(int number) {
  static const char* const kNames[] = {
      nullptr, "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV",  "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU",  "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  return number > 0 && number < 32 ? kNames[number] : nullptr;
}

DRYDOCK_HIDDEN const char* PortableSignalText(int number) __asm__("sigdescr_np");
const char* PortableSignalText(int number) {
  return number > 0 && number < 32 ? ::strsignal(number) : nullptr;
}

// ---- Devices: the hardware library that is linked in asks udev for names, which nobody reads.

DRYDOCK_HIDDEN void* NoUdev() __asm__("udev_new");
void* NoUdev() {
  return nullptr;
}
DRYDOCK_HIDDEN void* NoUdevDevice(void*, const char*,
                                  const char*) __asm__("udev_device_new_from_subsystem_sysname");
void* NoUdevDevice(void* /*udev*/, const char* /*subsystem*/, const char* /*name*/) {
  return nullptr;
}
DRYDOCK_HIDDEN const char* NoUdevValue(void*,
                                       const char*) __asm__("udev_device_get_property_value");
const char* NoUdevValue(void* /*device*/, const char* /*key*/) {
  return nullptr;
}
DRYDOCK_HIDDEN void* NoUdevEnd(void*) __asm__("udev_unref");
void* NoUdevEnd(void* /*udev*/) {
  return nullptr;
}
DRYDOCK_HIDDEN void* NoUdevDeviceEnd(void*) __asm__("udev_device_unref");
void* NoUdevDeviceEnd(void* /*device*/) {
  return nullptr;
}

// ---- The begin of a program. Since 2.34 the C library runs its constructors; older ones expect a
// function that does. A newer library runs a function that it is given, and nothing else, too.

#ifdef DRYDOCK_PORTABLE_PROGRAM
using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

DRYDOCK_HIDDEN extern Constructor first_constructor[] __asm__("__init_array_start");
DRYDOCK_HIDDEN extern Constructor last_constructor[] __asm__("__init_array_end");

int OldStart(Main main, int count, char** words, Constructor init, void (*fini)(),
             void (*loader_fini)(), void* stack) __asm__("old_libc_start_main");
__asm__(".symver old_libc_start_main, __libc_start_main@" DRYDOCK_OLDEST);

static void RunConstructors(int count, char** words, char** environment) {
  for (Constructor* one = first_constructor; one != last_constructor; ++one) {
    (*one)(count, words, environment);
  }
}

DRYDOCK_HIDDEN int PortableStart(Main main, int count, char** words, Constructor init,
                                 void (*fini)(), void (*loader_fini)(),
                                 void* stack) __asm__("__libc_start_main");
int PortableStart(Main main, int count, char** words, Constructor /*init*/, void (*fini)(),
                  void (*loader_fini)(), void* stack) {
  return OldStart(main, count, words, RunConstructors, fini, loader_fini, stack);
}
#endif

}  // extern "C"
