// chi, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: select:MS (by database/sql, with at most eight
// connections), spool:MS (keeps what it fetches from the server at BESIDE_PORT in temporary files for so long), archive:KIB
// (compresses so much), limited:MS (waits, with chi's limit of requests at a time).
package main

import (
	"bytes"
	"compress/flate"
	"database/sql"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
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

func milliseconds(request *http.Request) float64 {
	ms, _ := strconv.ParseFloat(request.URL.Query().Get("ms"), 64)
	return ms
}

func sleep(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

// spool fetches a page, and works for some time on two temporary files that it made of it.
func spool(address string, ms float64) error {
	answer, err := http.Get(address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	for _, name := range []string{"page", "index"} {
		file, err := os.CreateTemp("", name)
		if err != nil {
			return err
		}
		defer file.Close()
		defer os.Remove(file.Name())
		if _, err := io.Copy(file, answer.Body); err != nil {
			return err
		}
	}
	sleep(ms)
	return nil
}

func archive(text []byte) int {
	var packed bytes.Buffer
	writer, _ := flate.NewWriter(&packed, flate.BestCompression)
	_, _ = writer.Write(text)
	_ = writer.Close()
	return packed.Len()
}

// lines is what is archived: lines of a log, no two of them alike.
func lines(kib int) []byte {
	var text bytes.Buffer
	for x := uint32(1); text.Len() < kib<<10; x = x*1103515245 + 12345 {
		text.WriteString("GET /articles/" + strconv.Itoa(int(x>>12)) + " 200 " + strconv.Itoa(int(x>>20)) + "\n")
	}
	return text.Bytes()
}

func main() {
	port, address := os.Args[1], "127.0.0.1:"+os.Args[2]
	what, text, _ := strings.Cut(os.Args[3], ":")
	n, _ := strconv.ParseFloat(text, 64)

	database := sql.OpenDB(connector{address})
	database.SetMaxOpenConns(8)
	database.SetMaxIdleConns(8)
	logged := lines(int(n))

	router := chi.NewRouter()
	router.Get("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	router.Get("/wait", func(w http.ResponseWriter, r *http.Request) {
		sleep(milliseconds(r))
		_, _ = io.WriteString(w, "waited")
	})
	router.Get("/compute", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, compute(milliseconds(r))) })

	work := router.With()
	if what == "limited" {
		work = router.With(middleware.ThrottleBacklog(12, 10_000, time.Minute))
	}
	work.Get("/work", func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch what {
		case "select":
			var answer string
			err = database.QueryRowContext(r.Context(), text).Scan(&answer)
		case "spool":
			err = spool("http://"+address+"/wait?ms=5", n)
		case "archive":
			archive(logged)
		case "limited":
			sleep(n)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "done")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, router))
}
