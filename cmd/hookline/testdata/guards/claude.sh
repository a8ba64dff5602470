#!/bin/bash
# A PreToolUse guard as Claude Code's users write them: nobody reads secrets.
input=$(cat)
case $input in
*'"tool_name":"Read"'*'"file_path":"'*'secret.txt"'*)
	echo "secrets are not for reading" >&2
	exit 2
	;;
esac
exit 0
