// What a portable program brings itself so that it needs no newer C library (CMake option
// DRYDOCK_PORTABLE).
//
// The C++ library that is linked in refers to arc4random, which glibc has since 2.36. Nothing here
// draws random numbers through it.

#include <cstdint>

#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept;

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t word = 0;
  while (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
  }
  return word;
}
