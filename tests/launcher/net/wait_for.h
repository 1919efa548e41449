#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/net/agent.h"
#include "launcher/net/scheduler_server.h"

namespace drydock::launcher {

/// Longer than anything takes on a busy machine; a test that reaches it fails.
inline constexpr std::chrono::seconds kPatience(60);

inline bool WaitReadable(int fd) {
  pollfd readable = {.fd = fd, .events = POLLIN, .revents = 0};
  const auto limit = std::chrono::milliseconds(kPatience).count();
  return ::poll(&readable, 1, static_cast<int>(limit)) == 1;
}

/// The first event of a kind; later ones of the same batch are dropped.
inline std::optional<sim::SchedulerEvent> WaitFor(SchedulerServer& server,
                                                  sim::SchedulerEventKind kind) {
  while (WaitReadable(server.event_fd())) {
    for (const sim::SchedulerEvent& event : server.TakeEvents()) {
      if (event.kind == kind) {
        return event;
      }
    }
  }
  ADD_FAILURE() << "no event of kind " << static_cast<int>(kind);
  return std::nullopt;
}

inline std::optional<AgentEvent> NextEvent(Agent& agent) {
  while (WaitReadable(agent.event_fd())) {
    const std::vector<AgentEvent> events = agent.TakeEvents();
    if (!events.empty()) {
      return events.front();
    }
  }
  ADD_FAILURE() << "the agent says nothing";
  return std::nullopt;
}

inline std::unique_ptr<SchedulerServer> Serve(SchedulerServerOptions options) {
  auto server = SchedulerServer::Start(std::move(options));
  EXPECT_TRUE(server) << (server ? "" : server.error().message);
  return server ? *std::move(server) : nullptr;
}

}  // namespace drydock::launcher
