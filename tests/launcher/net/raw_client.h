#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/byte_reader.h"
#include "base/descriptor.h"
#include "sim/cluster/frame.h"
#include "tests/launcher/net/wait_for.h"

namespace drydock::launcher {

/// A blocking client that sends any bytes.
class RawClient {
 public:
  explicit RawClient(const Endpoint& server)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port);
    ::inet_pton(AF_INET, server.address.c_str(), &address.sin_addr);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  /// False once the other side has closed.
  bool Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  bool SendFrame(std::string_view name, std::string_view body) const {
    std::string bytes;
    sim::AppendFrame({.name = name, .to = "@scheduler", .from = "@", .body = body}, bytes);
    return Send(bytes);
  }
  template <typename Message>
  bool SendMessage(std::string_view name, const Message& message) const {
    std::string body;
    EncodeBody(message, body);
    return SendFrame(name, body);
  }
  /// The next frame; valid until the next call. Nothing if the other side closed.
  std::optional<sim::FrameView> Receive() {
    while (true) {
      auto frame = decoder_.Next();
      if (!frame || *frame) {
        return frame ? *frame : std::nullopt;
      }
      std::array<char, 65536> piece = {};
      const ssize_t count =
          WaitReadable(socket_.get()) ? ::recv(socket_.get(), piece.data(), piece.size(), 0) : -1;
      if (count <= 0) {
        return std::nullopt;
      }
      decoder_.Feed(AsBytes(std::string_view(piece.data(), static_cast<std::size_t>(count))));
    }
  }
  /// Waits until the other side closes; what it sends until then is dropped.
  bool IsClosed() {
    std::array<char, 65536> piece = {};
    while (WaitReadable(socket_.get())) {
      if (::recv(socket_.get(), piece.data(), piece.size(), 0) <= 0) {
        return true;
      }
    }
    return false;
  }

 private:
  Descriptor socket_;
  sim::FrameDecoder decoder_;
};

}  // namespace drydock::launcher
