"""Strangers at the sockets of a job: random bytes, and the first messages of another job, changed or as they were.

Usage: attack.py record FILE COMMAND...    runs the command, and keeps the first bytes of each connection, if any, in FILE
       attack.py attack FILE COUNT SEED    sends COUNT random and COUNT changed messages to each socket that listens
       attack.py other FILE                is another user at each abstract Unix socket that listens: says nothing, says nonsense, and
                                           says whole first messages; exit code 77 where it cannot become somebody else

       attack.py hold NAME                 is another user who has the abstract Unix socket of that name, and answers all with nonsense

Both see all sockets of this network namespace, and are to run in one of the job's own.
"""

import json
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

# Bytes of a connection that are kept.
FIRST = 512
# Connections that the attack holds open at one time, without a word more.
HELD = 200
# Callers of each socket that say nothing, from the beginning to the end.
SILENT = 300


def record(path, command):
    """Listens on all interfaces while the command runs; gives its exit code."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    tap.settimeout(0.2)
    flows, over = {}, threading.Event()

    def listen():
        while not over.is_set():
            try:
                frame = tap.recv(65535)
            except TimeoutError:
                continue
            if frame[12:14] != b"\x08\x00":
                continue
            ip = frame[14:]
            after = (ip[0] & 15) * 4
            ports, end = ip[after : after + 4], struct.unpack(">H", ip[2:4])[0]
            if ip[9] == 6:
                body = ip[after + (ip[after + 12] >> 4) * 4 : end]
            elif ip[9] == 17:
                body = ip[after + 8 : end]
            else:
                continue
            known = flows.setdefault((ip[9], ip[12:20], ports), b"")
            if len(known) < FIRST and known[-len(body) :] != body:
                flows[ip[9], ip[12:20], ports] = (known + body)[:FIRST]

    listener = threading.Thread(target=listen)
    listener.start()
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    over.set()
    listener.join()
    messages = sorted({body for body in flows.values() if body})
    # A job of one host has no network: what another one has said stays.
    if messages:
        with open(path, "w") as out:
            json.dump([body.hex() for body in messages], out)
    print(f"{len(messages)} first messages of {len(flows)} flows")
    return code


def listening():
    """All sockets that listen, as (family, kind, address)."""
    found = []
    for name, family, kind, state in (
        ("tcp", socket.AF_INET, socket.SOCK_STREAM, "0A"),
        ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, "0A"),
        ("udp", socket.AF_INET, socket.SOCK_DGRAM, "07"),
        ("udp6", socket.AF_INET6, socket.SOCK_DGRAM, "07"),
    ):
        for line in open(f"/proc/net/{name}").readlines()[1:]:
            fields = line.split()
            if fields[3] == state:
                host, port = fields[1].split(":")
                packed = b"".join(struct.pack("=I", int(host[at : at + 8], 16)) for at in range(0, len(host), 8))
                here = "127.0.0.1" if family == socket.AF_INET else "::1"
                place = socket.inet_ntop(family, packed) if any(packed) else here
                found.append((family, kind, (place, int(port, 16))))
    for line in open("/proc/net/unix").readlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) > 7 and fields[3] == "00010000" and fields[7].startswith("@"):
            kind = {1: socket.SOCK_STREAM, 5: socket.SOCK_SEQPACKET}.get(int(fields[4], 16))
            if kind:
                found.append((socket.AF_UNIX, kind, b"\0" + fields[7].rstrip("\n")[1:].encode()))
    return found


def changed(dice, messages):
    """A message with some bytes of it changed, left out or doubled, or none."""
    body = bytearray(dice.choice(messages))
    for _ in range(dice.randrange(5)):
        at = dice.randrange(len(body) + 1)
        way = dice.randrange(6)
        if way == 0 and body:
            body[at % len(body)] ^= 1 << dice.randrange(8)
        elif way == 1:
            del body[at:]
        elif way == 2:
            del body[at : at + dice.randrange(1, 9)]
        elif way == 3:
            body[at:at] = body[at : at + dice.randrange(1, 65)]
        elif way == 4:
            body[at : at + 4] = b"\xff" * 4
        else:
            body[at : at + 8] = dice.randbytes(8)
    return bytes(body)


def send(dice, target, body, held):
    family, kind, address = target
    stranger = socket.socket(family, kind)
    try:
        # The kernel's queue may be full of strangers: none is waited for.
        stranger.settimeout(1)
        stranger.connect(address)
        stranger.send(body)
        if kind == socket.SOCK_STREAM and family != socket.AF_UNIX and dice.random() < 0.9:
            # No port stays taken by a connection that is over.
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError as error:
        return type(error).__name__
    finally:
        if kind == socket.SOCK_STREAM and dice.random() < 0.02:
            held.append(stranger)
            if len(held) > HELD:
                held.pop(0).close()
        else:
            stranger.close()
    return "sent"


def silent(target):
    family, kind, address = target
    caller = socket.socket(family, kind)
    caller.settimeout(1)
    try:
        caller.connect(address)
    except OSError:
        pass
    return caller


def attack(path, count, seed):
    dice = random.Random(seed)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    messages = [bytes.fromhex(body) for body in json.load(open(path))]
    targets = listening()
    results, held = {}, []
    crowd = [silent(target) for target in targets if target[1] == socket.SOCK_STREAM for _ in range(SILENT)]
    for target in targets:
        for _ in range(count):
            for body in (dice.randbytes(dice.randrange(FIRST)), changed(dice, messages)):
                result = send(dice, target, body, held)
                results[result] = results.get(result, 0) + 1
    kinds = [f"{target[0].name} {target[1].name}" for target in targets]
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds))))
    print(f"{len(crowd)} silent callers; {results.get('sent', 0)} messages sent to {len(targets)} sockets; not taken: "
          f"{ {name: number for name, number in results.items() if name != 'sent'} }")
    return 0 if targets and results.get("sent", 0) else 1


# What a socket that asks for a proof says to everybody who begins as a caller does.
CHALLENGE = 48


def answer(target, body):
    """Bytes that come in answer until the connection has ended; an error if that takes too long."""
    family, kind, address = target
    stranger = socket.socket(family, kind)
    stranger.settimeout(30)
    heard = 0
    try:
        stranger.connect(address)
        if body:
            stranger.send(body)
        while more := stranger.recv(4096):
            heard += len(more)
    except TimeoutError:
        return "the connection is held"
    except OSError:
        pass
    finally:
        stranger.close()
    return heard


def other(path):
    messages = [bytes.fromhex(body) for body in json.load(open(path))] if os.path.exists(path) else []
    targets = [target for target in listening() if target[0] == socket.AF_UNIX]
    if os.geteuid() != 0:
        print("this user cannot become another one")
        return 77
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    dice = random.Random(1)
    words = [b"", dice.randbytes(200)] + [body for body in messages if len(body) >= 100][:50]
    worst = []
    for target in targets:
        # The kernel tells who it is at all others, and they say nothing to him.
        most = CHALLENGE if target[2].startswith(b"\0tern-hca-") else 0
        begun = time.monotonic()
        answers = [answer(target, body) for body in words]
        worst += [(target[2], one) for one in answers if not isinstance(one, int) or one > most]
        if most == 0 and time.monotonic() - begun > 20:
            worst.append((target[2], "a connection of another user is kept for long"))
    print(f"{len(targets)} abstract Unix sockets, {len(words)} tries at each by another user: {worst or 'refused'}")
    return 1 if worst or not targets else 0


def hold(name):
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(b"\0" + name.encode())
    listener.listen(10)
    print("ready", flush=True)
    while True:
        caller, _ = listener.accept()
        caller.settimeout(5)
        try:
            caller.send(b"tcp:10.0.0.1:1/" + b"0" * 32)
            if said := caller.recv(4096):
                print("told", said, flush=True)
        except OSError:
            pass
        caller.close()


if __name__ == "__main__":
    if sys.argv[1] == "record":
        sys.exit(record(sys.argv[2], sys.argv[3:]))
    if sys.argv[1] == "hold":
        hold(sys.argv[2])
    if sys.argv[1] == "other":
        sys.exit(other(sys.argv[2]))
    sys.exit(attack(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
