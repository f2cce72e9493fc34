# Completion of @NAME@ for fish. Save it as ~/.config/fish/completions/@NAME@.fish, or load it in config.fish:
#   @NAME@ completion fish | source

function __@FUNCTION@_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l answer (command $program __complete $words $typed 2>/dev/null)
    test (count $answer) -gt 0; or return
    set -l directive (string replace -r '^:' '' -- $answer[-1])
    string match -qr '^[0-9]+$' -- $directive; or return
    set -e answer[-1]
    if test $directive -eq 16
        __fish_complete_directories $typed
    else if test (count $answer) -gt 0
        printf '%s\n' $answer
    else if test $directive -eq 0
        __fish_complete_path $typed
    end
end

complete -c @NAME@ -f -a '(__@FUNCTION@_complete)'
