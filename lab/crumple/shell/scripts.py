"""The completion of each shell: a function that asks crumple at each Tab."""

from crumple.shell import COMPLETE
from crumple.shell.values import FILES

_BASH = """\
# Completion of crumple in bash.
_crumple() {{
    local line typed=${{COMP_WORDS[COMP_CWORD]}}
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == {files} ]]; then
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${{typed#=}}")
        else
            COMPREPLY+=("$line")
        fi
    done < <("${{COMP_WORDS[0]}}" {complete} bash "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null)
}}
complete -F _crumple crumple
"""
_ZSH = """\
#compdef crumple
# Completion of crumple in zsh.
_crumple() {{
    local line files
    local -a found
    for line in "${{(@f)$($words[1] {complete} zsh "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}"; do
        case $line in
            {files}) files=yes ;;
            ?*) found+=("$line") ;;
        esac
    done
    (( $#found )) && _describe -V crumple found
    [[ -z $files ]] || _files
}}
if [[ ${{funcstack[1]}} == _crumple ]]; then
    _crumple "$@"
else
    compdef _crumple crumple
fi
"""
_FISH = """\
# Completion of crumple in fish.
function __crumple_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] {complete} fish $words[2..-1] "$typed" 2>/dev/null)
        if test "$line" = {files}
            __fish_complete_path "$typed"
        else
            echo -- $line
        end
    end
end
complete -c crumple -f -a '(__crumple_complete)'
"""
SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
# Where each looks, below the share/ of its prefix.
FILES_IN_SHARE = {
    "bash": "bash-completion/completions/crumple",
    "zsh": "zsh/site-functions/_crumple",
    "fish": "fish/vendor_completions.d/crumple.fish",
}


def script(shell: str) -> str:
    """Return the completion of a shell."""
    return SHELLS[shell].format(complete=COMPLETE, files=FILES)
