package main

import (
	"bytes"
	"net/http"
	"time"
)

const alphabet = "abcdefghijklmnopqrstuvwxyz"

// mix is a wait, then CPU work, then letters.
func mix(r *http.Request) ([]byte, error) {
	query := r.URL.Query()
	waitMs, err := wholeNumber(query, "wait_ms", 0, 60_000, 0)
	if err != nil {
		return nil, err
	}
	spinUs, err := wholeNumber(query, "spin_us", 0, 10_000_000, 0)
	if err != nil {
		return nil, err
	}
	size, err := wholeNumber(query, "bytes", 0, 10_000_000, 13)
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(waitMs) * time.Millisecond)
	spin(spinUs)
	return bytes.Repeat([]byte(alphabet), size/len(alphabet)+1)[:size], nil
}
