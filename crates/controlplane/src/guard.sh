# Watches over one cluster. Its standard input is a pipe that only the test process holds, with lines
#   add PID    a process to kill at the end
#   del PID    it is gone
# so the end of the input is the end of the test process, or its wish.
# Arguments: the folder of the cluster, and where its logs go if a file `failed` is in it.

trap '' HUP INT QUIT TERM
folder=$1 kept=$2 pids=

while read -r word pid; do
  case $word in
    add) pids="$pids $pid" ;;
    del)
      left=
      for other in $pids; do [ "$other" = "$pid" ] || left="$left $other"; done
      pids=$left
      ;;
  esac
done

# Each leads a group of its own.
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null; done

if [ -e "$folder/failed" ]; then
  mkdir -p "$kept"
  cp "$folder"/logs/*.log "$kept" 2>/dev/null
  for log in "$kept"/*.log; do
    printf '\n--- the end of %s\n' "$log"
    tail -n 20 "$log"
  done >&2
fi

# A process that is just being killed may still make a file.
tries=0
while [ -e "$folder" ] && [ $tries -lt 50 ]; do
  rm -rf "$folder" 2>/dev/null
  [ -e "$folder" ] && sleep 0.1
  tries=$((tries + 1))
done
