// Fiber, with causes to plant: server PORT WORK SCRATCH. GET /work does WORK: wait:MS, form:MS (has a file open for so long),
// ledger:KIB (writes so much into one of the ledger's files, and waits for the disk), letters:MS (waits; beside the requests a
// goroutine compresses letters).
package main

import (
	"bytes"
	"compress/flate"
	"errors"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
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

func sleep(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

// ledger is a set of files, each of which is written by one request at a time; there are more of them than requests.
type ledger struct {
	free   chan *os.File
	record []byte
}

func newLedger(folder string, files, kib int) (*ledger, error) {
	made := &ledger{make(chan *os.File, files), bytes.Repeat([]byte("debit 100\n"), kib<<10/10)}
	for i := 0; i < files; i++ {
		file, err := os.OpenFile(filepath.Join(folder, "ledger-"+strconv.Itoa(i)), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		made.free <- file
	}
	return made, nil
}

func (l *ledger) write() error {
	file := <-l.free
	defer func() { l.free <- file }()
	if _, err := file.WriteAt(l.record, 0); err != nil {
		return err
	}
	return file.Sync()
}

// letters compresses for most of the time, whatever is asked.
func letters() {
	text := bytes.Repeat([]byte("Dear customer, "), 1<<14)
	for {
		began := time.Now()
		writer, _ := flate.NewWriter(&bytes.Buffer{}, flate.BestCompression)
		_, _ = writer.Write(text)
		_ = writer.Close()
		time.Sleep(time.Since(began) / 4)
	}
}

func form(ms float64) error {
	file, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	sleep(ms)
	return nil
}

// patient is a listener that tries again where no descriptor is left, as net/http does; Fiber would end.
type patient struct{ net.Listener }

func (l patient) Accept() (net.Conn, error) {
	for {
		stream, err := l.Listener.Accept()
		if !errors.Is(err, syscall.EMFILE) {
			return stream, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func main() {
	what, text, _ := strings.Cut(os.Args[2], ":")
	n, _ := strconv.ParseFloat(text, 64)
	var books *ledger
	var err error
	switch what {
	case "ledger":
		books, err = newLedger(os.Args[3], 600, int(n))
	case "letters":
		go letters()
	}
	if err != nil {
		log.Fatal(err)
	}

	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("hello") })
	app.Get("/wait", func(c *fiber.Ctx) error {
		sleep(c.QueryFloat("ms"))
		return c.SendString("waited")
	})
	app.Get("/compute", func(c *fiber.Ctx) error { return c.SendString(compute(c.QueryFloat("ms"))) })
	app.Get("/work", func(c *fiber.Ctx) error {
		var err error
		switch what {
		case "wait", "letters":
			sleep(n)
		case "form":
			err = form(n)
		case "ledger":
			err = books.write()
		}
		if err != nil {
			return err
		}
		return c.SendString("done")
	})
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(app.Listener(patient{listener}))
}
