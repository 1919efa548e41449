// Reports that a page is made of: any text is refused or gives a page whose data are JSON and end
// no script element.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "reports/page.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace reports = drydock::reports;
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)reports::PlacesToShow(text);
  const auto page = reports::PageHtml({{.name = "run", .reports = {text}}});
  if (!page) {
    return 0;
  }
  constexpr std::string_view kBegin = "id=\"drydock-data\">";
  const std::size_t begin = page->find(kBegin) + kBegin.size();
  const std::size_t end = page->find('<', begin);
  if (!nlohmann::json::accept(page->substr(begin, end - begin))) {
    std::abort();
  }
  return 0;
}
