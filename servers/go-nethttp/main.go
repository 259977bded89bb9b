// Command server answers the workloads hello and todos on Go's net/http and its ServeMux.
// It is what a small service without a framework looks like; it logs no request and measures nothing.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"
)

const maxDelayMs = 60_000

func main() {
	port := flag.Int("port", 0, "TCP port on 127.0.0.1")
	flag.Parse()

	mux := http.NewServeMux()
	mux.HandleFunc("/hello", get(hello))
	mux.HandleFunc("/todos", get(listTodos))

	server := &http.Server{
		Addr:    net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)),
		Handler: mux,
		// net/http waits for ever by default, so a silent client would keep its goroutine and descriptor.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	log.Fatal(server.ListenAndServe())
}

// get refuses every other method; patterns such as "GET /todos" need Go 1.22.
func get(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		handler(w, r)
	}
}

func hello(w http.ResponseWriter, r *http.Request) {
	if text := r.URL.Query().Get("delay_ms"); text != "" {
		delayMs, err := strconv.ParseUint(text, 10, 32)
		if err != nil || delayMs > maxDelayMs {
			http.Error(w, "delay_ms must be a whole number from 0 to 60000", http.StatusBadRequest)
			return
		}
		time.Sleep(time.Duration(delayMs) * time.Millisecond)
	}
	w.Header().Set("Content-Type", "text/plain")
	io.WriteString(w, "Hello, World!")
}

func listTodos(w http.ResponseWriter, r *http.Request) {
	body, err := json.Marshal(todos)
	if err != nil {
		http.Error(w, "the list could not be serialised", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}
