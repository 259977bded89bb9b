package main

import (
	"runtime"
	"time"
)

const (
	// Between two looks at the clock: some 10 µs.
	pieceRounds = 10_000
	// A piece that takes longer was interrupted: its goroutine or its thread was away meanwhile.
	pieceAtMost = 100 * time.Microsecond
)

// spin does CPU work of a given length: a plain arithmetic loop. A goroutine has no clock of CPU time, for it has no
// thread of its own; so time is counted piece by piece, and of a piece that was interrupted no more than pieceAtMost.
func spin(us int) {
	left := time.Duration(us) * time.Microsecond
	for last := time.Now(); left > 0; {
		turn(pieceRounds)
		now := time.Now()
		took := now.Sub(last)
		if took > pieceAtMost {
			took = pieceAtMost
		}
		left -= took
		last = now
	}
}

func turn(rounds int) {
	x := uint32(1)
	for round := 0; round < rounds; round++ {
		x = x*1_664_525 + 1_013_904_223
	}
	// Used, so that no compiler may leave the loop out.
	runtime.KeepAlive(x)
}
