#!/usr/bin/env python3
"""Serves the files of a folder over HTTP on a loopback port, as badly as a test wants it.

Usage: range_server.py FOLDER PORT_FILE LOG_FILE

Supports Range with If-Range and ETag. A file FOLDER/NAME.faults holds one line for each coming response for
NAME; the line is taken off and obeyed:
    cut N      announce everything, send N bytes, close the connection
    status N   answer with that status
    ok         nothing special
Each request is logged as "METHOD PATH RANGE IF-RANGE -> STATUS" before its body is sent. The ETag is a hash
of the content, so that changing a file changes it.
"""
import hashlib
import http.server
import os
import sys

FOLDER, PORT_FILE, LOG_FILE = sys.argv[1:4]


def next_fault(name):
    path = os.path.join(FOLDER, name + ".faults")
    if not os.path.exists(path):
        return ["ok"]
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines[1:])
    return lines[0].split() if lines else ["ok"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = os.path.basename(self.path)
        path = os.path.join(FOLDER, name)
        fault = next_fault(name)
        if fault[0] == "status":
            return self.answer(int(fault[1]), b"", {})
        if not os.path.exists(path):
            return self.answer(404, b"", {})
        with open(path, "rb") as file:
            body = file.read()
        etag = '"%s"' % hashlib.sha256(body).hexdigest()[:16]
        headers = {"ETag": etag, "Accept-Ranges": "bytes"}
        status = 200
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range", etag) == etag:
            start = int(wanted.removeprefix("bytes=").split("-")[0])
            if start >= len(body):
                return self.answer(416, b"", {"Content-Range": "bytes */%d" % len(body)})
            status = 206
            headers["Content-Range"] = "bytes %d-%d/%d" % (start, len(body) - 1, len(body))
            body = body[start:]
        self.answer(status, body, headers, int(fault[1]) if fault[0] == "cut" else len(body))

    def answer(self, status, body, headers, send=None):
        with open(LOG_FILE, "a", encoding="utf-8") as log:
            log.write("GET %s %s %s -> %d\n" % (self.path, self.headers.get("Range", "-"),
                                                self.headers.get("If-Range", "-"), status))
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:send])
        self.close_connection = True

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(PORT_FILE + ".new", "w", encoding="utf-8") as file:
    file.write(str(server.server_address[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
server.serve_forever()
