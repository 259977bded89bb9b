// Hertz, with causes to plant: server PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, limited:MS and ask:MS (asks the server at
// BESIDE_PORT, with six connections or as many as it takes), catalogue:COUNT (makes so many lines, beside a catalogue that is kept),
// feed:COUNT (encodes so many articles).
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/app/client"
	"github.com/cloudwego/hertz/pkg/app/server"
	"github.com/cloudwego/hertz/pkg/common/hlog"
)

type article struct {
	ID    int      `json:"id"`
	Title string   `json:"title"`
	Tags  []string `json:"tags"`
	Price float64  `json:"price"`
}

type line struct {
	name  string
	next  *line
	count [4]int
}

const kept = 900_000

// catalogue is kept as long as the server runs.
var catalogue []*line

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

func sleep(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

func milliseconds(c *app.RequestContext) float64 {
	ms, _ := strconv.ParseFloat(c.Query("ms"), 64)
	return ms
}

func lines(count int) *line {
	var last *line
	for i := range count {
		last = &line{name: "article " + strconv.Itoa(i), next: last}
	}
	return last
}

func articles(count int) []article {
	var all []article
	for i := range count {
		all = append(all, article{i, "Title of " + strconv.Itoa(i), []string{"new", "blue"}, float64(i) / 7})
	}
	return all
}

func main() {
	port, address := os.Args[1], "http://127.0.0.1:"+os.Args[2]
	what, text, _ := strings.Cut(os.Args[3], ":")
	n, _ := strconv.ParseFloat(text, 64)
	connections := 4096
	if what == "limited" {
		connections = 6
	}
	upstream, err := client.NewClient(
		client.WithMaxConnsPerHost(connections), client.WithMaxConnWaitTimeout(time.Minute), client.WithDialTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if what == "catalogue" {
		for range kept / 100 {
			catalogue = append(catalogue, lines(100))
		}
	}
	shown := articles(int(n))

	hlog.SetLevel(hlog.LevelFatal)
	h := server.New(server.WithHostPorts("127.0.0.1:"+port), server.WithDisablePrintRoute(true), server.WithExitWaitTime(0))
	h.GET("/", func(_ context.Context, c *app.RequestContext) { c.String(200, "hello") })
	h.GET("/wait", func(_ context.Context, c *app.RequestContext) {
		sleep(milliseconds(c))
		c.String(200, "waited")
	})
	h.GET("/compute", func(_ context.Context, c *app.RequestContext) { c.String(200, compute(milliseconds(c))) })
	h.GET("/work", func(ctx context.Context, c *app.RequestContext) {
		switch what {
		case "wait":
			sleep(n)
		case "limited", "ask":
			if _, _, err := upstream.Get(ctx, nil, address+"/wait?ms="+text); err != nil {
				c.String(502, err.Error())
				return
			}
		case "catalogue":
			c.String(200, lines(int(n)).name+catalogue[len(catalogue)/2].name)
			return
		case "feed":
			encoded, _ := json.Marshal(shown)
			c.Data(200, "application/json", encoded)
			return
		}
		c.String(200, "done")
	})
	h.Spin()
}
