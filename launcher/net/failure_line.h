#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/net/event_loop.h"

namespace drydock::launcher {

/// What a failure line needs.
struct FailureLineOptions {
  Endpoint scheduler = {};
  std::optional<TlsFiles> tls = {};  ///< Files of the client's side; nothing: plain TCP.
  std::string proof = {};            ///< Of the job's secret; empty: none.
  std::int64_t worker_num = 0;       ///< As this launcher was told; 0: not compared.
};

/// What a failure line heard.
struct HeardFailure {
  bool is_contradiction = false;  ///< The scheduler has another number of ranks than we.
  std::string text = {};
  friend bool operator==(const HeardFailure&, const HeardFailure&) = default;
};

/// Tells the launchers of a job's other nodes that a rank failed, and hears it from them, where the
/// ranks register themselves: one connection to the scheduler, on a thread of its own, over which a
/// key of its metadata (kAgentFailureKey) is asked for every half second.
///
/// A scheduler that does not answer is no error: it is tried again for as long as the line exists.
/// All functions may be called from any thread.
class FailureLine {
 public:
  /// Begins to connect. @error TLS_MATERIAL
  [[nodiscard]] static Result<std::unique_ptr<FailureLine>> Start(FailureLineOptions options);
  /// Stops.
  ~FailureLine();
  FailureLine(const FailureLine&) = delete;
  FailureLine& operator=(const FailureLine&) = delete;

  /// Readable (poll) while Take has something to give. Owned by the line.
  [[nodiscard]] int event_fd() const;
  /// What a launcher of another node said, at most once, never what we told ourselves; and that the
  /// scheduler has another number of ranks.
  [[nodiscard]] std::vector<HeardFailure> Take();
  /// A rank of this node failed: the others hear of it within a second. Our first report counts;
  /// one that finds no connection is sent as soon as there is one. Where the numbers of ranks are
  /// compared it waits for that: others hear that they differ in place of what came of it.
  void Tell(const std::string& what);
  /// The connection to the scheduler is open.
  [[nodiscard]] bool connected() const;
  /// Nothing is left to tell: the scheduler knows of a failure, or was there and is gone.
  [[nodiscard]] bool settled() const;

 private:
  class Impl;
  explicit FailureLine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drydock::launcher
