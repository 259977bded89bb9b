package main

import (
	"runtime"
	"time"
)

const (
	pieceRounds = 250_000
	calibration = 200 * time.Millisecond
)

// A spinner does CPU work of a given length: a plain arithmetic loop whose rounds per microsecond are known.
type spinner struct{ roundsPerUs float64 }

// calibrate takes the best of many short pieces: whatever else the machine does can only make one slower.
func calibrate() spinner {
	var best float64
	for until := time.Now().Add(calibration); time.Now().Before(until); {
		began := time.Now()
		turn(pieceRounds)
		elapsedUs := float64(time.Since(began).Nanoseconds()) / 1_000
		if rate := pieceRounds / elapsedUs; rate > best {
			best = rate
		}
	}
	return spinner{best}
}

func (s spinner) spin(us int) {
	turn(int64(float64(us) * s.roundsPerUs))
}

func turn(rounds int64) {
	x := uint32(1)
	for round := int64(0); round < rounds; round++ {
		x = x*1_664_525 + 1_013_904_223
	}
	// Used, so that no compiler may leave the loop out.
	runtime.KeepAlive(x)
}
