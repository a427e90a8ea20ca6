#include "apps/elastic-run/completion.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "apps/elastic-run/option_table.h"

namespace elastic::launch {
namespace {

std::string actions() {
  std::string names;
  for (const ActionSpec& action : action_table()) {
    if (!action.name.empty()) names += fmt::format("{}{}", names.empty() ? "" : " ", action.name);
  }
  return names;
}

// "--nnodes|--nnodes" with each spelling once.
std::string spellings(const OptionSpec& spec, std::string_view between) {
  std::string text(spec.name);
  if (const std::string other = underscored(spec.name); other != spec.name) {
    text += fmt::format("{}{}", between, other);
  }
  if (spec.letter != 0) text += fmt::format("{}-{}", between, spec.letter);
  return text;
}

std::string options_of(Action action) {
  std::string names;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.for_action(action)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " ", spec.name);
    if (spec.letter != 0) names += fmt::format(" -{}", spec.letter);
  }
  return names;
}

// What follows an option in bash: a branch of `case "$previous" in`.
std::string bash_branch(const OptionSpec& spec) {
  std::string reply = "return ;;";
  if (!spec.choices.empty()) {
    reply = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return ;;",
                        fmt::join(spec.choices, " "));
  } else if (spec.completes == Completes::kFiles) {
    reply = "COMPREPLY=($(compgen -f -- \"$word\")); return ;;";
  } else if (spec.completes == Completes::kFolders) {
    reply = "COMPREPLY=($(compgen -d -- \"$word\")); return ;;";
  }
  return fmt::format("    {}) {}\n", spellings(spec, "|"), reply);
}

// Options that take a value, as a pattern: the word after them is no program.
std::string with_value(std::string_view between) {
  std::string names;
  for (const OptionSpec& spec : option_table()) {
    if (spec.is_flag()) continue;
    names += fmt::format("{}{}", names.empty() ? "" : between, spellings(spec, between));
  }
  return names;
}

// In zsh's _arguments, [ ] : and \ mean something.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out;
}

// The first sentence, or what there is of it.
std::string_view brief(std::string_view help) {
  const std::size_t end = help.find_first_of(".:;");
  return help.substr(0, end);
}

void zsh_specs(const OptionSpec& spec, std::string& out) {
  std::string value;
  if (!spec.is_flag()) {
    std::string what;
    if (!spec.choices.empty()) what = fmt::format("({})", fmt::join(spec.choices, " "));
    if (spec.completes == Completes::kFiles) what = "_files";
    if (spec.completes == Completes::kFolders) what = "_files -/";
    value = fmt::format(":{}:{}", zsh_text(spec.argument), what);
  }
  const std::string help = zsh_text(brief(spec.help));
  const std::string_view equals = spec.is_flag() ? "" : "=";
  out += fmt::format("    '{}{}[{}]{}'\n", spec.name, equals, help, value);
  if (spec.letter != 0) {
    out += fmt::format("    '-{}{}[{}]{}'\n", spec.letter, spec.is_flag() ? "" : "+", help, value);
  }
}

}  // namespace

std::string bash_completion() {
  std::string branches;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.is_flag()) branches += bash_branch(spec);
  }
  std::string controls;
  for (const ActionSpec& action : action_table()) {
    if (action.name.empty()) continue;
    controls += fmt::format("    {}) names=\"{}\" ;;\n", action.name, options_of(action.action));
  }
  return fmt::format(R"(# bash completion for elastic-run: source this text.
_elastic_run() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" names i
  COMPREPLY=()
  # Bash takes --name=value for three words.
  if [[ $word == "=" ]]; then word=""; fi
  if [[ $previous == "=" && $COMP_CWORD -ge 2 ]]; then previous="${{COMP_WORDS[COMP_CWORD-2]}}"; fi
  # Once the program is named, the words are its own.
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${{COMP_WORDS[i]}}" in
      {2})
        ((++i))
        if [[ "${{COMP_WORDS[i]}}" == "=" ]]; then ((++i)); fi ;;
      --) COMPREPLY=($(compgen -f -- "$word")); return ;;
      -*) ;;
      *) if ((i > 1)) || [[ " {3} " != *" ${{COMP_WORDS[i]}} "* ]]; then
           COMPREPLY=($(compgen -f -- "$word")); return
         fi ;;
    esac
  done
  case "$previous" in
{0}  esac
  case "${{COMP_WORDS[1]}}" in
{1}    *) names="{4}" ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$word"))
  elif ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "{3}" -- "$word") $(compgen -f -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _elastic_run elastic-run
)",
                     branches, controls, with_value("|"), actions(), options_of(Action::kRun));
}

std::string zsh_completion() {
  std::string run;
  for (const OptionSpec& spec : option_table()) {
    if (spec.for_action(Action::kRun)) zsh_specs(spec, run);
  }
  std::string controls;
  for (const ActionSpec& action : action_table()) {
    if (action.name.empty()) continue;
    std::string specs;
    for (const OptionSpec& spec : option_table()) {
      if (spec.for_action(action.action)) zsh_specs(spec, specs);
    }
    controls +=
        fmt::format("  {}) options=(\n{}    '*:ENDPOINT:_hosts'\n  ) ;;\n", action.name, specs);
  }
  return fmt::format(R"(#compdef elastic-run
# zsh completion for elastic-run: source this text, or store it as _elastic-run in $fpath.
_elastic_run() {{
  local -a options actions
  actions=({0})
  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    compadd -- $actions
    _files
    return
  fi
  case $words[2] in
{1}  *) options=(
{2}    '1:PROGRAM:_files'
    '*::arguments of the program:_files'
  ) ;;
  esac
  _arguments -s -S $options
}}
if [[ $funcstack[1] == _elastic-run ]]; then _elastic_run "$@"; else compdef _elastic_run elastic-run; fi
)",
                     actions(), controls, run);
}

}  // namespace elastic::launch
