package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
)

// hash is the SHA-256 of the file, then as often as asked that of the file and the digest before.
func hash(path string) job {
	return func(r *http.Request) ([]byte, error) {
		rounds, err := wholeNumber(r.URL.Query(), "n", 1, 100_000, 1)
		if err != nil {
			return nil, err
		}
		file, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		digest := sha256.Sum256(file)
		for round := 1; round < rounds; round++ {
			again := sha256.New()
			again.Write(file)
			again.Write(digest[:])
			again.Sum(digest[:0])
		}
		return []byte(hex.EncodeToString(digest[:])), nil
	}
}
