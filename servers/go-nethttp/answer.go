package main

import (
	"errors"
	"net/http"
	"strconv"
)

// A job makes the body of one answer.
type job func(r *http.Request) ([]byte, error)

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

// answer sends what the job makes, or says why it made nothing.
func answer(contentType string, do job) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := do(r)
		if errors.As(err, new(badParameter)) {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		// net/http finds the length out by itself up to 2 kB only, and sends chunks from there on.
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}
}
