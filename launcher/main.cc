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

}  // namespace

int main(int argc, char** argv) {
  using namespace drydock::launcher;  // NOLINT(google-build-using-namespace): main stands outside
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
