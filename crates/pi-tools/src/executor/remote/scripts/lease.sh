# The lease of a command that another connection runs; `end.sh` comes first. $1 is the mark.
mark=$1
exec 3>&2 4<&0 </dev/null
printf '%s up\n' "$mark"
end_with_lease
