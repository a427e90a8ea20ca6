// --help, --version, completion, and the page for those who come from torchrun.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "apps/elastic-run/completion.h"
#include "apps/elastic-run/exit_codes.h"
#include "apps/elastic-run/help.h"
#include "apps/elastic-run/option_table.h"
#include "apps/elastic-run/rdzv_conf.h"
#include "apps/elastic-run/values.h"
#include "tests/real/run_options_support.h"
#include "transport/real/logs/prefix.h"

namespace elastic::launch {
namespace {

std::string answered(const std::vector<std::string>& argv, const Environment& env = {}) {
  const auto options = parse(argv, env, some_machine());
  if (options) {
    ADD_FAILURE() << joined(argv) << " was taken";
    return {};
  }
  EXPECT_EQ(options.error().status, 0);
  EXPECT_FALSE(options.error().to_stderr);
  return options.error().text;
}

// `word` stands in `text`, and not as a part of a longer name.
bool names(const std::string& text, const std::string& word) {
  const auto inner = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const char before = at == 0 ? ' ' : text[at - 1];
    const std::size_t end = at + word.size();
    const char after = end == text.size() ? ' ' : text[end];
    if (!inner(before) && before != '-' && !inner(after) && after != '-') return true;
  }
  return false;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(RunHelp, fits_80_columns_and_names_every_option_key_and_exit_status) {
  const std::string help = answered({"--help"});
  for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80U) << line;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.for_action(Action::kRun)) continue;
    EXPECT_TRUE(names(help, std::string(spec.name))) << spec.name;
    if (spec.group == Group::kAccepted) continue;
    for (const std::string_view choice : spec.choices) {
      EXPECT_TRUE(names(help, std::string(choice))) << spec.name << " " << choice;
    }
  }
  for (const ConfKey& key : conf_keys())
    EXPECT_TRUE(names(help, std::string(key.name))) << key.name;
  for (const ExitLine& line : exit_table()) {
    EXPECT_NE(help.find(std::string(line.meaning)), std::string::npos);
  }
  for (const ActionSpec& action : action_table())
    EXPECT_TRUE(names(help, std::string(action.name)));
  EXPECT_NE(help.find("\"" + std::string(real::kDefaultPrefix) + "\""), std::string::npos);
}

TEST(RunHelp, its_examples_are_command_lines_that_are_taken) {
  std::size_t examples = 0;
  std::string joint;
  for (const std::string& line : lines_of(help_text(Action::kRun))) {
    if (joint.empty() && !line.starts_with("  elastic-run ")) continue;
    joint += line;
    if (joint.ends_with("\\")) {
      joint.pop_back();
      continue;
    }
    std::istringstream in(joint);
    joint.clear();
    std::vector<std::string> argv;
    for (std::string word; in >> word;) argv.push_back(word);
    argv.erase(argv.begin());
    EXPECT_TRUE(parsed(argv).notices.empty()) << ::testing::PrintToString(argv);
    ++examples;
  }
  EXPECT_GE(examples, 7U);
}

TEST(RunHelp, subcommands_have_their_own) {
  for (const ActionSpec& action : action_table()) {
    if (action.name.empty()) continue;
    const std::string help = answered({std::string(action.name), "--help"});
    EXPECT_EQ(help, answered({std::string(action.name), "gpu-0", "-h"}));
    for (const std::string& line : lines_of(help)) EXPECT_LE(line.size(), 80U) << line;
    for (const OptionSpec& spec : option_table()) {
      EXPECT_EQ(names(help, std::string(spec.name)), spec.for_action(action.action))
          << action.name << " " << spec.name;
    }
  }
}

TEST(RunHelp, is_given_whatever_else_is_wrong_after_it_and_in_the_environment) {
  EXPECT_EQ(answered({"-h", "--bogus"}, {{"PET_NNODES", "x"}}), help_text(Action::kRun));
  EXPECT_EQ(answered({"--version"}), version_text());
  // It is the program's, once there is one.
  EXPECT_EQ(parsed({"t.py", "--help"}).program.args.front(), "--help");
}

// What bash offers for these words, the last of which is being typed.
std::string offered(const std::string& script, const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  std::ofstream(script + ".ask") << "source " << script << "\nCOMP_WORDS=(elastic-run" << line
                                 << ")\nCOMP_CWORD=" << words.size()
                                 << "\n_elastic_run\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const std::string command = "bash " + script + ".ask 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text = "\n";
  std::array<char, 4096> buffer{};
  while (const std::size_t read = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), read);
  }
  return text;
}

TEST(RunCompletion, bash_offers_options_choices_and_subcommands) {
  std::string folder = (std::filesystem::temp_directory_path() / "elastic-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string script = folder + "/completion";
  std::ofstream(script) << bash_completion();
  const auto offers = [&](const std::vector<std::string>& words, const std::string& one) {
    return offered(script, words).find("\n" + one + "\n") != std::string::npos;
  };
  for (const OptionSpec& spec : option_table()) {
    if (spec.for_action(Action::kRun)) {
      EXPECT_TRUE(offers({"--"}, std::string(spec.name))) << spec.name;
    }
  }
  EXPECT_TRUE(offers({"--nproc-per-node", ""}, "auto"));
  EXPECT_TRUE(offers({"--nproc_per_node", "=", "a"}, "auto"));
  EXPECT_TRUE(offers({"--rdzv-backend", "c"}, "c10d"));
  EXPECT_FALSE(offers({"--rdzv-backend", "c"}, "static"));
  EXPECT_TRUE(offers({"st"}, "status"));
  EXPECT_TRUE(offers({"status", "h", "--"}, "--json"));
  EXPECT_FALSE(offers({"status", "h", "--"}, "--nnodes"));
  // Once the program is named, launcher options are not offered any more.
  EXPECT_FALSE(offers({"--nnodes", "2", "t.py", "--"}, "--nnodes"));
  EXPECT_TRUE(offers({"--nnodes", "2", "--"}, "--nnodes"));
  std::filesystem::remove_all(folder);
}

TEST(RunCompletion, zsh_is_told_of_every_option) {
  const std::string text = answered({"--print-completion", "zsh"});
  EXPECT_EQ(text, zsh_completion());
  for (const OptionSpec& spec : option_table()) {
    EXPECT_TRUE(names(text, std::string(spec.name))) << spec.name;
  }
  EXPECT_EQ(answered({"--print-completion=bash"}), bash_completion());
  EXPECT_EQ(refused({"--print-completion=fish"}),
            "--print-completion: \"fish\" is not bash or zsh");
}

TEST(FromTorchrun, names_every_option_key_and_variable) {
  std::ifstream file(ELASTIC_SOURCE_DIR "/docs/from-torchrun.md");
  ASSERT_TRUE(file) << "docs/from-torchrun.md is not there";
  std::stringstream page;
  page << file.rdbuf();
  for (const OptionSpec& spec : option_table()) {
    EXPECT_TRUE(names(page.str(), std::string(spec.name))) << spec.name;
    EXPECT_TRUE(spec.letter == 0 || names(page.str(), std::string{'-', spec.letter}));
  }
  for (const ConfKey& key : conf_keys()) {
    EXPECT_TRUE(names(page.str(), std::string(key.name))) << key.name;
  }
  for (const ExitLine& line : exit_table()) {
    EXPECT_TRUE(names(page.str(), std::to_string(line.status))) << line.status;
  }
}

}  // namespace
}  // namespace elastic::launch
