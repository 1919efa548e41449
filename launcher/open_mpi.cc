#include "launcher/open_mpi.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <system_error>
#include <vector>

#include <sys/wait.h>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/flags.h"
#include "launcher/run/spawn.h"
#include "launcher/run/worker_environment.h"
#include "sim/tracer/child_process.h"

namespace drydock::launcher {
namespace {

/// Older ones lack flags of the manual's page.
constexpr std::int64_t kOldestMajor = 3;
constexpr std::size_t kMostVersionBytes = 4096;

Error NoMpi(std::string message) {
  return FailCommand(FailureCode::kNoMpi, std::move(message),
                     "install Open MPI (Debian: openmpi-bin), or run msrun on every node")
      .value();
}

/// What `program --version` prints.
std::string VersionText(const std::string& program, const Environment& environment) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const Descriptor answer(ends[0]);
  Descriptor output(ends[1]);
  const auto pid = Spawn({.program = program,
                          .arguments = {program, "--version"},
                          .environment = Assignments(environment),
                          .output = output.get()});
  (void)output.Close();
  std::string text;
  std::array<char, 512> block = {};
  ssize_t count = 0;
  while (text.size() < kMostVersionBytes &&
         (count = ::read(answer.get(), block.data(), block.size())) > 0) {
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  if (pid) {
    ::waitpid(*pid, nullptr, 0);
  }
  return text;
}

/// First number behind `name` in "mpirun (Open MPI) 4.1.4".
std::int64_t MajorBehind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) {
    return 0;
  }
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  return ReadIntWord(text.substr(0, text.find_first_not_of("0123456789"))).value_or(0);
}

/// @error NO_MPI
Status CheckVersion(const std::string& program, const std::string& text) {
  const std::int64_t prrte = MajorBehind(text, "PRRTE)");
  const std::int64_t open_mpi = MajorBehind(text, "(Open MPI)");
  if (prrte > 0 || open_mpi >= kOldestMajor) {
    return {};
  }
  const std::string first_line = text.substr(0, text.find('\n'));
  return tl::unexpected(
      open_mpi > 0 ? NoMpi(program + " is Open MPI " + std::to_string(open_mpi) + "; at least " +
                           std::to_string(kOldestMajor) + " is needed")
                   : NoMpi(program + " is not Open MPI ('" + PrintableText(first_line) + "')"));
}

}  // namespace

Error BecomeOpenMpi(std::span<const std::string> words, const Context& context,
                    const std::string& why) {
  const std::string path = Variable(context.environment, "PATH").value_or("/usr/bin:/bin");
  const std::string program = sim::FindExecutable("mpirun", path);
  std::array<char, PATH_MAX> self = {};
  std::array<char, PATH_MAX> found = {};
  const bool is_us = ::realpath("/proc/self/exe", self.data()) != nullptr && !program.empty() &&
                     ::realpath(program.c_str(), found.data()) != nullptr &&
                     std::string_view(self.data()) == found.data();
  if (program.empty() || is_us) {
    return NoMpi(why + ", which needs Open MPI, and there is no mpirun in PATH");
  }
  if (Status status = CheckVersion(program, VersionText(program, context.environment)); !status) {
    return status.error();
  }
  context.log.Info(why + ": " + program + " starts the job");
  std::vector<std::string> texts = {program};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return NoMpi(program + ": " + std::error_code(errno, std::generic_category()).message());
}

}  // namespace drydock::launcher
