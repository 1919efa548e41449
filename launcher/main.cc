#ifdef DRYDOCK_MIMALLOC
#include <mimalloc.h>
#endif
#include <poll.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/program.h"

namespace {

/// True if the reader of stdout went away (`msrun ... | head`): that is no failure.
bool ReaderLeft() {
  pollfd answer = {.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&answer, 1, 0) == 1 && (answer.revents & POLLERR) != 0;
}

/// What a thread frees goes back to the system after 2 ms instead of 25: each has memory of its
/// own, and what one of them holds back is not there for the others (stages of a pipeline).
/// The allocator's own variable, MIMALLOC_DECOMMIT_DELAY, goes first.
void GiveMemoryBackSoon() {
#ifdef DRYDOCK_MIMALLOC
#if MI_MALLOC_VERSION < 210
  mi_option_set_default(mi_option_decommit_delay, 2);
#else
  mi_option_set_default(mi_option_purge_delay, 2);
#endif
#endif
}

}  // namespace

int main(int argc, char** argv) {
  using namespace drydock::launcher;  // NOLINT(google-build-using-namespace): main stands outside
  GiveMemoryBackSoon();
  EndWhenOutOfMemory();
  try {
    const std::vector<std::string> words(argv, argv + argc);
    Log log("msrun", LogLevel::kWarning);
    StopGuard stop;
    const int status = RunProgram(
        words, {.environment = ReadEnvironment(), .out = std::cout, .log = log, .stop = stop},
        std::cerr);
    if (status == 0 && !std::cout && !ReaderLeft()) {
      std::cerr << "drydock: error[STDOUT]: the answer could not be written to stdout\n";
      return static_cast<int>(ExitCode::kPreflight);
    }
    return status;
  } catch (const std::exception& failure) {
    std::cerr << "drydock: error[INTERNAL]: internal error: " << failure.what() << "\n";
  } catch (...) {
    std::cerr << "drydock: error[INTERNAL]: internal error\n";
  }
  return static_cast<int>(ExitCode::kInternal);
}
