#compdef @NAME@
# Completion of @NAME@ for zsh. Save it as _@NAME@ in a directory of $fpath, or load it in ~/.zshrc after compinit:
#   source <(@NAME@ completion zsh)

_@FUNCTION@_complete() {
  local -a answer values described
  local directive line value
  answer=("${(@f)$(command ${(Q)~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  (( $#answer )) || return 1
  directive=${answer[-1]#:}
  [[ $directive == <-> ]] || return 1
  answer=("${(@)answer[1,-2]}")

  for line in $answer; do
    value=${line%%$'\t'*}
    values+=("$value")
    if [[ $line == *$'\t'* ]]; then
      described+=("$value  -- ${line#*$'\t'}")
    else
      described+=("$value")
    fi
  done
  if (( directive & 16 )); then
    _path_files -/
    return
  fi
  if (( ! $#values )); then
    (( directive == 0 )) && _files
    return
  fi
  if (( directive & 2 )); then
    compadd -l -S '' -d described -a values
  else
    compadd -l -d described -a values
  fi
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _@FUNCTION@_complete "$@"
else
  compdef _@FUNCTION@_complete @NAME@
fi
