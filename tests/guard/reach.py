#!/usr/bin/env python3
"""Says what can be reached by TCP, and by UDP: the two ends of the guard's tests.

reach.py serve PORT...       accepts on every address of this network namespace, until it is killed
reach.py dial ADDRESS:PORT...   one line each: "ADDRESS:PORT open|refused|timeout|unreachable"
  With "udp/" before it: "open" when a datagram got to a host where nobody listens at that port, "unreachable" when
  rules refused it on its way.
"""

import errno
import socket
import sys
import threading

TIMEOUT_S = 3.0
# Of a datagram whose answer the kernel may leave out: it limits the rate of ICMP.
TRIES = 5
NAMES = {
    errno.ECONNREFUSED: "refused",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETUNREACH: "unreachable",
    errno.ETIMEDOUT: "timeout",
}


def serve(ports):
    for port in ports:
        listener = socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()


def answer(listener):
    while True:
        connection, _ = listener.accept()
        connection.close()


def send(host, port):
    datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagram.settimeout(TIMEOUT_S)
    datagram.connect((host, int(port)))
    for _ in range(TRIES):
        try:
            datagram.send(b"?")
            datagram.recv(1)
        except socket.timeout:
            continue
        except ConnectionRefusedError:
            return "open"
        except OSError as error:
            return NAMES.get(error.errno, str(error))
    return "timeout"


def dial(place):
    host, _, port = place.rpartition(":")
    if host.startswith("udp/"):
        return send(host[len("udp/") :], port)
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S).close()
    except socket.timeout:
        return "timeout"
    except OSError as error:
        return NAMES.get(error.errno, str(error))
    return "open"


def main():
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
        return
    for place in sys.argv[2:]:
        print(place, dial(place), flush=True)


main()
