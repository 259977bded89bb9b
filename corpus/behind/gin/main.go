// Gin, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, load:MS (looks into a cache, which is locked
// while it asks the server at BESIDE_PORT for what it lacks), login:COST (hashes a password by bcrypt), banned:MS (each connection
// is looked up in a list, which takes so long, before the next is accepted).
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/crypto/bcrypt"
)

// compute uses CPU time. A goroutine has no clock of it: of a piece that took long, because it was interrupted,
// only 100 microseconds count.
func compute(ms float64) string {
	x, left := uint32(1), time.Duration(ms*1e6)
	for left > 0 {
		began := time.Now()
		for i := 0; i < 8000; i++ {
			x = x*1103515245 + 12345
		}
		left -= min(time.Since(began), 100*time.Microsecond)
	}
	return strconv.Itoa(int(x))
}

func milliseconds(c *gin.Context) float64 {
	ms, _ := strconv.ParseFloat(c.Query("ms"), 64)
	return ms
}

func sleep(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

// cache keeps what was fetched. Its lock is held while it fetches, so that nothing is fetched twice.
type cache struct {
	lock    sync.Mutex
	known   map[int64]string
	address string
}

func (c *cache) get(key int64) (string, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if value, ok := c.known[key]; ok {
		return value, nil
	}
	answer, err := http.Get(c.address)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	c.known[key] = string(text)
	delete(c.known, key-1000)
	return string(text), err
}

// looking is a listener that looks each connection up in a list of those that are banned.
type looking struct {
	net.Listener
	ms float64
}

func (l looking) Accept() (net.Conn, error) {
	stream, err := l.Listener.Accept()
	sleep(l.ms)
	return stream, err
}

// listen makes a listening socket whose queue is as long as it is told; Go's own has as many as the kernel allows.
func listen(port string, backlog int) (net.Listener, error) {
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, err
	}
	if err := syscall.Listen(socket, backlog); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(socket), "listening")
	defer file.Close()
	return net.FileListener(file)
}

func main() {
	port, address := os.Args[1], "http://127.0.0.1:"+os.Args[2]
	what, text, _ := strings.Cut(os.Args[3], ":")
	n, _ := strconv.ParseFloat(text, 64)
	prices := cache{known: map[int64]string{}, address: address + "/wait?ms=" + text}
	var asked atomic.Int64

	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/", func(c *gin.Context) { c.String(http.StatusOK, "hello") })
	router.GET("/wait", func(c *gin.Context) {
		sleep(milliseconds(c))
		c.String(http.StatusOK, "waited")
	})
	router.GET("/compute", func(c *gin.Context) { c.String(http.StatusOK, compute(milliseconds(c))) })
	router.GET("/work", func(c *gin.Context) {
		var err error
		switch what {
		case "wait":
			sleep(n)
		case "load":
			_, err = prices.get(asked.Add(1))
		case "login":
			_, err = bcrypt.GenerateFromPassword([]byte("correct horse"), int(n))
		case "banned":
			c.Header("Connection", "close")
			sleep(20)
		}
		if err != nil {
			c.String(http.StatusInternalServerError, err.Error())
			return
		}
		c.String(http.StatusOK, "done")
	})

	backlog := 4096
	if what == "banned" {
		backlog = 4
	}
	listener, err := listen(port, backlog)
	if err != nil {
		log.Fatal(err)
	}
	if what == "banned" {
		listener = looking{listener, n}
	}
	log.Fatal(http.Serve(listener, router))
}
