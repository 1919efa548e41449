#include "reports/database.h"

#include <charconv>
#include <concepts>
#include <string_view>

namespace drydock::reports {
namespace {

/// "DRYD": says that a database is ours.
constexpr std::string_view kTables = R"(PRAGMA application_id=0x44525944;
BEGIN;
CREATE TABLE run(id TEXT, drydock_version TEXT, subject TEXT, subject_sha256 TEXT, compat TEXT, verdict TEXT, verdict_text TEXT,
  world_size INTEGER, pipeline_stages INTEGER, parallel_mode TEXT, parameter_count INTEGER);
CREATE TABLE classes(class INTEGER PRIMARY KEY, ranks TEXT, rank_count INTEGER, stage INTEGER, used_peak_bytes INTEGER,
  actual_peak_bytes INTEGER, limit_bytes INTEGER, head_room_bytes INTEGER, kept_for_backward_bytes INTEGER, peak_kernel INTEGER,
  peak_operator TEXT);
CREATE TABLE parts(class INTEGER, part TEXT, bytes INTEGER);
CREATE TABLE layers(class INTEGER, position INTEGER, scope TEXT, bytes INTEGER);
CREATE TABLE tensors(class INTEGER, name TEXT, part TEXT, producer TEXT, operator TEXT, scope TEXT, bytes INTEGER, tensor TEXT,
  address INTEGER, first_kernel INTEGER, last_kernel INTEGER, file TEXT, line INTEGER);
CREATE TABLE kernels(class INTEGER, kernel INTEGER, operator TEXT, kind TEXT, phase TEXT, stream INTEGER, micro_batch INTEGER,
  bytes INTEGER, file TEXT, line INTEGER);
CREATE TABLE collectives(ranks TEXT, position INTEGER, kind TEXT, name TEXT, group_size INTEGER, tensor TEXT, payload_bytes INTEGER,
  sent_bytes INTEGER, inter_node_bytes INTEGER, phase TEXT, reason TEXT, why TEXT, operator TEXT, file TEXT, line INTEGER);
CREATE TABLE causes(ranks TEXT, rank_count INTEGER, kind TEXT, reason TEXT, phase TEXT, why TEXT, group_size INTEGER, count INTEGER,
  sent_bytes INTEGER, inter_node_bytes INTEGER, file TEXT, line INTEGER);
CREATE TABLE trials(change TEXT, fits INTEGER, peak_bytes INTEGER, problem TEXT);
CREATE TABLE strategies(operator TEXT, source TEXT, strategy TEXT, device_matrix TEXT, file TEXT, line INTEGER);
CREATE TABLE diagnostics(code TEXT, text TEXT, count INTEGER, unsupported INTEGER, file TEXT, line INTEGER);
)";

constexpr std::string_view kViews =
    R"(CREATE VIEW at_peak AS SELECT tensors.* FROM tensors JOIN classes USING(class)
  WHERE first_kernel <= peak_kernel AND peak_kernel <= last_kernel;
CREATE VIEW peak_by_scope AS SELECT class, scope, SUM(bytes) AS bytes, COUNT(*) AS tensors FROM at_peak GROUP BY class, scope
  ORDER BY bytes DESC;
CREATE VIEW peak_by_line AS SELECT class, file, line, SUM(bytes) AS bytes, COUNT(*) AS tensors FROM at_peak GROUP BY class, file, line
  ORDER BY bytes DESC;
CREATE VIEW sent_by_line AS SELECT ranks, file, line, kind, reason, phase, SUM(sent_bytes) AS sent_bytes, SUM(count) AS collectives,
  SUM(sent_bytes * rank_count) AS job_sent_bytes, SUM(inter_node_bytes) AS inter_node_bytes
  FROM causes GROUP BY ranks, file, line, kind, reason, phase ORDER BY sent_bytes DESC;
CREATE VIEW memory_over_step AS SELECT class, kernel, bytes, operator, file, line FROM kernels ORDER BY class, kernel;
COMMIT;
)";

class SqlWriter {
 public:
  SqlWriter() : text_(kTables) {}

  template <typename... Values>
  void Insert(std::string_view table, const Values&... values) {
    text_ += "INSERT INTO " + std::string(table) + " VALUES(";
    bool first = true;
    ((text_ += first ? "" : ",", first = false, Add(values)), ...);
    text_ += ");\n";
  }
  std::string Take() && { return std::move(text_) + std::string(kViews); }

 private:
  void Add(std::integral auto value) { text_ += std::to_string(value); }
  void Add(const std::string& value) {
    text_ += '\'';
    for (const char c : value) {
      // Statements end at a byte 0.
      text_ += c == '\0' ? std::string("?") : c == '\'' ? std::string("''") : std::string(1, c);
    }
    text_ += '\'';
  }
  /// File and line.
  void Add(const std::optional<PlaceReport>& place) {
    if (place) {
      Add(place->file);
      text_ += "," + std::to_string(place->line);
    } else {
      text_ += "NULL,NULL";
    }
  }

  std::string text_;
};

void AddClasses(SqlWriter& sql, const MemoryReport& memory) {
  for (std::size_t c = 0; c < memory.classes.size(); ++c) {
    const RankClassReport& item = memory.classes[c];
    sql.Insert("classes", c, item.ranks, item.rank_count, item.stage, item.used_peak_bytes,
               item.actual_peak_bytes, item.limit_bytes, item.head_room_bytes,
               item.kept_for_backward_bytes, item.peak.kernel, item.peak.name);
    for (const MemoryPartReport& part : item.breakdown) {
      sql.Insert("parts", c, part.part, part.bytes);
    }
    for (std::size_t i = 0; i < item.by_layer.size(); ++i) {
      sql.Insert("layers", c, i, item.by_layer[i].scope, item.by_layer[i].bytes);
    }
  }
}

void AddProfile(SqlWriter& sql, const ProfileReport& profile) {
  for (std::size_t c = 0; c < profile.classes.size(); ++c) {
    const ClassProfileReport& item = profile.classes[c];
    for (const TensorReport& row : item.tensors) {
      sql.Insert("tensors", c, row.name, row.part, row.producer, row.operator_name, row.scope,
                 row.bytes, row.tensor, row.address, row.first_kernel, row.last_kernel, row.place);
    }
    for (std::size_t k = 0; k < item.kernels.size(); ++k) {
      std::int64_t bytes = 0;
      for (const PartSeriesReport& part : item.parts) {
        bytes += part.bytes[k];
      }
      const ProfileKernelReport& row = item.kernels[k];
      sql.Insert("kernels", c, row.kernel, row.name, row.kind, row.phase, row.stream,
                 row.micro_batch, bytes, row.place);
    }
  }
}

void AddCommunication(SqlWriter& sql, const CommunicationReport& communication) {
  for (const CollectiveReport& row : communication.collectives) {
    sql.Insert("collectives", row.ranks.value_or("all"), row.index, row.kind, row.name,
               row.group_size, row.tensor, row.payload_bytes, row.sent_bytes, row.inter_node_bytes,
               row.phase, row.reason, row.why, row.operator_name, row.place);
  }
  for (const CauseReport& row : communication.causes) {
    sql.Insert("causes", row.ranks.value_or("all"), row.rank_count, row.kind, row.reason, row.phase,
               row.why, row.group_size, row.count, row.sent_bytes, row.inter_node_bytes, row.place);
  }
}

std::string MatrixText(const std::vector<std::int64_t>& matrix) {
  std::string text;
  for (const std::int64_t extent : matrix) {
    text += (text.empty() ? "(" : ", ") + std::to_string(extent);
  }
  return text + ")";
}

}  // namespace

std::string DatabaseSql(const ReportSet& set) {
  SqlWriter sql;
  const SummaryReport& summary = set.summary;
  sql.Insert("run", summary.run.id, summary.drydock_version, summary.run.subject,
             summary.run.subject_sha256, summary.run.compat, summary.verdict, summary.verdict_text,
             summary.checked.world_size, summary.checked.pipeline_stages,
             summary.checked.parallel_mode, summary.parameter_count);
  for (const StrategyReport& row : summary.strategies) {
    sql.Insert("strategies", row.name, row.source, row.strategy, MatrixText(row.device_matrix),
               row.place);
  }
  for (const DiagnosticReport& row : summary.diagnostics) {
    sql.Insert("diagnostics", row.code, row.text, row.count, row.unsupported ? 1 : 0, row.place);
  }
  if (set.memory) {
    AddClasses(sql, *set.memory);
  }
  if (set.profile) {
    AddProfile(sql, *set.profile);
  }
  for (const FitTrialReport& row : summary.trials) {
    sql.Insert("trials", row.change, row.fits ? 1 : 0, row.peak_bytes, row.problem);
  }
  if (set.communication) {
    AddCommunication(sql, *set.communication);
  }
  return std::move(sql).Take();
}

}  // namespace drydock::reports
