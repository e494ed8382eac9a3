// Threads, garbage, files, programs and timers in Go.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	var threads sync.WaitGroup
	var done atomic.Int32
	for range 4 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			texts := map[int]string{}
			for n := range 100_000 {
				texts[n%100] = fmt.Sprint(n)
			}
			done.Add(1)
		}()
	}
	threads.Wait()
	runtime.GC()
	time.Sleep(time.Millisecond)
	os.WriteFile("note", []byte("here"), 0o600)
	copied, err := exec.Command("cat", "note").Output()
	fmt.Println(done.Load(), string(copied), err)
}
