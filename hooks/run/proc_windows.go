package run

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminate kills: Windows has no signal that asks a process tree to end.
func terminate(p *os.Process) { kill(p) }

func kill(p *os.Process) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(p.Pid)).Run() //nolint:noctx // short, and must happen
	_ = p.Kill()
}

func groupAlive(*os.Process) bool { return false }

// ours cannot tell whose a folder is here.
func ours(string) bool { return true }

// pending cannot look into a pipe here: stray output is found when it arrives
// together with an answer.
func pending(*os.File) error { return nil }

// openNonblock has no meaning here: opening waits for nobody.
const openNonblock = 0
