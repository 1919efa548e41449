# fish completion of drydock and msrun: put this file into a folder of $fish_complete_path
function __drydock_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set before[1] (string replace -r '.*/' '' -- $before[1])
    command drydock complete $before "$current" 2>/dev/null
end
complete -c drydock -a '(__drydock_complete)'
complete -c msrun -a '(__drydock_complete)'
