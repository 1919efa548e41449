#include "launcher/net/agent.h"
namespace drydock::launcher {
class Agent::Impl {};
Agent::Agent(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Result<std::unique_ptr<Agent>> Agent::Start(AgentOptions) { return Fail(ErrorCode::kUnsupported, "no agent"); }
Agent::~Agent() = default;
int Agent::event_fd() const { return -1; }
std::vector<AgentEvent> Agent::TakeEvents() { return {}; }
AgentJob Agent::Job() const { return {}; }
void Agent::ReportFailure(const std::string&) {}
void Agent::Leave() {}
void Agent::Stop() {}
}
