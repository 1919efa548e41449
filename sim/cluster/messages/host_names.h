#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drydock::sim {

// Message "9": the request's body is the bare role ("MS_WORKER"), the answer's is compact JSON.

/// `{"hostnames":["h0","h1"]}`, in rank order. @param names  UTF-8
[[nodiscard]] std::string EncodeHostNames(const std::vector<std::string_view>& names);

/// The names of such an answer. @error kProtocol  not of this form
[[nodiscard]] Result<std::vector<std::string>> DecodeHostNames(std::string_view body);

}  // namespace drydock::sim
