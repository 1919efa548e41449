#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "launcher/command.h"
#include "launcher/msrun_options.h"
#include "launcher/run/cluster.h"
#include "launcher/run/preflight.h"
#include "launcher/spread_place.h"
#include "reports/report_set.h"
#include "reports/spread_report.h"
#include "strategies/program/job_program.h"

namespace drydock::launcher {

/// One host of a dry run that many hosts play (--sim_spread): host 0 serves the scheduler, the
/// virtual ranks of every host register with it over two connections each, learn from it that all
/// are there, work out their programs and leave. So a scheduler meets the job's connections on the
/// job's network, and every host shows that it would run the same job.
class Spread {
 public:
  /// Listens on host 0; on all hosts, begins to hear of others that fail.
  /// @param with_log  host 0 writes scheduler.log into the log folder
  /// @error USAGE, RESOLVE, PORT_IN_USE, NOFILE, TLS_MATERIAL, LOG_DIR
  [[nodiscard]] static Result<std::unique_ptr<Spread>> Open(const MsrunOptions& options,
                                                            const Context& context, bool with_log);

  /// This host writes and prints the reports.
  [[nodiscard]] bool reports() const { return place_.host == 0; }
  /// Plays this host's ranks to their end; on host 0 until those of all hosts have left.
  /// @param set  reports of the whole job, as this host found them
  /// @error HOSTS_DIFFER, HOST_FAILED, USAGE (other numbers of ranks), BUILD_TIMEOUT,
  ///        MASTER_UNREACHABLE, RANK_LOST
  [[nodiscard]] Status Play(const reports::ReportSet& set, const strategies::JobProgram& job);
  /// The other hosts hear that this one gave up, or, on host 0, that another did.
  void Tell(const Error& error);
  /// What host 0 saw, after Play.
  [[nodiscard]] const reports::SpreadReport& report() const { return report_; }

 private:
  Spread(MsrunOptions options, const Context& context, CheckedJob job, SpreadPlace place);

  [[nodiscard]] Status WaitUntil(bool (Spread::*done)() const);
  [[nodiscard]] bool HasFormed() const { return formed_; }
  [[nodiscard]] bool HasFinished() const { return cluster_->finished(); }
  [[nodiscard]] Status MeaningOf(const Error& error) const;
  void SayWhoIsMissing();
  [[nodiscard]] std::vector<SpreadHost> HostsOf(const Agreement& agreement) const;
  void Note(const std::vector<SpreadHost>& hosts);

  MsrunOptions options_;  ///< As of a real job whose nodes start these ranks.
  const Context& context_;
  Environment environment_;
  CheckedJob job_;
  SpreadPlace place_;
  std::unique_ptr<Cluster> cluster_ = {};
  bool formed_ = false;
  bool over_ = false;         ///< All ranks that concern this host have left.
  TimePoint notice_at_ = {};  ///< When who is missing is said again.
  reports::SpreadReport report_ = {};
};

}  // namespace drydock::launcher
