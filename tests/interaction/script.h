// Plays one text file of tests/interaction: see README.md there for the grammar.
#pragma once

#include <string>

namespace elastic::interaction {

struct Played {
  std::string text;     // the whole script with the output that it had this time
  std::string trouble;  // empty, or why the script is wrong in itself
};

Played play(const std::string& script);

}  // namespace elastic::interaction
