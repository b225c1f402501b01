#!/usr/bin/env python3
"""A web of one network namespace for internet_run_test.sh, until it is killed: what serves on every address the
namespace has, and a DNS server whose answers are in the names that it is asked for.

web.py NOTES            HTTP on port 80; the address that each connection came to becomes a line of NOTES
web.py NOTES ADDRESS    besides, DNS on port 53 of ADDRESS

HTTP: /to?URL redirects to URL, any other path is 200. The connection ends with the answer.
DNS: 10-9-9-9.test has the address 10.9.9.9, 10-9-9-9.11-22-33-44.test has both. 11-22-33-44.then.10-9-9-9.test
has the first until somebody has asked for a page of that name, and the second from then on: a host that changes its
address between a request and the redirect. Nothing may be kept (TTL 0), and there are no IPv6 addresses.
"""

import http.server
import re
import socket
import struct
import sys
import threading

TYPE_A = 1
HEADER_BYTES = 12
ANSWER_FLAGS = 0x8180  # a response, recursion desired and available, no error
NAME_OF_QUESTION = 0xC000 | HEADER_BYTES
ADDRESS = re.compile(r"\d+-\d+-\d+-\d+")


class Web(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, notes):
        super().__init__(("", 80), Page)
        self.visited = set()
        self._notes = open(notes, "a", buffering=1, encoding="ascii")

    def get_request(self):
        connection, peer = super().get_request()
        self._notes.write(f"{connection.getsockname()[0]}\n")
        return connection, peer


class Page(http.server.BaseHTTPRequestHandler):
    timeout = 60

    def do_GET(self):
        self.server.visited.add(self.headers.get("Host", "").lower())
        path, _, target = self.path.partition("?")
        self.send_response(302 if path == "/to" else 200)
        if path == "/to":
            self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass


def addresses(name, visited):
    before, moves, after = name.partition(".then.")
    labels = (after if moves and name in visited else before).split(".")
    return [label.replace("-", ".") for label in labels if ADDRESS.fullmatch(label)]


def answer(query, visited):
    labels = []
    at = HEADER_BYTES
    while query[at] != 0:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii"))
        at += 1 + query[at]
    question = query[HEADER_BYTES : at + 5]
    (kind,) = struct.unpack_from("!H", query, at + 1)
    found = addresses(".".join(labels).lower(), visited) if kind == TYPE_A else []
    header = query[:2] + struct.pack("!5H", ANSWER_FLAGS, 1, len(found), 0, 0)
    records = [struct.pack("!3HIH", NAME_OF_QUESTION, TYPE_A, 1, 0, 4) + socket.inet_aton(a) for a in found]
    return header + question + b"".join(records)


def serve_names(address, visited):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        query, peer = server.recvfrom(512)
        server.sendto(answer(query, visited), peer)


def main():
    web = Web(sys.argv[1])
    for address in sys.argv[2:]:
        threading.Thread(target=serve_names, args=(address, web.visited), daemon=True).start()
    print("ready", flush=True)
    web.serve_forever()


main()
