#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "launcher/commands.h"
#include "launcher/install_paths.h"
#include "sim/tracer/child_process.h"

/// `drydock from-torch`: a graph document from a PyTorch model and its tensor-parallel plan.
///
/// All of it is done by the user's own torch: this program becomes their interpreter, which runs
/// share/drydock/python/drydock_torch.py. What that writes, `msrun --sim_level=1` reads.
namespace drydock::launcher {
namespace {

class FromTorchCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "from-torch"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "a graph document from a PyTorch model and its tensor-parallel plan";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] model.py"; }
  void AddFlags(FlagSet& flags) override {
    flags.AddText({"worker_num", "N", "ranks of the job (8)"}, &worker_num_);
    flags.AddText(
        {"tensor_parallel", "N", "ranks that share a layer; the others share the batch (8)"},
        &tensor_parallel_);
    flags.AddText({"optimizer", "NAME", "adamw, or none (adamw)"}, &optimizer_);
    flags.AddText({"output", "FILE", "document to write (graph.json)"}, &output_);
    flags.AddText({"python", "FILE", "interpreter that has torch (python, else python3)"},
                  &python_);
  }

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 1) {
      return FailCommand(FailureCode::kUsage,
                         "expected one Python file that defines drydock_model()",
                         "drydock from-torch --worker_num=8 --tensor_parallel=8 model.py");
    }
    DRYDOCK_TRY(const std::string program, ProgramPath());
    const std::string interpreter = Interpreter(context);
    if (interpreter.empty()) {
      return FailCommand(FailureCode::kNoTracer, "there is no interpreter to run torch with",
                         "name one with --python");
    }
    std::vector<std::string> words = {interpreter,
                                      PathsFor(program).python_folder + "/drydock_torch.py",
                                      "--worker_num=" + worker_num_,
                                      "--tensor_parallel=" + tensor_parallel_,
                                      "--optimizer=" + optimizer_,
                                      "--output=" + output_,
                                      flags.rest().front()};
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) {
      pointers.push_back(word.data());
    }
    pointers.push_back(nullptr);
    context.out.flush();
    ::execv(interpreter.c_str(), pointers.data());
    return FailCommand(
        FailureCode::kNoTracer,
        interpreter + ": " + std::error_code(errno, std::generic_category()).message(),
        "name another interpreter with --python");
  }

 private:
  [[nodiscard]] std::string Interpreter(const Context& context) const {
    const std::string path = Variable(context.environment, "PATH").value_or("/usr/bin:/bin");
    for (const std::string& name : python_.empty() ? std::vector<std::string>{"python", "python3"}
                                                   : std::vector<std::string>{python_}) {
      if (std::string found = sim::FindExecutable(name, path); !found.empty()) {
        return found;
      }
    }
    return {};
  }

  std::string worker_num_ = "8";
  std::string tensor_parallel_ = "8";
  std::string optimizer_ = "adamw";
  std::string output_ = "graph.json";
  std::string python_ = {};
};

}  // namespace

std::unique_ptr<Command> MakeFromTorchCommand() {
  return std::make_unique<FromTorchCommand>();
}

}  // namespace drydock::launcher
