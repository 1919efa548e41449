#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "launcher/net/loop_thread.h"
#include "launcher/net/scheduler_shell.h"

namespace drydock::launcher {

/// A scheduler with limits of its own, on a thread of its own. SchedulerServer has fixed ones.
class ShellServer {
 public:
  explicit ShellServer(const ShellLimits& limits, const TlsContext* tls = nullptr,
                       std::uint32_t workers = 1)
      : log_(SchedulerLog::Open("").value()),
        shell_(sim::SchedulerCore::Create({.worker_num = workers}, loop_.Now()).value(), limits,
               {.loop = loop_,
                .log = log_,
                .on_event = [](const sim::SchedulerEvent& /*event*/) {},
                .on_over = [] {},
                .on_failure = [](const Error& error) { ADD_FAILURE() << error.message; }}) {
    auto listener = loop_.Listen({"127.0.0.1", 0}, tls, [this](std::unique_ptr<TcpStream> stream) {
      return shell_.Accept(std::move(stream));
    });
    EXPECT_TRUE(listener);
    listener_ = *std::move(listener);
    thread_.Start(loop_);
  }
  ~ShellServer() {
    loop_.Stop();
    thread_.Join();
  }
  ShellServer(const ShellServer&) = delete;
  ShellServer& operator=(const ShellServer&) = delete;

  [[nodiscard]] Endpoint endpoint() const { return {"127.0.0.1", listener_->port()}; }

 private:
  EventLoop loop_;
  SchedulerLog log_;
  SchedulerShell shell_;
  std::unique_ptr<Listener> listener_;
  LoopThread thread_;
};

}  // namespace drydock::launcher
