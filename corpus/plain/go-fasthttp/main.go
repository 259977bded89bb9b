// fasthttp: a pool of goroutines that grows with the connections. A goroutine waits by sleeping.
package main

import (
	"log"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// compute uses CPU time. A goroutine has no clock of it: of a piece that took long, because it was interrupted,
// only 100 microseconds count.
func compute(ms int) string {
	x, left := uint32(1), time.Duration(ms)*time.Millisecond
	for left > 0 {
		began := time.Now()
		for i := 0; i < 8000; i++ {
			x = x*1103515245 + 12345
		}
		left -= min(time.Since(began), 100*time.Microsecond)
	}
	return strconv.Itoa(int(x))
}

func answer(ctx *fasthttp.RequestCtx) {
	ms := ctx.QueryArgs().GetUintOrZero("ms")
	switch string(ctx.Path()) {
	case "/":
		ctx.WriteString("hello")
	case "/wait":
		time.Sleep(time.Duration(ms) * time.Millisecond)
		ctx.WriteString("waited")
	case "/compute":
		ctx.WriteString(compute(ms))
	default:
		ctx.SetStatusCode(404)
	}
}

func main() {
	server := fasthttp.Server{Handler: answer, NoDefaultServerHeader: true}
	log.Fatal(server.ListenAndServe("127.0.0.1:" + os.Args[1]))
}
