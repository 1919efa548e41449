#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "launcher/environment.h"
#include "launcher/program.h"

int main(int argc, char** argv) {
  using namespace drydock::launcher;  // NOLINT(google-build-using-namespace): main stands outside
  try {
    const std::vector<std::string> words(argv, argv + argc);
    Log log("msrun", LogLevel::kWarning);
    StopGuard stop;
    return RunProgram(
        words, {.environment = ReadEnvironment(), .out = std::cout, .log = log, .stop = stop},
        std::cerr);
  } catch (const std::exception& failure) {
    std::cerr << "drydock: error[INTERNAL]: internal error: " << failure.what() << "\n";
  } catch (...) {
    std::cerr << "drydock: error[INTERNAL]: internal error\n";
  }
  return static_cast<int>(ExitCode::kInternal);
}
