#include "cli/shell_mark.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cloche::cli {
namespace {

// Each is run by the shell itself, with the shell's path as $0 and the label as $1. Nothing is left
// on disk, and nothing in the environment of later programs. The mark is added again before each
// prompt, because start files may rebuild the prompt, too.

constexpr const char* kBash =
    R"(CLOCHE_MARK="(cloche $1) " exec "$0" --rcfile /proc/self/fd/9 9<<'CLOCHE'
exec 9<&-
[ -f ~/.bashrc ] && . ~/.bashrc
__cloche_text=$CLOCHE_MARK
unset CLOCHE_MARK
__cloche_mark() { case $PS1 in "$__cloche_text"*) ;; *) PS1=$__cloche_text$PS1 ;; esac; }
if [[ $(declare -p PROMPT_COMMAND 2> /dev/null) == 'declare -a'* ]]; then
  PROMPT_COMMAND+=(__cloche_mark)
else
  PROMPT_COMMAND=${PROMPT_COMMAND:+$PROMPT_COMMAND$'\n'}__cloche_mark
fi
CLOCHE
)";

// It has no option for that: start files are looked for in $ZDOTDIR.
constexpr const char* kZsh = R"(__cloche_dir=$(mktemp -d /dev/shm/cloche.XXXXXX) || exec "$0"
cat > "$__cloche_dir/.zshenv" <<'CLOCHE'
__cloche_dir=$ZDOTDIR
if [[ -n $CLOCHE_ZDOTDIR ]]; then ZDOTDIR=$CLOCHE_ZDOTDIR; else unset ZDOTDIR; fi
[[ -f ${ZDOTDIR:-$HOME}/.zshenv ]] && . ${ZDOTDIR:-$HOME}/.zshenv
export CLOCHE_ZDOTDIR=${ZDOTDIR-}
export ZDOTDIR=$__cloche_dir
CLOCHE
cat > "$__cloche_dir/.zshrc" <<'CLOCHE'
rm -rf -- $__cloche_dir
if [[ -n $CLOCHE_ZDOTDIR ]]; then ZDOTDIR=$CLOCHE_ZDOTDIR; else unset ZDOTDIR; fi
__cloche_text=$CLOCHE_MARK
unset CLOCHE_MARK CLOCHE_ZDOTDIR __cloche_dir
[[ -f ${ZDOTDIR:-$HOME}/.zshrc ]] && . ${ZDOTDIR:-$HOME}/.zshrc
__cloche_mark() { [[ $PS1 == "$__cloche_text"* ]] || PS1=$__cloche_text$PS1 }
autoload -Uz add-zsh-hook && add-zsh-hook precmd __cloche_mark
CLOCHE
CLOCHE_MARK="(cloche $1) " CLOCHE_ZDOTDIR=${ZDOTDIR-} ZDOTDIR=$__cloche_dir exec "$0"
)";

// Shells that read $ENV. They expand its value, and so do we.
constexpr const char* kSh =
    R"(CLOCHE_MARK="(cloche $1) " CLOCHE_ENV=${ENV-} ENV=/proc/self/fd/9 exec "$0" 9<<'CLOCHE'
exec 9<&-
if [ -n "$CLOCHE_ENV" ]; then
  ENV=$CLOCHE_ENV
  eval "CLOCHE_ENV=\"$ENV\""
  [ ! -f "$CLOCHE_ENV" ] || . "$CLOCHE_ENV"
else
  unset ENV
fi
PS1=$CLOCHE_MARK${PS1-'$ '}
unset CLOCHE_MARK CLOCHE_ENV
CLOCHE
)";

// Run after the start files. The person's own prompt may show the last status.
constexpr std::string_view kFish = R"(functions -q fish_prompt
functions -c fish_prompt __cloche_own_prompt
function __cloche_status; return $argv[1]; end
function fish_prompt
  set -l last $status
  echo -n '(cloche @) '
  __cloche_status $last
  __cloche_own_prompt
end
)";

std::string FishScript(const std::string& label) {
  std::string script(kFish);
  return script.replace(script.find('@'), 1, label);
}

bool IsPlain(std::string_view label) {
  return std::ranges::all_of(label, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

std::vector<std::string> MarkedShell(const std::string& shell, const std::string& label) {
  constexpr std::array<std::string_view, 5> kReadEnv = {"sh", "dash", "ash", "ksh", "mksh"};
  const std::string_view name = std::string_view(shell).substr(shell.find_last_of('/') + 1);
  if (name == "bash") return {shell, "-c", kBash, shell, label};
  if (name == "zsh") return {shell, "-fc", kZsh, shell, label};
  if (name == "fish" && IsPlain(label)) return {shell, "-C", FishScript(label)};
  if (std::ranges::find(kReadEnv, name) != kReadEnv.end()) return {shell, "-c", kSh, shell, label};
  return {shell};
}

}  // namespace cloche::cli
