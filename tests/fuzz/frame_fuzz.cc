// Frames: any bytes, in one piece and in pieces, must give the same frames and the same verdict,
// and a scheduler that is fed them must stay alive and answer each request at most once.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "sim/cluster/frame.h"
#include "sim/cluster/scheduler_core.h"

namespace {

using drydock::sim::FrameDecoder;
using drydock::sim::FrameView;

struct Cut {
  std::vector<std::string> frames = {};
  bool failed = false;
};

Cut CutFrames(std::string_view bytes, std::size_t piece) {
  Cut cut;
  FrameDecoder decoder({.body_bytes = 4096});
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.Feed(drydock::AsBytes(bytes.substr(at, piece)));
    for (auto next = decoder.Next(); !cut.failed; next = decoder.Next()) {
      cut.failed = !next;
      if (!next || !*next) {
        break;
      }
      std::string again;
      AppendFrame(**next, again);
      cut.frames.push_back(std::move(again));
    }
  }
  return cut;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Cut whole = CutFrames(bytes, size + 1);
  const Cut pieces = CutFrames(bytes, 1);
  if (whole.frames != pieces.frames || whole.failed != pieces.failed) {
    std::abort();
  }
  drydock::sim::SchedulerOptions options;
  options.worker_num = 2;
  auto scheduler = drydock::sim::SchedulerCore::Create(options, {});
  drydock::sim::SchedulerOutput out;
  for (const std::string& frame : whole.frames) {
    out.Clear();
    const auto parsed = drydock::sim::ParseFrame(drydock::AsBytes(frame), {});
    scheduler->OnFrame({}, (*parsed)->frame, {}, out);
    if (out.replies.frames().size() > 1) {
      std::abort();
    }
  }
  return 0;
}
