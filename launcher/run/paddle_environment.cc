// Variables of a Paddle process, beside those that every rank gets: its role, the endpoints of all
// roles, its devices.

#include "launcher/run/paddle_environment.h"

#include <string>

namespace drydock::launcher {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
}

std::string_view RoleText(PaddleRole role) {
  switch (role) {
    case PaddleRole::kServer:
      return "PSERVER";
    case PaddleRole::kTrainer:
      return "TRAINER";
    case PaddleRole::kHeterTrainer:
      return "HETER_TRAINER";
  }
  return "TRAINER";
}

}  // namespace

void SetPaddleProcess(Environment& variables, const PaddleJob& job, const WorkerSpec& worker) {
  const PaddleProcess& process = job.own[static_cast<std::size_t>(worker.local_index)];
  variables["PADDLE_PSERVERS_IP_PORT_LIST"] = Joined(job.servers);
  variables["PADDLE_TRAINER_ENDPOINTS"] = Joined(job.trainers);
  variables["PADDLE_TRAINERS_NUM"] = std::to_string(job.trainers.size());
  if (!job.heter_trainers.empty()) {
    variables["PADDLE_HETER_TRAINER_IP_PORT_LIST"] = Joined(job.heter_trainers);
  }
  variables["TRAINING_ROLE"] = RoleText(process.role);
  variables["PADDLE_PORT"] = std::to_string(PortOf(process.endpoint));
  variables["POD_IP"] = HostOf(process.endpoint);
  if (process.role == PaddleRole::kTrainer) {
    variables["PADDLE_TRAINER_ID"] = std::to_string(process.index);
  }
  variables.emplace("PADDLE_WITH_GLOO", "0");
  variables["PADDLE_GLOO_RENDEZVOUS"] = "3";
  variables.emplace("PADDLE_GLOO_FS_PATH", "");
  variables["PADDLE_GLOO_HTTP_ENDPOINT"] =
      HostOf(job.servers.front()) + ":" + std::to_string(job.http_port);
}

void SetPaddleDevices(Environment& variables, const PaddleJob& job, const WorkerSpec& worker) {
  const auto index = static_cast<std::size_t>(worker.local_index);
  if (job.on_cpu) {
    variables["PADDLE_DISTRI_BACKEND"] = "gloo";
    return;
  }
  const std::string device =
      index < job.devices.size() ? job.devices[index] : std::to_string(index);
  for (const char* const name :
       {"FLAGS_selected_gpus", "FLAGS_selected_npus", "FLAGS_selected_xpus",
        "FLAGS_selected_accelerators", "PADDLE_LOCAL_DEVICE_IDS"}) {
    variables[name] = device;
  }
}

}  // namespace drydock::launcher
