#pragma once

#include <memory>
#include <string>

namespace drydock::launcher {

/// One line on stderr that says what is being done and for how long, from half a second on; wiped
/// when the object ends. Nothing if stderr is not a terminal.
class RunProgress {
 public:
  explicit RunProgress(bool shown);
  ~RunProgress();
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  /// Wipes the line; nothing is shown any more.
  void End();

  /// From now on this is being done: "compiling for 4096 ranks".
  void Say(std::string what);

  /// A file whose text is shown in place of what was said last, as soon as there is some: another
  /// process tells there how far it is. Empty if nothing is shown. Gone with the line.
  [[nodiscard]] std::string NotesFile();

 private:
  struct State;
  std::unique_ptr<State> state_;  ///< Null: nothing is shown.
};

}  // namespace drydock::launcher
