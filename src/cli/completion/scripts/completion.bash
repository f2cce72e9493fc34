# Completion of @NAME@ for bash. Load it in ~/.bashrc:
#   source <(@NAME@ completion bash)
# or save it as ~/.local/share/bash-completion/completions/@NAME@.

_@FUNCTION@_complete() {
  local line=$COMP_LINE words=() answer=() i word
  # bash also splits at `=` and `:`. Words without a blank between them belong together.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i == 0)) || [[ $line == [[:blank:]]* ]]; then
      line=${line#"${line%%[![:blank:]]*}"}
      words+=("$word")
    else
      words[${#words[@]} - 1]+=$word
    fi
    line=${line#"$word"}
  done
  # The text after the cursor is not completed.
  local after=${COMP_LINE:COMP_POINT} last=$((${#words[@]} - 1))
  after=${after%%[[:blank:]]*}
  words[last]=${words[last]%"$after"}
  local typed=${words[last]}

  while IFS= read -r word; do
    answer+=("$word")
  done < <("${words[0]/#\~/$HOME}" __completeNoDesc "${words[@]:1}" 2>/dev/null)
  ((${#answer[@]})) || return
  last=$((${#answer[@]} - 1))
  local directive=${answer[last]#:}
  [[ $directive == *[!0-9]* || -z $directive ]] && return
  unset "answer[last]"

  # bash replaces only the part after the last `=` or `:`.
  local kept=
  [[ $typed == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]] && kept=${typed%"${typed##*[=:]}"}
  COMPREPLY=()
  for word in "${answer[@]}"; do
    COMPREPLY+=("${word#"$kept"}")
  done
  if ((directive & 2)); then
    compopt -o nospace 2>/dev/null
  fi
  if ((directive & 16)); then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      COMPREPLY+=("$word")
    done < <(compgen -d -- "${typed#"$kept"}")
  elif ((directive == 0 && ${#COMPREPLY[@]} == 0)); then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do
      COMPREPLY+=("$word")
    done < <(compgen -f -- "${typed#"$kept"}")
  fi
}

complete -F _@FUNCTION@_complete @NAME@
