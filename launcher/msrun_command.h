#pragma once

#include <functional>
#include <optional>
#include <string>

#include "launcher/command.h"
#include "launcher/msrun_options.h"

namespace drydock::launcher {

/// What msrun does besides starting ranks, for which a program that only starts them has no code.
struct MsrunAnswers {
  std::function<Result<ExitCode>(const MsrunOptions& options, const Context& context)> simulate =
      {};
  std::function<std::string(bool json)> operators = {};  ///< The table of operators.
};

/// `msrun`: dry-runs a job (with --sim_level) or starts it.
class MsrunCommand : public Command {
 public:
  explicit MsrunCommand(MsrunAnswers answers) : answers_(std::move(answers)) {}

  [[nodiscard]] std::string_view Name() const override { return "msrun"; }
  [[nodiscard]] std::string_view Summary() const override {
    return "dry-run a distributed training job for every rank, or start it";
  }
  [[nodiscard]] std::string Usage() const override {
    return "[flags] task_script [task_script_args ...]";
  }
  void AddFlags(FlagSet& flags) override;
  [[nodiscard]] Result<std::vector<std::string>> Translate(std::span<const std::string> words,
                                                           const FlagSet& flags) override;
  [[nodiscard]] Result<ExitCode> Run(const FlagSet& flags, const Context& context) override;

 protected:
  /// The options with which Run will start ranks; none where an answer is asked for, or the flags
  /// are a mistake.
  [[nodiscard]] std::optional<MsrunOptions> OptionsOfStart(const FlagSet& flags,
                                                           const Environment& environment) const;

 private:
  [[nodiscard]] Result<ExitCode> ListOperators(const FlagSet& flags, const Context& context) const;

  MsrunAnswers answers_ = {};
  bool list_operators_ = false;
  MsrunOptions options_ = {};
};

}  // namespace drydock::launcher
