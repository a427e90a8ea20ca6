// libFuzzer target: whatever the words and variables, elastic-run's command line is taken,
// answered, or refused in one line; and what is taken, said again, is the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "apps/elastic-run/options.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

// A word per line; a line such as `PET_NNODES=2` that begins with a capital letter is a variable.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace elastic::launch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> argv;
  Environment env;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    const bool variable = !line.empty() && line[0] >= 'A' && line[0] <= 'Z';
    if (variable && equals != std::string_view::npos) {
      env.emplace(line.substr(0, equals), line.substr(equals + 1));
    } else {
      argv.emplace_back(line);
    }
  }
  const Machine machine{.cpus = 8, .gpus = 2, .hostname = "gpu-3", .nonce = 7, .file = {}};
  const auto options = parse(argv, env, machine);
  if (!options) {
    const Ended& ended = options.error();
    require(ended.status == 0 || ended.status == 2);
    require(ended.to_stderr == (ended.status == 2));
    require(!ended.text.empty() && ended.text.back() == '\n');
    require(ended.status == 0 || ended.text.find('\n') == ended.text.size() - 1);
    return 0;
  }
  const auto again = parse(render(*options), {}, machine);
  require(again.has_value());
  require(again->same(*options));
  return 0;
}
