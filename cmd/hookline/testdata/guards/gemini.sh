#!/bin/bash
# A BeforeTool guard as Gemini CLI's users write them: nobody reads secrets.
input=$(cat)
if [[ $input == *'"tool_name":"read_file"'* && $input == *'secret.txt"'* ]]; then
	echo '{"decision":"deny","reason":"secret.txt is private"}'
	exit 0
fi
echo '{"decision":"allow"}'
