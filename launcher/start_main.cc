// The program `msrun`. It has what starts ranks and nothing else: the program that compiles jobs is
// ten times larger, and to load that takes longer than to start eight ranks. What asks for more - a
// dry run, the table of operators - is done by `drydock`, which stands in the same folder and takes
// this process over.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "launcher/command_line.h"
#include "launcher/install_paths.h"
#include "launcher/msrun_command.h"
#include "launcher/net/job_secret.h"

namespace drydock::launcher {
namespace {

Error MissingDrydock(const std::string& what) {
  return FailCommand(FailureCode::kNoTracer,
                     what + "; dry runs and jobs with TLS or a secret need it",
                     "install drydock again; a copy of msrun alone only starts ranks")
      .value();
}

/// Does not come back but with the reason why it could not.
Error BecomeDrydock(std::span<const std::string> words) {
  const Result<std::string> path = DrydockPath();
  if (!path) {
    return path.error();
  }
  std::error_code unknown;
  if (std::filesystem::equivalent(*path, "/proc/self/exe", unknown)) {
    return MissingDrydock("the program drydock is not beside " + *path);
  }
  std::vector<std::string> own(words.begin(), words.end());
  own.resize(std::max<std::size_t>(own.size(), 1));
  own.front() = "msrun";  // drydock takes its command from its name
  std::vector<char*> arguments;
  arguments.reserve(own.size() + 1);
  for (std::string& word : own) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  ::execv(path->c_str(), arguments.data());
  return MissingDrydock(*path + ": " + std::error_code(errno, std::generic_category()).message());
}

/// Whether the job asks for what this program has no library for.
bool NeedsCrypto(const MsrunOptions& options, const Environment& environment) {
  return !options.tls_config.empty() || !options.tls_password_file.empty() ||
         !options.job_secret.empty() || Variable(environment, std::string(kSecretName));
}

/// msrun in this program.
class StartCommand : public MsrunCommand {
 public:
  explicit StartCommand(std::span<const std::string> words) : MsrunCommand({}), words_(words) {}

  [[nodiscard]] Status BeforeRun(const FlagSet& flags, const Context& context) override {
    const std::optional<MsrunOptions> options = OptionsOfStart(flags, context.environment);
    if (!options || NeedsCrypto(*options, context.environment)) {
      return tl::unexpected(BecomeDrydock(words_));
    }
    return {};
  }

 private:
  std::span<const std::string> words_;
};

int RunMsrun(std::span<const std::string> words, Context context, std::ostream& err) {
  StartCommand command(words);
  context.program = "msrun";
  const int status = RunCommand(command, words.subspan(words.empty() ? 0 : 1), context, err);
  context.out.flush();
  return status;
}

/// A dry run by the look of it, whose flags need not be read twice.
bool LooksLikeDryRun(std::span<const std::string> words) {
  return std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--sim_level"); });
}

}  // namespace
}  // namespace drydock::launcher

int main(int argc, char** argv) {
  using namespace drydock::launcher;  // NOLINT(google-build-using-namespace): main stands outside
  const std::vector<std::string> words(argv, argv + argc);
  if (LooksLikeDryRun(words)) {
    (void)BecomeDrydock(words);  // says why not when the flags are read
  }
  return RunMain(words, RunMsrun);
}
