#include <cstdio>

#include <gtest/gtest.h>

#include "reports/ir_text.h"
#include "reports/report_json.h"
#include "tests/reports/quick_start.h"
namespace drydock::reports {
TEST(Try, Print) {
  const auto p = QuickStartProgram();
  std::puts(GraphText(p.traced).c_str());
  std::puts(GraphText(p.local).c_str());
  for (auto style : {IrStyle::kR20, IrStyle::k2025})
    for (auto& f : IrFiles(p, RankId{5}, style))
      std::printf("=== %s\n%s", f.name.c_str(), f.text.c_str());
  std::puts(ReportJson(BuildCommunicationReport(p, {}, RankId{5})).c_str());
}
}  // namespace drydock::reports
