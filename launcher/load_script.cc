#include "launcher/load_script.h"

namespace drydock::launcher {

Result<TracedScript> TraceForJob(const MsrunOptions& /*options*/, const ScriptCall& call,
                                 const Context& /*context*/) {
  return FailCommand("UNSUPPORTED", "running '" + call.script + "' is not there yet",
                     "give a graph document (*.json), see docs/graph-format.md");
}

}  // namespace drydock::launcher
