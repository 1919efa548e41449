#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drydock::sim {

/// Where an actor of a worker listens: metadata value under the actor's id. Texts are views.
struct ActorAddress {
  std::string_view actor_id = {};
  std::string_view ip = {};
  std::uint32_t port = 0;
  std::uint32_t func_id = 0;
  friend bool operator==(const ActorAddress&, const ActorAddress&) = default;
};

/// Appends the body to `out`.
void EncodeBody(const ActorAddress& message, std::string& out);

/// @error kProtocol  malformed or not UTF-8
[[nodiscard]] Result<ActorAddress> DecodeActorAddress(std::string_view body);

}  // namespace drydock::sim
