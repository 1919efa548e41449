// Graph documents from anywhere: reading ends with a value or an error, and what was read can be
// written and read again to the same bytes. Run: graph_fuzz tests/fuzz/corpus/graph

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "strategies/document/json_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drydock::strategies;  // NOLINT(google-build-using-namespace): the entry point
                                        // stands outside
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto document = ReadGraphDocument(text, "fuzz.json", {.world_size = 8});
  if (!document) {
    (void)drydock::FormatError(document.error());
    return 0;
  }
  UseDocumentPlaces(*document);
  const std::string written = WriteGraphDocument(document->graph, document->job);
  const auto again = ReadGraphDocument(written, "again.json", {});
  DRYDOCK_CHECK(again.has_value());
  DRYDOCK_CHECK(WriteGraphDocument(again->graph, again->job) == written);
  return 0;
}
