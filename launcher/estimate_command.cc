#include <iostream>
#include <map>
#include <sstream>

#include "launcher/commands.h"
#include "launcher/estimate.h"
#include "launcher/files.h"
#include "launcher/hardware_file.h"
#include "reports/estimate_line.h"

namespace drydock::launcher {
namespace {

constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 28;

/// `drydock estimate FILE`: the closed forms' answer to every line of a file.
class EstimateCommand : public Command {
 public:
  [[nodiscard]] std::string_view Name() const override { return "estimate"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "memory and time of given plans in closed form, one JSON object a line";
  }
  [[nodiscard]] std::string Usage() const override { return "[flags] requests.jsonl"; }
  void AddFlags(FlagSet& /*flags*/) override {}

  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override {
    if (flags.rest().size() != 1) {
      return FailCommand(FailureCode::kUsage, "expected one file with a request in each line",
                         "drydock estimate requests.jsonl");
    }
    const std::string& file = flags.rest().front();
    DRYDOCK_TRY(const std::string text, ReadFile(file, kMaxRequestBytes));
    std::istringstream lines(text);
    std::string line;
    Estimator estimator;
    for (std::int64_t number = 1; std::getline(lines, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) {
        continue;
      }
      DRYDOCK_TRY(const std::string answer,
                  estimator.Answer(line, file + ":" + std::to_string(number)));
      context.out << answer << "\n";
    }
    return ExitCode::kOk;
  }
};

}  // namespace

Result<std::string> Estimator::Answer(std::string_view request_text, const std::string& place) {
  DRYDOCK_TRY(const sim::PlanRequest request, sim::ReadPlanRequest(request_text, place));
  if (request.hardware.empty()) {
    return reports::EstimateLine(request, nullptr);
  }
  auto found = profiles_.find(request.hardware);
  if (found == profiles_.end()) {
    DRYDOCK_TRY(sim::HardwareProfile profile, LoadHardware(request.hardware));
    found = profiles_.emplace(request.hardware, std::move(profile)).first;
  }
  return reports::EstimateLine(request, &found->second);
}

std::unique_ptr<Command> MakeEstimateCommand() {
  return std::make_unique<EstimateCommand>();
}

}  // namespace drydock::launcher
