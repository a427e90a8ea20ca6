// One test per script. ELASTIC_REWRITE=1 (or --rewrite) writes the present output into the scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/interaction/script.h"
#include "tests/interaction/worker_script.h"

namespace elastic::interaction {
namespace {

namespace fs = std::filesystem;
bool g_rewrite = false;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first lines that differ: a whole script would bury them.
std::string first_difference(const std::string& wanted, const std::string& found) {
  std::istringstream a(wanted);
  std::istringstream b(found);
  std::string line_a;
  std::string line_b;
  for (int number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a && !more_b) return "nothing differs";
    if (more_a && more_b && line_a == line_b) continue;
    return "line " + std::to_string(number) +
           "\n  the script says: " + (more_a ? line_a : "(end)") +
           "\n  it now happens:  " + (more_b ? line_b : "(end)");
  }
}

class Script : public testing::Test {
 public:
  using Player = Played (*)(const std::string&);
  Script(fs::path path, Player player) : path_(std::move(path)), player_(player) {}
  void TestBody() override {
    const std::string script = read(path_);
    const Played played = player_(script);
    if (g_rewrite) std::ofstream(path_) << played.text;
    EXPECT_EQ(played.trouble, "") << path_.filename();
    if (g_rewrite || played.text == script) return;
    ADD_FAILURE() << path_.string() << ", " << first_difference(script, played.text)
                  << "\nIf that is right: ELASTIC_REWRITE=1, and read the difference.";
  }

 private:
  fs::path path_;
  Player player_;
};

int register_folder(const std::string& folder, const char* suite, Script::Player player) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(ELASTIC_SOURCE_DIR + folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    testing::RegisterTest(suite, path.stem().c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path, player]() -> testing::Test* { return new Script(path, player); });
  }
  return static_cast<int>(paths.size());
}

void register_scripts() {
  register_folder("/tests/interaction", "Interaction", play);
  register_folder("/tests/interaction/workers", "WorkerInteraction", play_workers);
}

}  // namespace
}  // namespace elastic::interaction

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* wanted = std::getenv("ELASTIC_REWRITE");
  elastic::interaction::g_rewrite = wanted != nullptr && std::string(wanted) == "1";
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rewrite") elastic::interaction::g_rewrite = true;
  }
  elastic::interaction::register_scripts();
  return RUN_ALL_TESTS();
}
