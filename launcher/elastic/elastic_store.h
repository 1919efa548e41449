#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "launcher/command.h"
#include "launcher/elastic/elastic_job.h"
#include "launcher/elastic/elastic_node.h"
#include "launcher/elastic/etcd_client.h"

namespace drydock::launcher {

/// Between two looks into the store.
inline constexpr std::chrono::milliseconds kStorePause{500};

/// What the nodes of an elastic job know of one another: their keys in etcd, this node's with a
/// lease.
class ElasticStore {
 public:
  ElasticStore(const ElasticRequest& request, const Context& context);

  /// Nothing else before this. @error TLS_MATERIAL
  Status Open(const EtcdAccess& access);
  /// Registers this node, if the job is its to take part in.
  /// @param rules  number of nodes as the job has it is put in
  /// @error ETCD_UNREACHABLE, USAGE
  Status Enter(ElasticRules& rules, std::int64_t ttl_s);

  /// How the job stands; refreshes the lease, and registers again where it was lost.
  Result<ElasticView> Refreshed();

  /// Writes the plan, unless somebody else wrote one since it was read.
  void Publish(const ElasticPlan& plan);
  void TellFailure(std::int64_t round, const std::string& text);
  void TellOver(const std::string& text);
  void TellComplete();
  /// This node's key goes, so that the others form without it.
  void Withdraw();
  /// This node's key goes, and with the last one everything.
  void CleanUp();

 private:
  Result<std::vector<EtcdEntry>> FirstTree();
  [[nodiscard]] Status CheckJob(const std::vector<EtcdEntry>& entries,
                                const std::string& own) const;
  [[nodiscard]] bool SameJob(const std::string& theirs, const std::string& own) const;
  Status CheckNumber(const std::vector<EtcdEntry>& entries, ElasticRules& rules);
  Status ReplaceDeadSelf(const std::vector<EtcdEntry>& entries);
  Status Register();
  ElasticView ViewOf(const std::vector<EtcdEntry>& entries);

  const ElasticRequest& request_;
  const Context& context_;
  EtcdClient etcd_;
  std::string base_;  ///< "/paddle/<job>".
  std::string host_ = {};
  std::optional<std::int64_t> fixed_nodes_ = {};  ///< The job has no range of nodes.
  std::int64_t ttl_s_ = 60;
  std::string own_key_ = {};
  std::int64_t lease_ = 0;
  TimePoint refresh_at_ = {};
  std::int64_t plan_modified_ = 0;
};

/// Prints a line about the job.
void SayOfJob(const Context& context, const std::string& job_id, const std::string& text);

/// A plan as the store has it; nothing if it is none.
[[nodiscard]] std::string EncodePlan(const ElasticPlan& plan);
[[nodiscard]] std::optional<ElasticPlan> DecodePlan(std::string_view text);

}  // namespace drydock::launcher
