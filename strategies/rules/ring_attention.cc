#include "strategies/rules/ring_attention.h"

#include <string>

#include "strategies/rules/common_rules.h"

namespace drydock::strategies {

Result<bool> IsRingAttention(const OpView& op, const AttentionForm& /*form*/, SparseMode /*mode*/) {
  DRYDOCK_TRY(const bool ring, BoolAttr(*op.attrs, "enable_ring_attention", false));
  DRYDOCK_TRY(const bool sequence_parallel, BoolAttr(*op.attrs, "enable_flash_sp", false));
  if (ring || sequence_parallel) {
    return UnsupportedForm(op, "ring attention of '" + std::string(op.op) + "' is not handled");
  }
  return false;
}

Result<std::vector<ValueId>> LocalizeRingAttention(const LocalizeContext& context,
                                                   const AttentionForm& /*form*/,
                                                   AxisIndex /*sequence*/) {
  return UnsupportedForm(context.global, "ring attention is not handled");
}

}  // namespace drydock::strategies
