"""Takes e-mail addresses out of what the model says."""

import json
import re
import sys

MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")

event = json.load(sys.stdin)
text = event["llm_response"].get("text") or ""
clean = MAIL.sub("[e-mail]", text)
if clean != text:
    # Parts are the text alone: calls, finish reason and usage stay as they are.
    answer = {"candidates": [{"content": {"role": "model", "parts": [clean]}}]}
    json.dump({"hookSpecificOutput": {"llm_response": answer}}, sys.stdout)
