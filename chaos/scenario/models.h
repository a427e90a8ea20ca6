// Models whose step times were measured, by name.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace elastic::chaos {

std::optional<Model> find_model(std::string_view preset);
std::vector<std::string_view> model_names();

}  // namespace elastic::chaos
