// Package run runs hooks. Runner starts those that are processes: one per event,
// or persistent ones that get a line of JSON per event and answer with one. HTTP
// asks services, Judge asks a model, at once or after a look at files. A Gate
// limits how many of all these run at the same time.
//
// Invariants: a process and all that it starts form one group, which a time-out
// ends as a whole; no hook delays an answer beyond its time-out; output is
// capped; the secrets in this process's environment are not passed on; no
// request goes to a blocked address; no failure tells a secret, or what a hook
// or a model said; nothing that a model asks for is done but reading below the
// working directory.
//
// The variables GEMINI_PROJECT_DIR, GEMINI_PLANS_DIR, GEMINI_SESSION_ID,
// GEMINI_CWD, CLAUDE_PROJECT_DIR, QWEN_PROJECT_DIR and QODER_PROJECT_DIR reach a
// shell command through its environment, never by substitution in its text, so that a directory's name is
// never read as shell code; quote them as usual ("$GEMINI_PROJECT_DIR"/x). With
// args there is no shell: there they are put into the arguments.
package run
