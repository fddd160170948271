"""Somebody in the middle: another user of a host listens where an agent looks for mpiexec.

Usage: relay.py ADDRESS PORT TARGET FOLDER MODE [ARGUMENT...]      serves callers at ADDRESS, until it is ended
       relay.py crowd COUNT TARGET:PORT...                         holds so many connections to each, and says nothing
       relay.py again TARGET PORT FOLDER                           says once more what was heard of the agent, to mpiexec
       relay.py through PORT FOLDER [WAY AT BITS]                  passes callers that the kernel has led to PORT on to where they
                                                                   wanted to go, and keeps that; changes as with `change`
       relay.py replay FOLDER...                                   says once more what callers have said there, at each of their ports
       relay.py seen FOLDER SECRET TEXT...                         whether the secret or a text went over the relay

MODE  pass                 passes all on to PORT of TARGET, and keeps what goes in FOLDER/up and FOLDER/down
      change WAY AT BITS   the same, and changes these bits of byte AT that goes `up`, to mpiexec, or `down`, from it
      cut WAY AT           the same, and ends after so many bytes
      record WAY HOW FILE  the same record by record; the first one that comes after FILE is there is altered: it is passed with a
                           bit of it changed (flip), twice (repeat), not at all (drop), or behind the next one (swap)
      reset COUNT          resets the first callers, so many, and passes on what the next ones say
      mute, bye, wrong, echo    says nothing; ends at once; says something else; says what it hears
      old                  answers as mpiexec has in an earlier job, from FOLDER/down
Started by root, it becomes nobody. Prints "ready" when it listens.
"""

import os
import random
import socket
import struct
import sys
import threading
import time


def become_nobody():
    """Who serves callers or holds connections is another user, who may read less than root: all is loaded by now."""
    "".encode("idna")
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)


def call(target, port):
    return socket.create_connection((target, int(port)), timeout=2)


def copy(source, sink, path, changes, bits, end):
    """Until one side ends; `changes`: the byte of which bits are changed; `end`: how many bytes go."""
    gone = 0
    try:
        with open(path, "ab") as kept:
            while end is None or gone < end:
                piece = bytearray(source.recv(65536))
                if not piece:
                    break
                kept.write(piece)
                kept.flush()
                if changes is not None and gone <= changes < gone + len(piece):
                    piece[changes - gone] ^= bits
                gone += len(piece)
                sink.sendall(piece[: len(piece) if end is None or gone <= end else end - gone])
    except OSError:
        pass
    for one in (source, sink):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


# Bytes of the messages of the handshake, before the records.
HANDSHAKE = {"up": (36, 32), "down": (48, 1)}


def records(source, sink, path, name, how, trigger):
    """Until one side ends, or an end is in the middle of a record."""
    kept = open(path, "ab")

    def take(count):
        whole = b""
        while len(whole) < count:
            piece = source.recv(count - len(whole))
            if not piece:
                raise EOFError
            whole += piece
        kept.write(whole)
        kept.flush()
        return whole

    def record():
        head = take(4)
        return head + take(int.from_bytes(head, "little"))

    done = False
    try:
        for count in HANDSHAKE[name]:
            sink.sendall(take(count))
        while True:
            one = record()
            if done or not os.path.exists(trigger):
                sink.sendall(one)
                continue
            done = True
            if how == "flip":
                sink.sendall(one[:-1] + bytes([one[-1] ^ 1]))
            elif how == "repeat":
                sink.sendall(one + one)
            elif how == "swap":
                sink.sendall(record() + one)
    except (OSError, EOFError):
        pass
    for one in (source, sink):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def between(agent, target, port, folder, mode, words):
    way, at, bits = (words + ["", "", ""])[:3] if mode != "pass" else ("", "", "")
    mpiexec = call(target, port)
    mpiexec.settimeout(None)
    threads = []
    for name, source, sink in (("up", agent, mpiexec), ("down", mpiexec, agent)):
        mine = name == way
        if mine and mode == "record":
            arguments = (source, sink, f"{folder}/{name}", name, at, bits)
            threading.Thread(target=records, args=arguments, daemon=True).start()
            continue
        changes = int(at) if mine and mode == "change" else None
        end = int(at) if mine and mode == "cut" else None
        bit = int(bits) if changes is not None else 0
        job = threading.Thread(target=copy, args=(source, sink, f"{folder}/{name}", changes, bit, end), daemon=True)
        job.start()
        threads.append(job)


def serve(address, port, target, folder, mode, *words):
    become_nobody()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(port)))
    listener.listen(50)
    print("ready", flush=True)
    held = []
    while True:
        agent, _ = listener.accept()
        held.append(agent)
        try:
            if mode == "reset" and len(held) <= int(words[0]):
                agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                agent.close()
            elif mode == "reset":
                between(agent, target, port, folder, "pass", [])
            elif mode in ("pass", "change", "cut", "record"):
                between(agent, target, port, folder, mode, list(words))
            elif mode == "bye":
                agent.close()
            elif mode == "wrong":
                agent.sendall(random.Random(1).randbytes(2000))
            elif mode == "old":
                agent.sendall(open(f"{folder}/down", "rb").read())
            elif mode == "echo":
                threading.Thread(target=copy, args=(agent, agent, os.devnull, None, 0, None), daemon=True).start()
        except OSError as error:
            print(mode, error, flush=True)


def closed(connection):
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def through(port, folder, way="", at="-1", bits="0"):
    become_nobody()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", int(port)))
    listener.listen(50)
    print("ready", flush=True)
    number = 0
    while True:
        caller, _ = listener.accept()
        number += 1
        # SO_ORIGINAL_DST: the address as it was.
        there = caller.getsockopt(socket.IPPROTO_IP, 80, 16)
        target = socket.inet_ntoa(there[4:8]), int.from_bytes(there[2:4], "big")
        try:
            called = call(*target)
        except OSError as error:
            print(target, error, flush=True)
            caller.close()
            continue
        called.settimeout(None)
        with open(f"{folder}/{number}.to", "w") as to:
            print(*target, file=to)
        for name, source, sink in (("up", caller, called), ("down", called, caller)):
            changes = int(at) if name == way else None
            arguments = (source, sink, f"{folder}/{number}.{name}", changes, int(bits), None)
            threading.Thread(target=copy, args=arguments, daemon=True).start()


def replay(*folders):
    """Whoever says what a caller has said gets a challenge at most, and then the end of the connection."""
    become_nobody()
    flows = [f"{folder}/{name[:-3]}" for folder in folders for name in os.listdir(folder) if name.endswith(".to")]
    said = [one for one in (open(f"{flow}.up", "rb").read()[:4096] for flow in flows) if len(one) >= 68]
    ports = {tuple(open(f"{flow}.to").read().split()) for flow in flows}
    most = tries = 0
    for target in ports:
        for words in said:
            for pieces in ([words], [words[:36], words[36:68], words[68:]]):
                caller = call(*target)
                caller.settimeout(20)
                heard = 0
                try:
                    for piece in pieces:
                        caller.sendall(piece)
                        if piece is not pieces[-1]:
                            heard += len(caller.recv(4096))
                    while more := caller.recv(4096):
                        heard += len(more)
                except TimeoutError:
                    print(f"{target}: the connection is held")
                    return 1
                except OSError:
                    pass
                most = max(most, heard)
                tries += 1
    print(f"{len(said)} handshakes at {len(ports)} ports, {tries} times: {most} bytes of answer at most")
    return 0 if tries and most <= 48 else 1


def crowd(count, *targets):
    """Until it is ended: where one is closed there is a new one. Ready when all are open, or nobody listens yet."""
    become_nobody()
    targets = [target.rsplit(":", 1) for target in targets]
    held = {number: [] for number in range(len(targets))}
    while True:
        for number, target in enumerate(targets):
            held[number] = [one for one in held[number] if not closed(one)]
            try:
                for _ in range(int(count) - len(held[number])):
                    one = call(*target)
                    one.setblocking(False)
                    held[number].append(one)
            except OSError:
                pass
        print("ready", flush=True)
        time.sleep(0.005)


def again(target, port, folder):
    """What the agent has said is said by somebody else: in one go, and as the answers come."""
    said = open(f"{folder}/up", "rb").read()
    for pieces in ([said], [said[:36], said[36:68], said[68:]]):
        mpiexec = call(target, port)
        heard = b""
        try:
            for piece in pieces:
                mpiexec.sendall(piece)
                mpiexec.settimeout(1 if piece is not pieces[-1] else 5)
                try:
                    heard += mpiexec.recv(65536)
                except TimeoutError:
                    pass
            while more := mpiexec.recv(65536):
                heard += more
        except OSError:
            pass
        # The challenge, which everybody gets who asks.
        print(f"{len(heard)} bytes heard", flush=True)
        if len(heard) > 48:
            return 1
    return 0


def seen(folder, secret, *texts):
    went = open(f"{folder}/up", "rb").read() + open(f"{folder}/down", "rb").read()
    secret = open(secret).readline().strip()
    if len(secret) < 32 or len(went) < 300:
        print(f"a secret of {len(secret)} digits, and {len(went)} bytes: the relay was not in the middle")
        return 2
    found = [text for text in (secret, *texts) if text.encode() in went] + [secret] * (bytes.fromhex(secret) in went)
    print(f"of {len(went)} bytes: seen {found}")
    return 1 if found else 0


if __name__ == "__main__":
    command, words = sys.argv[1], sys.argv[2:]
    run = {"crowd": crowd, "again": again, "seen": seen, "through": through, "replay": replay}.get(command)
    sys.exit(run(*words) if run else serve(command, *words))
