#pragma once

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/source_dir.h"

namespace drydock::sim {

/// One frame of tests/vectors/frames.json.
struct CapturedFrame {
  std::string connection = {};
  bool to_scheduler = false;
  std::string what = {};  ///< Case or meaning, for messages.
  nlohmann::json entry = {};
  std::optional<std::string> bytes = {};  ///< Absent for a frame whose long text was left out.
};

/// One exchange of the file.
struct CapturedExchange {
  std::string id = {};
  std::uint32_t workers = 2;
  std::string scheduler_address = {};  ///< As it stands in replies.
  std::string address_seen_by_workers = {};
  bool real_workers = false;
  std::vector<CapturedFrame> frames = {};
};

inline std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// The exchanges of frames.json in the folder DRYDOCK_VECTORS names.
inline std::vector<CapturedExchange> LoadCaptures() {
  const char* const folder = std::getenv("DRYDOCK_VECTORS");
  const std::string path =
      std::string(folder != nullptr ? folder : SourceDir() + "/tests/vectors") + "/frames.json";
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  const nlohmann::json document = nlohmann::json::parse(file);
  std::vector<CapturedExchange> exchanges;
  for (const auto& source : document.at("exchanges")) {
    CapturedExchange exchange;
    exchange.id = source.at("id");
    exchange.real_workers = source.contains("workers");
    exchange.workers = source.value("workers", 2U);
    for (const auto& entry : source.at("frames")) {
      CapturedFrame frame;
      frame.connection = entry.at("connection").dump();
      frame.to_scheduler = entry.at("direction") == "worker_to_scheduler";
      const auto& label =
          entry.contains("case") && entry["case"].is_string() ? entry["case"] : entry["meaning"];
      frame.what = label.is_string() ? label.get<std::string>() : "?";
      frame.entry = entry;
      if (entry.contains("frame_hex")) {
        frame.bytes = FromHex(entry.at("frame_hex").get<std::string>());
      }
      std::string& address =
          frame.to_scheduler ? exchange.address_seen_by_workers : exchange.scheduler_address;
      address = entry.at("to").get<std::string>().substr(1);
      exchange.frames.push_back(std::move(frame));
    }
    exchanges.push_back(std::move(exchange));
  }
  return exchanges;
}

/// The reply that follows frame `i` on its connection before the next request, nothing if none.
inline const CapturedFrame* ReplyTo(const CapturedExchange& exchange, std::size_t i) {
  for (std::size_t k = i + 1; k < exchange.frames.size(); ++k) {
    if (exchange.frames[k].connection == exchange.frames[i].connection) {
      return exchange.frames[k].to_scheduler ? nullptr : &exchange.frames[k];
    }
  }
  return nullptr;
}

}  // namespace drydock::sim
