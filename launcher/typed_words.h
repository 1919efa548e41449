#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace drydock::launcher {

/// The flag of ours that another launcher, or a guess, calls `name`; empty if there is none among
/// `ours`.
///
/// Example: "world_size" -> "worker_num".
[[nodiscard]] std::string NameHere(std::string_view name, std::span<const std::string_view> ours);

/// What to do instead of naming the devices by a flag (`--devices 0,1`), as other launchers let one
/// do; empty if `name` is no such flag.
[[nodiscard]] std::string HintForDeviceList(std::string_view name);

/// `word` with the ASCII characters that its wide forms, dashes and quotes stand for.
///
/// Example: "—sim_level＝１" -> "--sim_level=1".
[[nodiscard]] std::string AsciiForm(std::string_view word);

/// What was meant by a word that stands where the script should and names no file: a flag, or
/// one of the files beside it. Empty if nothing is near.
[[nodiscard]] std::string HintForScript(const std::string& word);

/// What was meant by a word that is not a command of drydock but begins the line of one: a script,
/// a flag of msrun, a verb. Empty if it is none of these.
[[nodiscard]] std::string HintForCommand(const std::string& word);

/// The flag that a variable without its exact name was meant for: "SIMLEVEL" -> "sim_level",
/// "NPROC_PER_NODE" -> "local_worker_num". Empty if there is none.
[[nodiscard]] std::string FlagMeant(std::string_view variable,
                                    std::span<const std::string_view> ours);

}  // namespace drydock::launcher
