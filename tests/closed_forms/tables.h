// What the checks came to: tables for people (80 columns, no colour), and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/support/closed_forms/checks.h"

namespace elastic::closed_forms {

std::string table(const DalyCheck& check);
std::string table(const IntervalCheck& check);
std::string table(const AvailabilityCheck& check);
std::string table(const WaitCheck& check);

// Lengths are seconds, goodput and availability shares.
nlohmann::ordered_json to_json(const DalyCheck& check);
nlohmann::ordered_json to_json(const IntervalCheck& check);
nlohmann::ordered_json to_json(const AvailabilityCheck& check);
nlohmann::ordered_json to_json(const WaitCheck& check);

}  // namespace elastic::closed_forms
