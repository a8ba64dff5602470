#!/usr/bin/env bash
# Denies a call that would delete folders. The model reads the reason on stderr.
if grep -q 'rm -rf'; then
  echo 'rm -rf is not allowed here: name the files to delete' >&2
  exit 2
fi
