#pragma once

#include "chaos/oracles/oracle.h"

namespace elastic::chaos {

// A job has succeeded when its last step is saved, and not because somebody left.
class VerdictOracle final : public Oracle {
 public:
  explicit VerdictOracle(Bench bench);
  void on_record(Time now, const NumberedRecord& record, JournalLife life) override;
};

}  // namespace elastic::chaos
