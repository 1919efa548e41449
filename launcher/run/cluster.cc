#include "launcher/run/cluster.h"

namespace drydock::launcher {

struct Cluster::Impl {};

Cluster::Cluster(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cluster::~Cluster() = default;

Result<std::unique_ptr<Cluster>> Cluster::Start(const MsrunOptions& /*options*/,
                                                const CheckedJob& /*job*/) {
  return std::unique_ptr<Cluster>(new Cluster(nullptr));
}
std::vector<int> Cluster::fds() const {
  return {};
}
std::vector<ClusterNews> Cluster::Take() {
  return {};
}
std::optional<FormingState> Cluster::Forming() const {
  return std::nullopt;
}
bool Cluster::agrees() const {
  return false;
}
Agreement Cluster::Agreed() const {
  return {};
}
bool Cluster::sees_registrations() const {
  return false;
}
void Cluster::TellFailure(const std::vector<std::string>& /*ids*/, const std::string& /*what*/) {}
void Cluster::Leave() {}
bool Cluster::finished() const {
  return true;
}
Result<std::int64_t> StartDetachedScheduler(const MsrunOptions& /*options*/,
                                            const CheckedJob& /*job*/) {
  return Fail(ErrorCode::kUnsupported, "not yet");
}

}  // namespace drydock::launcher
