#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/environment.h"

namespace drydock::launcher {

/// Where a flag comes from; decides its place in the help text and who wins a shared prefix.
enum class FlagOrigin : std::uint8_t {
  kMsrun,    ///< A flag of the original msrun.
  kDrydock,  ///< Ours.
};

/// One flag of a command.
struct FlagSpec {
  std::string name = {};   ///< "worker_num", without dashes.
  std::string value = {};  ///< How the help text calls its value: "N"; empty for a switch.
  std::string help = {};   ///< One line.
  FlagOrigin origin = FlagOrigin::kDrydock;
  bool rare = false;  ///< Left out of --help; in --all_flags and in the manual page.
  /// Whether DRYDOCK_<NAME> gives its value; not where that variable means something else.
  bool has_variable = true;
};

/// Where values come from that the command line does not give.
struct FlagSources {
  const Environment* environment = nullptr;  ///< DRYDOCK_WORKER_NUM=8 is --worker_num=8.
  std::string command = {};                  ///< Section of the file: "msrun".
  std::string config_file = {};  ///< Read if it is there; `--config FILE` names another one.
};

/// Flags of one command, read by CLI11 the way Python's argparse does for the original msrun.
///
/// `--k=v` and `--k v`; dashes and underscores are the same inside names; prefixes that fit one
/// flag only are accepted, and a flag of the original msrun wins over ours; flags end at the first
/// other word, and everything from there on is `rest()`, flags included. A flag given twice keeps
/// the last value.
class FlagSet {
 public:
  /// Reads one value; the message of a failure follows "argument --name: ".
  using ReadValue = std::function<Status(std::string_view)>;

  void Add(FlagSpec spec, ReadValue read);
  /// Number that fits 64 bits.
  void AddInt(FlagSpec spec, std::int64_t* target);
  void AddText(FlagSpec spec, std::string* target);
  /// `--name`, `--name=True` or `--name=False`.
  void AddSwitch(FlagSpec spec, bool* target);

  /// Reads the words behind the command's name. What they do not give comes from the environment,
  /// and what that does not give from the configuration file.
  /// @error USAGE  unknown or ambiguous flag (with the nearest one), missing or wrong value, with
  /// the place it stands at
  [[nodiscard]] Status Parse(std::span<const std::string> words, const FlagSources& sources = {});

  /// Words from the first that is not a flag or its value.
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }
  /// The flag of that name, dashes and underscores alike; null if there is none.
  [[nodiscard]] const FlagSpec* Find(std::string_view name) const;
  /// True if the flag was given, on the line or elsewhere.
  [[nodiscard]] bool Given(std::string_view name) const;
  /// Of the variables whose names are nearly those of flags: what to say of each.
  [[nodiscard]] std::vector<std::string> DoubtfulVariables(const Environment& environment) const;
  /// "name=value" of the flags that were given, by name.
  [[nodiscard]] std::vector<std::string> GivenWords() const;
  /// Where its value comes from: "--join", "DRYDOCK_JOIN", "drydock.toml"; empty if it was not
  /// given.
  [[nodiscard]] std::string PlaceOf(std::string_view name) const;
  /// The flags of `origin`, in the order of declaration.
  [[nodiscard]] std::vector<FlagSpec> SpecsOf(FlagOrigin origin) const;
  /// One line per flag of `origin`, aligned; `rare` ones only if asked for.
  [[nodiscard]] std::string HelpLines(FlagOrigin origin, bool rare = false) const;

 private:
  struct Flag {
    FlagSpec spec = {};
    ReadValue read = {};
    bool given = false;
  };
  [[nodiscard]] Result<Flag*> Resolve(std::string_view word);
  [[nodiscard]] std::vector<Flag*> WithPrefix(std::string_view prefix, FlagOrigin origin);
  [[nodiscard]] static tl::unexpected<Error> FailAmbiguous(std::string_view word,
                                                           const std::vector<Flag*>& matches);
  [[nodiscard]] Flag* FlagNamed(std::string_view name);
  [[nodiscard]] std::vector<std::string_view> Names() const;
  [[nodiscard]] Result<std::size_t> TakeFlag(std::span<const std::string> words, std::size_t index);
  [[nodiscard]] Status TakeEnvironment(const Environment& environment);
  [[nodiscard]] Status TakeFile(const FlagSources& sources);
  [[nodiscard]] Status ReadTaken();

  /// A value, ready for the parser.
  struct Taken {
    Flag* flag = nullptr;
    std::string value = {};
    std::string place = {};  ///< Empty on the command line; "DRYDOCK_JOIN", "drydock.toml".
  };
  std::vector<Flag> flags_ = {};
  std::vector<Taken> taken_ = {};
  std::vector<std::string> rest_ = {};
};

/// "True", "true", "1" or "False", "false", "0". @error kInvalidArgument  anything else
[[nodiscard]] Result<bool> ReadBoolWord(std::string_view word);

/// A decimal number, optionally signed. @error kInvalidArgument  "invalid int value: 'x'"
[[nodiscard]] Result<std::int64_t> ReadIntWord(std::string_view word);

}  // namespace drydock::launcher
