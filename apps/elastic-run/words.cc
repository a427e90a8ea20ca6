#include "apps/elastic-run/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>

#include "chaos/scenario/problem.h"

namespace elastic::launch {
namespace {

std::string quoted(std::string_view text) { return "\"" + chaos::printable(text) + "\""; }

std::string_view name_of(Action action) {
  for (const ActionSpec& one : action_table()) {
    if (one.action == action) return one.name;
  }
  return {};
}

const OptionSpec* find_long(std::string_view name, Action action) {
  for (const OptionSpec& spec : option_table()) {
    if (!spec.for_action(action)) continue;
    if (name == spec.name || name == underscored(spec.name)) return &spec;
  }
  return nullptr;
}

const OptionSpec* find_letter(char letter, Action action) {
  for (const OptionSpec& spec : option_table()) {
    if (spec.letter == letter && letter != 0 && spec.for_action(action)) return &spec;
  }
  return nullptr;
}

// Words that look like options, and are none of torchrun's, however often they are written.
struct Imagined {
  std::string_view name;
  std::string_view advice;
};
constexpr std::array<Imagined, 7> kImagined{{
    {"--min-nodes", "write --nnodes MIN:MAX"},
    {"--max-nodes", "write --nnodes MIN:MAX"},
    {"--min-nnodes", "write --nnodes MIN:MAX"},
    {"--max-nnodes", "write --nnodes MIN:MAX"},
    {"--local-rank", "it is told to the workers as LOCAL_RANK"},
    {"--use-env", "it is always so; leave it out"},
    {"--rank", "write --node-rank N for the order of nodes"},
}};

// 0, 1, true, false, yes, no, in any case.
std::optional<bool> truth_of(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (small == "1" || small == "true" || small == "yes" || small == "on") return true;
  if (small == "0" || small == "false" || small == "no" || small == "off") return false;
  return std::nullopt;
}

// -5 is an argument, -x is not.
bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         !(std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
}

class Reader {
 public:
  Reader(const std::vector<std::string>& argv, Words& words) : argv_(argv), words_(words) {}

  // Empty: all is well.
  std::optional<std::string> read() {
    choose_action();
    while (at_ < argv_.size() && !words_.help && !words_.version) {
      const std::string& word = argv_[at_];
      if (word == "--") {
        ++at_;
        take_rest();
        break;
      }
      if (word.size() < 2 || word[0] != '-') {
        if (words_.action == Action::kRun) {
          take_rest();
          break;
        }
        words_.rest.push_back(word);
        ++at_;
        continue;
      }
      ++at_;
      if (auto problem = word[1] == '-' ? take_long(word) : take_short(word)) return problem;
    }
    return std::nullopt;
  }

 private:
  void choose_action() {
    if (argv_.empty()) return;
    for (const ActionSpec& one : action_table()) {
      if (!one.name.empty() && argv_[0] == one.name) {
        words_.action = one.action;
        at_ = 1;
      }
    }
  }

  void take_rest() {
    words_.rest.insert(words_.rest.end(), argv_.begin() + static_cast<std::ptrdiff_t>(at_),
                       argv_.end());
    at_ = argv_.size();
  }

  std::optional<std::string> take_long(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionSpec* spec = find_long(name, words_.action);
    if (spec == nullptr) return unknown(name);
    if (equals == std::string::npos) return take(*spec, name, std::nullopt);
    return take(*spec, name, word.substr(equals + 1));
  }

  // -r 3, -r3, -r=3.
  std::optional<std::string> take_short(const std::string& word) {
    const std::string name = word.substr(0, 2);
    const OptionSpec* spec = find_letter(word[1], words_.action);
    if (spec == nullptr) return unknown(word.substr(0, word.find('=')));
    if (word.size() == 2) return take(*spec, name, std::nullopt);
    if (spec->is_flag()) {
      return fmt::format("{} takes no value, and options are not joined; write {} {}", quoted(word),
                         name, chaos::printable(word.substr(2)));
    }
    return take(*spec, name, word.substr(word[2] == '=' ? 3 : 2));
  }

  std::optional<std::string> take(const OptionSpec& spec, const std::string& name,
                                  std::optional<std::string> value) {
    if (spec.is_flag()) {
      if (value)
        return fmt::format("{} takes no value; leave out \"={}\"", name, chaos::printable(*value));
      if (spec.id == OptionId::kHelp) words_.help = true;
      if (spec.id == OptionId::kVersion) words_.version = true;
      value = "1";
    } else if (!value) {
      if (at_ >= argv_.size()) return fmt::format("{} needs a value: {}", name, spec.argument);
      if (looks_like_option(argv_[at_])) {
        return fmt::format(
            "{} needs a value ({}), but {} follows; if that is the value, write {}={}", name,
            spec.argument, quoted(argv_[at_]), name, chaos::printable(argv_[at_]));
      }
      value = argv_[at_++];
    }
    words_.settings[static_cast<std::size_t>(spec.id)] = Setting{*std::move(value), name, false};
    return std::nullopt;
  }

  std::string unknown(const std::string& name) {
    std::string where;
    if (words_.action != Action::kRun) where = fmt::format(" of {}", name_of(words_.action));
    return fmt::format("unknown option {}{}{}", quoted(name), where,
                       meant_option(name, words_.action));
  }

  const std::vector<std::string>& argv_;
  Words& words_;
  std::size_t at_ = 0;
};

// PET_... that no option reads: torchrun passes over them without a word.
void notice_unread(const Environment& env, Words& words) {
  std::vector<std::string_view> known;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.env.empty()) known.push_back(spec.env);
  }
  for (const auto& [name, value] : env) {
    const bool ours = name.starts_with("PET_") || name.starts_with("ELASTIC_RUN_");
    if (!ours || std::find(known.begin(), known.end(), name) != known.end()) continue;
    words.notices.push_back(
        fmt::format("the environment variable {} is no option, and is passed "
                    "over{}",
                    chaos::printable(name), chaos::did_you_mean(name, known)));
  }
}

std::optional<std::string> read_environment(const Environment& env, Words& words) {
  for (const OptionSpec& spec : option_table()) {
    std::optional<Setting>& setting = words.settings[static_cast<std::size_t>(spec.id)];
    if (setting || !spec.for_action(words.action)) continue;
    for (const std::string_view name : {spec.env, spec.other_env}) {
      if (name.empty() || setting) continue;
      const auto found = env.find(std::string(name));
      if (found == env.end() || found->second.empty()) continue;
      setting = Setting{found->second, std::string(name), true};
      if (!spec.is_flag()) continue;
      const std::optional<bool> truth = truth_of(found->second);
      if (!truth) {
        return fmt::format("{}: {} is neither true nor false; write 1 or 0", name,
                           quoted(found->second));
      }
      setting->value = *truth ? "1" : "0";
    }
  }
  if (words.action == Action::kRun) notice_unread(env, words);
  return std::nullopt;
}

}  // namespace

std::string meant_option(std::string_view found, Action action) {
  const bool with_underscores = found.find('_') != std::string_view::npos;
  std::string dashed(found);
  if (found.starts_with("--")) std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (action == Action::kRun) {
    for (const auto& [name, advice] : kImagined) {
      if (dashed == name) return fmt::format("; {}", advice);
    }
  }
  std::vector<std::string_view> names;
  std::vector<std::string> starts;
  const auto spelt = [&](std::string_view name) {
    return with_underscores ? underscored(name) : std::string(name);
  };
  for (const OptionSpec& spec : option_table()) {
    if (!spec.for_action(action)) continue;
    names.push_back(spec.name);
    if (dashed.size() > 2 && spec.name.starts_with(dashed)) {
      starts.push_back("\"" + spelt(spec.name) + "\"");
    }
  }
  if (starts.size() == 1) {
    return fmt::format("; options are not shortened: did you mean {}?", starts.front());
  }
  if (!starts.empty()) {
    const std::string last = starts.back();
    starts.pop_back();
    return fmt::format("; options are not shortened: did you mean {} or {}?",
                       fmt::join(starts, ", "), last);
  }
  // One dash in front of a long name.
  if (!dashed.starts_with("--") && dashed.size() > 2) dashed.insert(dashed.begin(), '-');
  const std::string_view near = chaos::nearest(dashed, names);
  return near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", spelt(near));
}

tl::expected<Words, std::string> read_words(const std::vector<std::string>& argv,
                                            const Environment& env) {
  Words words;
  if (auto problem = Reader(argv, words).read()) return tl::unexpected(*std::move(problem));
  if (words.help || words.version || words.of(OptionId::kPrintCompletion)) return words;
  if (auto problem = read_environment(env, words)) return tl::unexpected(*std::move(problem));
  return words;
}

}  // namespace elastic::launch
