// Which processes of a Paddle job with parameter servers this node runs: those whose endpoint has
// an address of this machine, counted in the order of the lists (--servers, --workers,
// --heter_workers).

#include "launcher/paddle_job.h"

#include <algorithm>
#include <set>

#include "launcher/exit_code.h"
#include "launcher/flags.h"

namespace drydock::launcher {
namespace {

std::string_view LogStem(PaddleRole role) {
  switch (role) {
    case PaddleRole::kServer:
      return "serverlog.";
    case PaddleRole::kTrainer:
      return "workerlog.";
    case PaddleRole::kHeterTrainer:
      return "heterlog.";
  }
  return "workerlog.";
}

void TakeRole(const std::vector<std::string>& endpoints, PaddleRole role,
              const std::vector<std::string>& own_addresses, PaddleJob& job) {
  std::int64_t local = 0;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    if (std::ranges::find(own_addresses, HostOf(endpoints[i])) != own_addresses.end()) {
      job.own.push_back({.role = role,
                         .index = static_cast<std::int64_t>(i),
                         .log = local++,
                         .endpoint = endpoints[i]});
    }
  }
}

}  // namespace

std::vector<std::string> SplitList(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    word.remove_prefix(std::min(word.find_first_not_of(" \t"), word.size()));
    word = word.substr(0, word.find_last_not_of(" \t") + 1);
    if (!word.empty()) {
      words.emplace_back(word);
    }
  }
  return words;
}

std::int64_t PortOf(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  return colon == std::string_view::npos ? 0 : ReadIntWord(endpoint.substr(colon + 1)).value_or(0);
}

std::string HostOf(std::string_view endpoint) {
  return std::string(endpoint.substr(0, endpoint.rfind(':')));
}

Status TakeOwnProcesses(PaddleJob& job, const std::vector<std::string>& own_addresses) {
  std::set<std::string_view> seen;
  for (const auto* list : {&job.servers, &job.trainers, &job.heter_trainers}) {
    for (const std::string& endpoint : *list) {
      const std::int64_t port = PortOf(endpoint);
      if (port < 1 || port > 65535 || HostOf(endpoint).empty()) {
        return FailCommand(FailureCode::kUsage, "'" + endpoint + "' is not an address with a port",
                           "write endpoints like 192.0.2.1:6170");
      }
      if (!seen.insert(endpoint).second) {
        return FailCommand(FailureCode::kUsage, "endpoint " + endpoint + " is given twice",
                           "give each process a port of its own");
      }
    }
  }
  TakeRole(job.servers, PaddleRole::kServer, own_addresses, job);
  TakeRole(job.trainers, PaddleRole::kTrainer, own_addresses, job);
  TakeRole(job.heter_trainers, PaddleRole::kHeterTrainer, own_addresses, job);
  if (job.own.empty()) {
    return FailCommand(FailureCode::kUsage, "no endpoint of the job has an address of this machine",
                       "check --servers and --workers");
  }
  return {};
}

std::string PaddleLogName(const PaddleProcess& process) {
  return std::string(LogStem(process.role)) + std::to_string(process.log);
}

std::string PaddleName(const PaddleProcess& process) {
  const std::string number = std::to_string(process.index);
  switch (process.role) {
    case PaddleRole::kServer:
      return "server " + number;
    case PaddleRole::kTrainer:
      return "trainer " + number;
    case PaddleRole::kHeterTrainer:
      return "heter trainer " + number;
  }
  return number;
}

std::string AbortText(std::int64_t ranks, const std::vector<std::int64_t>& failed) {
  std::string list;
  for (const std::int64_t rank : failed) {
    list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  return "ABORT!!! Out of all " + std::to_string(ranks) +
         " trainers, the trainer process with rank=[" + list +
         "] was aborted. Please check its log.";
}

std::string EndpointsText(const std::vector<std::string>& endpoints) {
  std::string text = "PADDLE_TRAINER_ENDPOINTS: \n";
  for (const std::string& endpoint : endpoints) {
    text += endpoint + "\n";
  }
  return text;
}

}  // namespace drydock::launcher
