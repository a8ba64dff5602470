#!/bin/bash
# A PreToolUse guard as Claude Code's users write them: no force pushes.
input=$(cat)
case $input in
*'"tool_name":"Bash"'*'"command":"git push --force'*)
	echo "force pushes are not allowed here" >&2
	exit 2
	;;
esac
exit 0
