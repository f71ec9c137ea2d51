# The first process of the namespaces in which a cluster with real nodes runs, so that nothing of it reaches the machine:
# neither its addresses and packet filters nor its mounts, and no process of it outlives this one.
# Arguments: the program to run and its arguments. KUBEWRIGHT_NODE_ADDRESS is the address of the nodes.

set -eu
outer=${TMPDIR:-/tmp}
folder=$(mktemp -d "$outer/kubewright-node-XXXXXX")
group=$(basename "$folder")

# Containers share mounts with the kubelet.
mount --make-rshared /
# Files with fixed places: sockets of the shims, locks, leases of addresses, links to logs.
for place in /run /var/log /var/lib/cni; do
  mkdir -p "$place"
  mount -t tmpfs tmpfs "$place"
done
mkdir -p /run/lock

# The kubelet would set these for the whole machine.
hide() {
  printf '%s\n' "$2" > "$folder/$(basename "$1")"
  mount --bind "$folder/$(basename "$1")" "$1"
}
hide /proc/sys/vm/overcommit_memory 1
hide /proc/sys/vm/panic_on_oom 0
hide /proc/sys/kernel/panic 10
hide /proc/sys/kernel/panic_on_oops 1

# A bridge without ports, because a device `dummy` is not in every kernel.
ip link set lo up
ip link add machine0 type bridge
ip address add "$KUBEWRIGHT_NODE_ADDRESS/24" dev machine0
ip link set machine0 up
# Addresses of Services need a route before they are translated.
ip route add default dev machine0
echo 1 > /proc/sys/net/ipv4/ip_forward

for controller in /sys/fs/cgroup/*/; do
  [ -e "$controller/cgroup.procs" ] && mkdir -p "$controller/$group"
done
[ -e /sys/fs/cgroup/cgroup.procs ] && mkdir -p "/sys/fs/cgroup/$group"

# Without this all containers together would get as much time as one other process of the machine, such as a compiler.
share() { if [ -w "$1" ]; then echo "$2" > "$1"; fi; }
share "/sys/fs/cgroup/cpu/$group/cpu.shares" 20480
share "/sys/fs/cgroup/$group/cpu.weight" 2000

export TMPDIR="$folder" KUBEWRIGHT_NODE_FOLDER="$folder" KUBEWRIGHT_NODE_GROUP="$group"
set +e
# A shell gives /dev/null to what it starts in the background, unless told otherwise.
exec 3<&0
"$@" <&3 3<&- &
program=$!
trap 'kill -TERM $program 2> /dev/null' INT TERM HUP
while :; do
  wait $program
  code=$?
  kill -0 $program 2> /dev/null || break
done

# Everything that still runs in these namespaces, containers included.
kill -KILL -1 2> /dev/null
sleep 0.2
awk -v folder="$folder" 'index($2, folder) == 1 { print $2 }' /proc/self/mounts | sort -r | while read -r mounted; do
  umount -l "$mounted"
done
umount -l /proc/sys/vm/overcommit_memory /proc/sys/vm/panic_on_oom /proc/sys/kernel/panic /proc/sys/kernel/panic_on_oops 2> /dev/null
if [ -d "$folder/kubewright-cluster-logs" ]; then
  mkdir -p "$outer/kubewright-cluster-logs"
  mv "$folder/kubewright-cluster-logs" "$outer/kubewright-cluster-logs/$group"
  echo "logs: $outer/kubewright-cluster-logs/$group" >&2
fi
rm -rf "$folder"
find /sys/fs/cgroup -mindepth 1 -maxdepth 2 -type d -name "$group" | while read -r left; do
  find "$left" -depth -type d -exec rmdir {} \; 2> /dev/null
done
exit $code
