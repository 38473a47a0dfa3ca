#!/bin/sh
# The default command of the image kubectl-delivery: copies kubectl for the launcher when the workers of the hostfile are ready.
set -eu
target="${TARGET_DIR:-/opt/kube}"
hostfile="${HOSTFILE:-/etc/mpi/hostfile}"
cp "$(command -v kubectl)" "$target/kubectl"
[ -r "$hostfile" ] || exit 0
states='jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.podIP}'
tries=0
: > "$target/hosts.new"
for host in $(sed 's/[ :].*//' "$hostfile"); do
  [ "$host" != "$(hostname)" ] || continue
  while true; do
    found="$("$target/kubectl" get pod "$host" --namespace "${NAMESPACE:-}" --output "$states" || true)"
    case "$found" in True\ ?*) break ;; esac
    echo "waiting for $host"
    tries=$((tries + 1))
    if [ "$tries" -gt 20 ]; then sleep 1; else sleep 0.05; fi
  done
  printf '%s\t%s\n' "${found#True }" "$host" >> "$target/hosts.new"
done
mv "$target/hosts.new" "$target/hosts"
