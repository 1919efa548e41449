#include "sim/calibration/memory_block.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/byte_reader.h"

/// From the tracker's file to a table.
///
/// A row is a block of memory: its size after rounding, what it is (`Kernel`: a result,
/// `WorkSpace`,
/// ...), the task that asked for it and the full name of that task's kernel. Blocks of one task, in
/// the order of the file, are the results and workspaces of one launch:
///     ...,4608,...,Kernel,...,17,17_Default/net/MatMul-op3,Default/net/MatMul-op3,...
///     ...,1049088,...,WorkSpace,...,17,17_Default/net/MatMul-op3,Default/net/MatMul-op3,...
/// says that a MatMul with a result of 4,608 bytes takes 1,049,088. Sizes in the table are before
/// rounding: 32 bytes less, which round to the same.
/// Source: mindspore/ccsrc/memory/mem_pool/mem_tracker.cc
namespace drydock::sim {
namespace {

constexpr std::int64_t kMostBlockBytes = std::int64_t{1} << 44;
constexpr std::int64_t kSpareBytes = 32;  ///< That the pool leaves at least; see alignment.h.

enum Column : std::uint8_t { kSize, kType, kProducer, kNode, kColumnCount };
constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"size", "type",
                                                                     "producer_task", "node_name"};

/// Fields of a line; each is followed by a comma.
std::vector<std::string_view> FieldsOf(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  return fields;
}

tl::unexpected<Error> FailAt(std::string_view file, std::int32_t line, std::string message,
                             std::string hint) {
  Error error = FailInput("calibrate:bad-file", std::move(message), std::move(hint)).value();
  error.place = SourcePlace{.file = std::string(file), .line = line};
  return tl::unexpected(std::move(error));
}

/// "Default/net/MatMul-op3" -> "MatMul".
std::string KernelOf(std::string_view full_name) {
  full_name.remove_prefix(std::min(full_name.size(), full_name.rfind('/') + 1));
  return std::string(full_name.substr(0, full_name.rfind("-op")));
}

struct Launch {
  WorkspaceTable::Key key = {};
  std::int64_t workspace_bytes = 0;
};

class BlockReader {
 public:
  explicit BlockReader(std::string_view file) : file_(file) {}

  Result<WorkspaceTable> Run(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line_;
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      DRYDOCK_RETURN_IF_ERROR(line_ == 1 ? ReadHeader(line) : ReadRow(line));
    }
    if (launches_.empty()) {
      return FailAt(file_, 1, "no block of a kernel is listed",
                    "run the job with MS_ALLOC_CONF=memory_tracker:True and without "
                    "simple_tracker, and give its memory_block.csv");
    }
    WorkspaceTable table{.source = std::string(file_)};
    for (const auto& [task, launch] : launches_) {
      WorkspaceTable::Entry& entry = table.entries[launch.key];
      const std::int64_t bytes = std::max<std::int64_t>(0, launch.workspace_bytes - kSpareBytes);
      entry.bytes = std::max(entry.bytes, bytes);
      ++entry.kernels;
    }
    return table;
  }

 private:
  Status ReadHeader(std::string_view line) {
    const std::vector<std::string_view> names = FieldsOf(line);
    for (std::size_t c = 0; c < kColumnCount; ++c) {
      const auto found = std::ranges::find(names, kColumnNames[c]);
      if (found == names.end()) {
        return FailAt(file_, 1, "there is no column '" + std::string(kColumnNames[c]) + "'",
                      "give the memory_block.csv that MindSpore's memory tracker wrote");
      }
      columns_[c] = static_cast<std::size_t>(found - names.begin());
    }
    return {};
  }

  Status ReadRow(std::string_view line) {
    if (line.empty()) {
      return {};
    }
    const std::vector<std::string_view> fields = FieldsOf(line);
    if (fields.size() <= *std::ranges::max_element(columns_)) {
      return FailAt(file_, line_, "the row ends after " + std::to_string(fields.size()) + " fields",
                    "the file is cut off; copy it anew when the job has ended");
    }
    const std::string_view type = fields[columns_[kType]];
    const bool workspace = type == "WorkSpace";
    if (!workspace && type != "Kernel") {
      return {};
    }
    std::int64_t bytes = 0;
    const std::string_view size = fields[columns_[kSize]];
    const auto [end, code] = std::from_chars(size.data(), size.data() + size.size(), bytes);
    if (code != std::errc() || end != size.data() + size.size() || bytes < 0 ||
        bytes > kMostBlockBytes) {
      return FailAt(file_, line_,
                    "'" + std::string(size.substr(0, 40)) + "' is not a size in bytes",
                    "the file is damaged; copy it anew when the job has ended");
    }
    if (!IsUtf8(fields[columns_[kNode]])) {
      return FailAt(file_, line_, "the name of a kernel is not a string",
                    "the file is damaged; copy it anew when the job has ended");
    }
    Launch& launch = launches_[std::string(fields[columns_[kProducer]])];
    launch.key.kernel = KernelOf(fields[columns_[kNode]]);
    if (workspace) {
      launch.workspace_bytes = std::min(kMostBlockBytes, launch.workspace_bytes + bytes);
    } else {
      launch.key.result_bytes.push_back(bytes);
    }
    return {};
  }

  std::string_view file_;
  std::int32_t line_ = 0;
  std::array<std::size_t, kColumnCount> columns_ = {};
  std::map<std::string, Launch> launches_ = {};  ///< By task.
};

}  // namespace

Result<WorkspaceTable> WorkspacesOfBlocks(std::string_view text, std::string_view file) {
  return BlockReader(file).Run(text);
}

}  // namespace drydock::sim
