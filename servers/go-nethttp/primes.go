package main

import (
	"encoding/json"
	"net/http"
)

func primes(r *http.Request) ([]byte, error) {
	below, err := wholeNumber(r.URL.Query(), "below", 0, 10_000_000, 1_000_000)
	if err != nil {
		return nil, err
	}
	return json.Marshal(primesBelow(below))
}

// primesBelow is a sieve of Eratosthenes.
func primesBelow(bound int) []int {
	composite := make([]bool, bound)
	primes := []int{}
	for candidate := 2; candidate < bound; candidate++ {
		if composite[candidate] {
			continue
		}
		primes = append(primes, candidate)
		for multiple := candidate * candidate; multiple < bound; multiple += candidate {
			composite[multiple] = true
		}
	}
	return primes
}
