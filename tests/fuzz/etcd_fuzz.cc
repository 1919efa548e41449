// What etcd answers: any bytes are refused or give entries; a plan that is taken is written as it
// is read, and is one that nodes can follow.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/elastic/elastic_store.h"
#include "launcher/elastic/etcd_client.h"

namespace {

void CheckPlan(std::string_view text) {
  const auto plan = drydock::launcher::DecodePlan(text);
  if (plan && (plan->round < 1 || plan->hosts.empty())) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckPlan(text);
  const auto body = drydock::launcher::HttpBody(text);
  if (const auto entries = drydock::launcher::ParseRange(body ? *body : std::string(text))) {
    for (const auto& entry : *entries) {
      CheckPlan(entry.value);
    }
  }
  (void)drydock::launcher::ReadNodeRange(std::string(text));
  return 0;
}
