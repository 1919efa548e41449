#include "strategies/rules/windows/window_local.h"

#include <algorithm>
#include <utility>

#include "strategies/rules/common/common_rules.h"

namespace drydock::strategies {

std::span<const std::int64_t> SpatialCuts(const Strategy& strategy) {
  return strategy.empty() ? std::span<const std::int64_t>() : SpatialExtents(strategy.front());
}

Result<std::vector<ValueId>> EmitWindowed(const LocalizeContext& context, const WindowCut& cut,
                                          const WindowForm& form, AttrMap attrs,
                                          const WindowedLocal& how) {
  if (cut.exchanged.empty()) {
    return EmitLocal(context, std::move(attrs));
  }
  std::vector<AxisIndex> axes;
  for (const std::size_t spatial : cut.exchanged) {
    axes.push_back(static_cast<AxisIndex>(spatial + 2));
  }
  NodeSpec spec = context.spec;
  DRYDOCK_TRY(spec.inputs[0], EmitHaloExchange(context, spec.inputs[0], cut.plan, axes));
  std::vector<std::int64_t> pads;
  for (std::size_t i = 0; i < form.dims.size(); ++i) {
    const bool inside =
        !how.keeps_pads && std::ranges::find(cut.exchanged, i) != cut.exchanged.end();
    pads.push_back(inside ? 0 : form.dims[i].pad_begin);
    pads.push_back(inside ? 0 : form.dims[i].pad_end);
  }
  attrs["pad_mode"] = "pad";
  attrs[std::string(how.pad)] = pads;
  spec.attrs = std::move(attrs);
  return EmitLocal(context, std::move(spec));
}

}  // namespace drydock::strategies
