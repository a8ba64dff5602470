#!/usr/bin/env python3
"""An http hook: masks names and places in what goes to the model.

It asks a Presidio analyzer, as
    docker run -p 5002:3000 mcr.microsoft.com/presidio-analyzer
serves one, and answers hookline on port 9009. The hook sees texts that have been redacted already; placeholders stay.
"""
import http.server
import json
import os
import re
import urllib.request

ANALYZER = os.environ.get("PRESIDIO_ANALYZER", "http://127.0.0.1:5002")
PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]*_[0-9]+>|\[[A-Z][A-Z0-9_]*\]")


def mask(text):
    ask = {"text": text, "language": "en", "entities": ["PERSON", "LOCATION"], "score_threshold": 0.6}
    req = urllib.request.Request(ANALYZER + "/analyze", json.dumps(ask).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(req, timeout=8) as answer:
        found = json.load(answer)
    kept = [m.span() for m in PLACEHOLDER.finditer(text)]
    for f in sorted(found, key=lambda f: -f["start"]):
        if not any(s < f["end"] and f["start"] < e for s, e in kept):
            text = text[: f["start"]] + "[" + f["entity_type"] + "]" + text[f["end"] :]
    return text


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = event["llm_request"]["messages"]
        masked = [{**m, "content": mask(m["content"])} for m in messages]
        out = {}
        if masked != messages:
            out = {"hookSpecificOutput": {"hookEventName": "BeforeModel", "llm_request": {"messages": masked}}}
        body = json.dumps(out).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass  # texts are nobody's business


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", 9009), Hook).serve_forever()
