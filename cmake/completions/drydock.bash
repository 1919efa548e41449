# bash completion of drydock and msrun: source this file, or install it as a file of bash-completion
_drydock() {
  local line current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(command drydock complete "${COMP_WORDS[0]##*/}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -o default -F _drydock drydock msrun
