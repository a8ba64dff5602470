#!/bin/bash
# A BeforeTool guard as Gemini CLI's users write them: no pushes to main.
input=$(cat)
if [[ $input == *'"tool_name":"run_shell_command"'* && $input == *'origin main"'* ]]; then
	echo '{"decision":"deny","reason":"main is protected"}'
	exit 0
fi
echo '{"decision":"allow"}'
