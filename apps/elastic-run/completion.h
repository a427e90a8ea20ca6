// Shell completion, from the table of options.
#pragma once

#include <string>

namespace elastic::launch {

std::string bash_completion();
std::string zsh_completion();

}  // namespace elastic::launch
