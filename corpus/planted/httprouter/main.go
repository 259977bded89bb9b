// httprouter and bbolt, with causes to plant: server PORT WORK FILE.
// GET /work does WORK: wait:MS, order:KIB (enters an order of so many KiB into the database FILE), agent:MS (waits, while an agent, a
// process of its own, is told each of many figures and says that it has it).
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"
	bolt "go.etcd.io/bbolt"
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

var orders = []byte("orders")

// enter puts an order in place of the one of as many orders ago, so that the file does not grow.
func enter(db *bolt.DB, order []byte) error {
	return db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(orders)
		if err != nil {
			return err
		}
		last, err := bucket.NextSequence()
		if err != nil {
			return err
		}
		return bucket.Put(binary.BigEndian.AppendUint64(nil, last%64), order)
	})
}

// tell tells the agent a figure, waits until it has it, and rests for a moment, again and again.
func tell() error {
	agent := exec.Command("cat")
	to, err := agent.StdinPipe()
	if err != nil {
		return err
	}
	from, err := agent.StdoutPipe()
	if err != nil {
		return err
	}
	if err := agent.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(from)
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(to, "requests.queue.depth:%d|g\n", i); err != nil {
			return err
		}
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func main() {
	what, text, _ := strings.Cut(os.Args[2], ":")
	n, _ := strconv.ParseFloat(text, 64)

	work := func() error { sleep(n); return nil }
	switch what {
	case "order":
		db, err := bolt.Open(os.Args[3], 0o600, nil)
		if err != nil {
			log.Fatal(err)
		}
		order := make([]byte, int(n)<<10)
		_, _ = rand.Read(order)
		work = func() error { return enter(db, order) }
	case "agent":
		go func() { log.Fatal(tell()) }()
	}

	router := httprouter.New()
	router.GET("/", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { _, _ = io.WriteString(w, "hello") })
	router.GET("/wait", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		ms, _ := strconv.ParseFloat(r.URL.Query().Get("ms"), 64)
		sleep(ms)
		_, _ = io.WriteString(w, "waited")
	})
	router.GET("/compute", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		ms, _ := strconv.ParseFloat(r.URL.Query().Get("ms"), 64)
		_, _ = io.WriteString(w, compute(ms))
	})
	router.GET("/work", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		if err := work(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "done")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], router))
}
