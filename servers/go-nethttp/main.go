// Command server answers the workloads on Go's net/http and its ServeMux.
// It is what a small service without a framework looks like; it logs no request and measures nothing.
package main

import (
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	port := flag.Int("port", 0, "TCP port on 127.0.0.1")
	keepAlive := flag.Int("keep-alive", 120, "seconds an idle connection is kept; 0 closes it after its answer")
	pool := flag.Int("pool", 10, "connections to the database, at most")
	flag.Parse()

	db := openDatabase(*pool)

	mux := http.NewServeMux()
	mux.HandleFunc("/hello", get(hello))
	mux.HandleFunc("/todos", get(listTodos))
	mux.HandleFunc("/hash", get(answer("text/plain", hash(os.Getenv("HASH_FILE")))))
	mux.HandleFunc("/file", get(answer("text/plain", writtenAndRead(os.Getenv("FILES_FOLDER")))))
	mux.HandleFunc("/options", get(answer("application/json", listOptions(db))))
	mux.HandleFunc("/rows", get(answer("application/json", listBooks(db))))
	mux.HandleFunc("/primes", get(answer("application/json", primes)))
	mux.HandleFunc("/mix", get(answer("text/plain", mix)))

	server := &http.Server{
		Addr:    net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)),
		Handler: mux,
		// net/http waits for ever by default, so a silent client would keep its goroutine and descriptor.
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Duration(*keepAlive) * time.Second,
	}
	server.SetKeepAlivesEnabled(*keepAlive > 0)
	log.Fatal(server.ListenAndServe())
}

func hello(w http.ResponseWriter, r *http.Request) {
	delayMs, err := wholeNumber(r.URL.Query(), "delay_ms", 0, 60_000, 0)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	time.Sleep(time.Duration(delayMs) * time.Millisecond)
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
