#pragma once

#include "launcher/environment.h"
#include "launcher/msrun_options.h"
#include "launcher/run/job_spec.h"

namespace drydock::launcher {

/// What paddle.distributed.launch tells the process of a job with parameter servers.
/// Source: environment of its processes, PaddlePaddle
/// python/paddle/distributed/fleet/launch_utils.py (behaviour only)
void SetPaddleProcess(Environment& variables, const PaddleJob& job, const WorkerSpec& worker);

/// Devices of the rank of a collective job that `drydock paddle-launch` started.
void SetPaddleDevices(Environment& variables, const PaddleJob& job, const WorkerSpec& worker);

}  // namespace drydock::launcher
