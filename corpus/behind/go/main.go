// A Go server with causes to plant; -help says which. GET /work does the steps of -work in turn, joined by "+":
//
//	wait:MS compute:MS lock:MS (computes under one lock) lockwait:MS (waits under it) query:MS (asks the server at
//	-beside_port to wait, over at most -pool connections) fsync:KIB and write:KIB (a new file, with and without fsync) alloc:KIB
//	switch:N (there and back between two threads of the kernel) chan:N (between two goroutines)
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

var (
	port     = flag.Int("port", 8080, "")
	beside   = flag.Int("beside_port", 0, "the port of what is queried")
	pool     = flag.Int("pool", 64, "connections for queries")
	work     = flag.String("work", "wait:0", "steps")
	folder   = flag.String("folder", os.TempDir(), "for files")
	live     = flag.Int("live", 0, "MiB of small objects that stay")
	gogc     = flag.Int("gogc", 100, "GOGC")
	procs    = flag.Int("procs", 0, "GOMAXPROCS; 0 is all cores")
	nofile   = flag.Uint64("nofile", 8192, "the limit of descriptors")
	conns    = flag.Int("conns", 0, "connections that are accepted at a time; 0 is no limit")
	burn     = flag.Bool("burn", false, "a goroutine that uses a core, for nothing")
	logger   = flag.Bool("logger", false, "a goroutine that writes to the disk all the time")
	lock     sync.Mutex
	client   *http.Client
	kept     *node
	sink     sync.Map
	toolLock sync.Mutex
	partners []*partner
)

type node struct {
	next *node
	fill [6]*node
}

type step struct {
	what string
	n    float64
}

// compute uses CPU time. A goroutine has no clock of it: of a piece that took long, because it was interrupted,
// only 100 microseconds count.
func compute(ms float64) uint32 {
	x, left := uint32(1), time.Duration(ms*1e6)
	for left > 0 {
		began := time.Now()
		for i := 0; i < 8000; i++ {
			x = x*1103515245 + 12345
		}
		left -= min(time.Since(began), 100*time.Microsecond)
	}
	return x
}

func wait(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

func query(ms float64) {
	answer, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/wait?ms=%g", *beside, ms))
	if err != nil {
		log.Print(err)
		return
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// write makes a new file each time: what is overwritten may be written to the disk once for many.
func write(kib int, sync bool) {
	file, err := os.CreateTemp(*folder, "written")
	if err != nil {
		log.Print(err)
		return
	}
	file.Write(make([]byte, kib<<10))
	if sync {
		file.Sync()
	}
	os.Remove(file.Name())
	file.Close()
}

func alloc(kib int) {
	var list *node
	for i := 0; i < kib*1024/56; i++ {
		list = &node{next: list}
	}
	sink.Store(0, list)
}

// A partner answers each byte of one pipe in another, on a kernel thread of its own.
type partner struct{ fds [4]int }

func (p *partner) run() {
	runtime.LockOSThread()
	for b := make([]byte, 1); ; {
		if n, _ := syscall.Read(p.fds[0], b); n != 1 {
			return
		}
		syscall.Write(p.fds[3], b)
	}
}

func takePartner() *partner {
	toolLock.Lock()
	defer toolLock.Unlock()
	if len(partners) > 0 {
		p := partners[len(partners)-1]
		partners = partners[:len(partners)-1]
		return p
	}
	p := &partner{}
	syscall.Pipe(p.fds[:2])
	syscall.Pipe(p.fds[2:])
	go p.run()
	return p
}

func handOver(times int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p, b := takePartner(), make([]byte, 1)
	for i := 0; i < times; i++ {
		syscall.Write(p.fds[1], b)
		syscall.Read(p.fds[2], b)
	}
	toolLock.Lock()
	partners = append(partners, p)
	toolLock.Unlock()
}

func passOn(times int) {
	there, back := make(chan int), make(chan int)
	go func() {
		for n := range there {
			back <- n
		}
	}()
	for i := 0; i < times; i++ {
		there <- i
		<-back
	}
	close(there)
}

func (s step) do() {
	if strings.HasPrefix(s.what, "lock") {
		lock.Lock()
		defer lock.Unlock()
	}
	switch s.what {
	case "wait", "lockwait":
		wait(s.n)
	case "compute", "lock":
		compute(s.n)
	case "query":
		query(s.n)
	case "fsync", "write":
		write(int(s.n), s.what == "fsync")
	case "alloc":
		alloc(int(s.n))
	case "switch":
		handOver(int(s.n))
	case "chan":
		passOn(int(s.n))
	default:
		log.Fatal("no such step: ", s.what)
	}
}

func parsed(text string) (steps []step) {
	for _, part := range strings.Split(text, "+") {
		what, n, _ := strings.Cut(part, ":")
		value, err := strconv.ParseFloat(n, 64)
		if err != nil {
			log.Fatal(err)
		}
		steps = append(steps, step{what, value})
	}
	return steps
}

// limited accepts while fewer than its size are open.
type limited struct {
	net.Listener
	free chan struct{}
}

type counted struct {
	net.Conn
	free chan struct{}
	once *sync.Once
}

func (l limited) Accept() (net.Conn, error) {
	l.free <- struct{}{}
	conn, err := l.Listener.Accept()
	return counted{conn, l.free, new(sync.Once)}, err
}

func (c counted) Close() error {
	c.once.Do(func() { <-c.free })
	return c.Conn.Close()
}

func main() {
	flag.Parse()
	debug.SetGCPercent(*gogc)
	runtime.GOMAXPROCS(*procs)
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: *nofile, Max: *nofile})
	client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: *pool, MaxIdleConnsPerHost: *pool}}
	for i := 0; i < *live<<20/56; i++ {
		kept = &node{next: kept}
	}
	if *burn {
		go func() {
			for {
				compute(1000)
			}
		}()
	}
	if *logger {
		go func() {
			for {
				write(64, true)
			}
		}()
	}
	steps := parsed(*work)
	handle := func(path string, steps func(ms float64) []step) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			ms, _ := strconv.ParseFloat(r.FormValue("ms"), 64)
			for _, each := range steps(ms) {
				each.do()
			}
			io.WriteString(w, "done")
		})
	}
	handle("/", func(float64) []step { return nil })
	handle("/wait", func(ms float64) []step { return []step{{"wait", ms}} })
	handle("/compute", func(ms float64) []step { return []step{{"compute", ms}} })
	handle("/work", func(float64) []step { return steps })
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		log.Fatal(err)
	}
	if *conns > 0 {
		listener = limited{listener, make(chan struct{}, *conns)}
	}
	log.SetOutput(io.Discard) // it would tell of each connection that could not be accepted
	log.Fatal(http.Serve(listener, nil))
}
