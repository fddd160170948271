"""Somebody in the middle: another user of a host listens where an agent looks for mpiexec.

Usage: relay.py ADDRESS PORT TARGET FOLDER MODE [ARGUMENT...]      serves callers at ADDRESS, until it is ended
       relay.py crowd COUNT TARGET:PORT...                         holds so many connections to each, and says nothing
       relay.py again TARGET PORT FOLDER                           says once more what was heard of the agent, to mpiexec
       relay.py seen FOLDER SECRET TEXT...                         whether the secret or a text went over the relay

MODE  pass                 passes all on to PORT of TARGET, and keeps what goes in FOLDER/up and FOLDER/down
      change WAY AT BITS   the same, and changes these bits of byte AT that goes `up`, to mpiexec, or `down`, from it
      cut WAY AT           the same, and ends after so many bytes
      mute, bye, wrong, echo    says nothing; ends at once; says something else; says what it hears
      old                  answers as mpiexec has in an earlier job, from FOLDER/down
Started by root, it becomes nobody. Prints "ready" when it listens.
"""

import os
import random
import socket
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


def between(agent, target, port, folder, mode, words):
    way, at, bits = (words + ["", "", ""])[:3] if mode != "pass" else ("", "", "")
    mpiexec = call(target, port)
    mpiexec.settimeout(None)
    threads = []
    for name, source, sink in (("up", agent, mpiexec), ("down", mpiexec, agent)):
        mine = name == way
        changes = int(at) if mine and mode == "change" else None
        end = int(at) if mine and mode == "cut" else None
        job = threading.Thread(
            target=copy, args=(source, sink, f"{folder}/{name}", changes, int(bits or 0), end), daemon=True
        )
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
            if mode in ("pass", "change", "cut"):
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
    run = {"crowd": crowd, "again": again, "seen": seen}.get(command)
    sys.exit(run(*words) if run else serve(command, *words))
