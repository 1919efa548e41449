#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/descriptor.h"
#include "base/result.h"
#include "launcher/msrun_options.h"
#include "launcher/run/preflight.h"

namespace drydock::launcher {

/// Something that happened to the ranks of a job, wherever they run.
struct ClusterNews {
  enum class Kind : std::uint8_t {
    kRegistered,   ///< A rank registered; `id` is its node id.
    kFormed,       ///< All ranks have registered.
    kRefused,      ///< A rank was refused; `error` says why. The job goes on.
    kFailed,       ///< The job cannot go on; `error` says why.
    kContradicts,  ///< The same: the launchers were told different jobs.
  };
  Kind kind = Kind::kRegistered;
  std::string id = {};
  std::optional<Error> error = {};
};

/// Who has registered so far.
struct FormingState {
  std::int64_t present = 0;
  std::int64_t expected = 0;
  std::vector<std::uint32_t> missing = {};  ///< At most 8 ranks.
  friend bool operator==(const FormingState&, const FormingState&) = default;
};

/// What the launchers of all nodes agreed on.
struct Agreement {
  std::vector<std::int64_t> own_ranks = {};  ///< Of the local workers, in their order.
  std::vector<std::string> rank_ips = {};    ///< Address of every rank's node, by rank.
  std::vector<std::string> rank_hosts = {};  ///< Name of every rank's node, by rank.
  std::vector<std::string> rank_notes = {};  ///< Note of a node at its first rank; else empty.
  std::string master_ip = {};                ///< MASTER_ADDR for scripts.
  std::int64_t master_port = 0;              ///< MASTER_PORT.
};

/// The distributed half of a job: the scheduler, if this machine is the master, and this node's
/// registration, if the ranks do not register themselves. Both are optional: a job of scripts on
/// one node needs neither.
class Cluster {
 public:
  /// Listens, and begins to register.
  /// @param script_port  MASTER_PORT that the node of rank 0 proposes
  /// @error PORT_IN_USE, LOG_DIR, RECOVERY_STATE, USAGE
  [[nodiscard]] static Result<std::unique_ptr<Cluster>> Start(const MsrunOptions& options,
                                                              const Environment& environment,
                                                              const CheckedJob& job,
                                                              std::int64_t script_port);
  /// Begins to register, where `job.joins_later`: until then failures of other nodes are heard,
  /// and told, over a line of their own. @error USAGE
  [[nodiscard]] Status Join(const MsrunOptions& options, const Environment& environment,
                            const CheckedJob& job);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Readable when Take() has something to give.
  [[nodiscard]] std::vector<int> fds() const;
  /// What happened since the last call, oldest first.
  [[nodiscard]] std::vector<ClusterNews> Take();
  /// Port of the scheduler, if it is ours.
  [[nodiscard]] std::optional<std::int64_t> port() const;
  /// Who has registered; nothing if the scheduler is not ours.
  [[nodiscard]] std::optional<FormingState> Forming() const;
  /// This node has asked to join a scheduler elsewhere, and has no answer that all are there.
  [[nodiscard]] bool waits_for_others() const;
  /// The launchers agree before scripts start.
  [[nodiscard]] bool agrees() const;
  /// What they agreed on, after kFormed.
  [[nodiscard]] Agreement Agreed() const;
  /// Registrations of ranks are seen here.
  [[nodiscard]] bool sees_registrations() const;
  /// Tells the other nodes that ranks of ours are lost. @param ids  node ids, where known
  void TellFailure(const std::vector<std::string>& ids, const std::string& what);
  /// Our ranks are done.
  void Leave();
  /// The job has failed: our own registrations end with their connections.
  void Abandon();
  /// True once no other node depends on this one.
  [[nodiscard]] bool finished() const;

 private:
  struct Impl;
  explicit Cluster(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A scheduler that outlives us.
struct DetachedScheduler {
  pid_t pid = 0;
  std::int64_t port = 0;
  /// Where it reads whom it serves; it ends with them.
  std::shared_ptr<Descriptor> ranks = {};
  std::vector<std::string> warnings = {};  ///< What it warned of before it listened.
};

/// Starts the scheduler as a process of its own, for --join=False, and waits until it listens.
/// @error as Cluster::Start
[[nodiscard]] Result<DetachedScheduler> StartDetachedScheduler(const MsrunOptions& options,
                                                               const Environment& environment,
                                                               const CheckedJob& job);

}  // namespace drydock::launcher
