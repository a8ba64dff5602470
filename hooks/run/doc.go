// Package run starts hooks that are processes: one per event, or persistent
// ones that get a line of JSON per event and answer with one.
//
// Invariants: a process and all that it starts form one group, which a time-out
// ends as a whole; no hook delays an answer beyond its time-out; output is
// capped; the secrets in this process's environment are not passed on.
//
// The variables GEMINI_PROJECT_DIR, GEMINI_PLANS_DIR, GEMINI_SESSION_ID,
// GEMINI_CWD and CLAUDE_PROJECT_DIR reach a shell command through its
// environment, never by substitution in its text, so that a directory's name is
// never read as shell code; quote them as usual ("$GEMINI_PROJECT_DIR"/x). With
// args there is no shell: there they are put into the arguments.
package run
