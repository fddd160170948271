#!/bin/sh
# A Slurm of three nodes on this machine, for tests: no munge, no systemd.
# Usage: tests/launchers/slurm.sh start FOLDER    starts it, and writes FOLDER/slurm.conf, which SLURM_CONF then names
#        tests/launchers/slurm.sh stop FOLDER
# Needs: root, Debian's slurm-wlm; for --mpi=pmix libpmix-dev too, whose libpmix.so the plug-in loads.
set -eu

folder=$2
case $1 in
start)
    mkdir -p "$folder/state" "$folder/base"
    host=$(hostname)
    # Ports of this test alone, as far as a process number tells.
    port=$((20000 + $$ % 10000))
    cat > "$folder/slurm.conf" <<END
ClusterName=tern
SlurmctldHost=$host
SlurmctldPort=$port
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
KillWait=5
NodeName=tern[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 3))] CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE MaxTime=INFINITE State=UP
END
    # A folder of PMIx with one name on all nodes is another one on each.
    echo "PMIxCliTmpDirBase=$folder/base" > "$folder/mpi.conf"
    export SLURM_CONF="$folder/slurm.conf"
    setsid slurmctld -D > "$folder/slurmctld.out" 2>&1 &
    echo $! > "$folder/pids"
    for node in tern1 tern2 tern3; do
        mkdir -p "$folder/base-$node" "$folder/spool-$node"
        setsid unshare -m sh -c 'mount --bind "$0/base-$1" "$0/base" && exec slurmd -D -N "$1"' "$folder" "$node" \
            > "$folder/$node.out" 2>&1 &
        echo $! >> "$folder/pids"
    done
    left=30
    until [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 3 ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || { cat "$folder"/*.out >&2; exit 1; }
        sleep 1
    done
    ;;
stop)
    # shellcheck disable=SC2046
    kill $(cat "$folder/pids") 2> /dev/null || true
    # They write into the folder until they have ended.
    for pid in $(cat "$folder/pids"); do
        left=100
        while [ "$left" -gt 0 ] && kill -0 "$pid" 2> /dev/null; do
            left=$((left - 1))
            sleep 0.1
        done
    done
    ;;
esac
