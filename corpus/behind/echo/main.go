// Echo, with causes to plant: server PORT BESIDE_PORT WORK LIVE_MIB. GET /work does WORK: query:MS (asks the server at
// BESIDE_PORT to wait), parse:KIB (makes so much of small objects, and drops them), wait:MS. LIVE_MIB of small objects stay.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

type node struct {
	next *node
	text [5]*node
}

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

func objects(kib int) *node {
	var list *node
	for i := 0; i < kib*1024/48; i++ {
		list = &node{next: list}
	}
	return list
}

// query goes by the default client, which keeps two idle connections to a host and opens as many as are asked for.
func query(address string) error {
	answer, err := http.Get(address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

func main() {
	port, beside, work := os.Args[1], os.Args[2], os.Args[3]
	live, _ := strconv.Atoi(os.Args[4])
	kept := objects(live << 10)
	what, text, _ := strings.Cut(work, ":")
	n, _ := strconv.ParseFloat(text, 64)

	server := echo.New()
	server.HideBanner, server.HidePort = true, true
	ms := func(context echo.Context) float64 {
		given, _ := strconv.ParseFloat(context.QueryParam("ms"), 64)
		return given
	}
	server.GET("/", func(context echo.Context) error { return context.String(200, "hello") })
	server.GET("/wait", func(context echo.Context) error {
		time.Sleep(time.Duration(ms(context) * 1e6))
		return context.String(200, "waited")
	})
	server.GET("/compute", func(context echo.Context) error { return context.String(200, compute(ms(context))) })
	server.GET("/work", func(context echo.Context) error {
		switch what {
		case "query":
			if err := query("http://127.0.0.1:" + beside + "/wait?ms=" + text); err != nil {
				return err
			}
		case "parse":
			runtime.KeepAlive(objects(int(n)))
		case "wait":
			time.Sleep(time.Duration(n * 1e6))
		}
		return context.String(200, "done")
	})
	log.Print(server.Start("127.0.0.1:" + port))
	runtime.KeepAlive(kept)
}
