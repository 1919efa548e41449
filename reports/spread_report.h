#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/run_report.h"

/// A dry run that many hosts played: schema `drydock.spread/1`. The members of each struct are
/// described by its `Fields` table (reports/field_table.h).
namespace drydock::reports {

struct SpreadHostReport {
  std::int64_t host = 0;
  std::string name = {};
  std::string address = {};
  std::string ranks = {};

  static constexpr std::string_view kTypeName = "SpreadHost";
  static constexpr std::string_view kMeaning = "A host and the virtual ranks that it played.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("host", &SpreadHostReport::host, "Its number, from 0.");
    field("name", &SpreadHostReport::name, "Its name.");
    field("address", &SpreadHostReport::address, "Its address towards the scheduler.");
    field("ranks", &SpreadHostReport::ranks, "Its virtual ranks, in range notation.");
  }
};

struct SpreadReport {
  std::string schema = "drydock.spread/1";
  RunReport run = {};
  std::string scheduler = {};
  std::int64_t ranks = 0;
  std::int64_t connections = 0;
  std::int64_t specialised_ranks = 0;
  double formed_seconds = 0;
  double left_seconds = 0;
  std::vector<SpreadHostReport> hosts = {};

  static constexpr std::string_view kTypeName = "SpreadReport";
  static constexpr std::string_view kMeaning =
      "A dry run that many hosts played over TCP, with --sim_spread. Times are measured, so two "
      "runs differ in them.";
  template <typename Visitor>
  static void Fields(Visitor& field) {
    field("schema", &SpreadReport::schema, "Format of this document.", {"drydock.spread/1"});
    field("run", &SpreadReport::run, "Which run this belongs to.");
    field("scheduler", &SpreadReport::scheduler, "Address and port of the scheduler, on host 0.");
    field("ranks", &SpreadReport::ranks, "Virtual ranks that registered over TCP, and left.");
    field("connections", &SpreadReport::connections, "Their connections to the scheduler.");
    field("specialised_ranks", &SpreadReport::specialised_ranks,
          "Ranks that worked out their own program, over all hosts.");
    field("formed_seconds", &SpreadReport::formed_seconds,
          "On host 0, from the first of its ranks' connections until it knew that all ranks of all "
          "hosts are there, and which host has which: waiting for later hosts is part of it.");
    field("left_seconds", &SpreadReport::left_seconds,
          "From then until the last rank of the last host had left.");
    field("hosts", &SpreadReport::hosts, "By number.");
  }
};

}  // namespace drydock::reports
