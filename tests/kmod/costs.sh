#!/bin/sh
# Costs for TERN_COSTS in which the kernel module copies quicker than anything else does, and pins cost little.
# Usage: tests/kmod/costs.sh > FILE
set -eu

echo "tern-costs 5"
echo "origin made up: the module is quick"
echo "pin 4096:1000 1048576:10000"
echo "unpin 4096:1000 1048576:10000"
for place in smt l2 l3 numa machine; do
    for warmth in warm cold; do
        for mover in eager pipe cma cma-push cma-both; do
            echo "$place $mover $warmth 4096:20000 1048576:4000000"
        done
        echo "$place module $warmth 4096:2000 1048576:100000"
    done
done
