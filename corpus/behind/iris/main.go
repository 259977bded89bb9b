// Iris, with causes to plant: server PORT BESIDE_PORT WORK.
// GET /work does WORK: wait:MS, ask:MS (asks the service beside, which answers after so long, with a client of eight connections), list:ROWS
// (renders a list of so many rows with html/template).
package main

import (
	"fmt"
	"html/template"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kataras/iris/v12"
)

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

// Go's client has no limit as it comes; this one has, so that the service is not flooded.
var client = &http.Client{Transport: &http.Transport{MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second}}

func ask(url string) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

type row struct {
	Name  string
	Price int
}

var list = template.Must(template.New("list").Parse(
	`<table>{{range $i, $row := .}}<tr id="row{{$i}}"><td title="{{$row.Name}}">{{$row.Name}}</td><td>{{$row.Price}}</td></tr>{{end}}</table>`))

func rows(count int) []row {
	made := make([]row, count)
	for i := range made {
		made[i] = row{fmt.Sprintf("Bolts & nuts <M%d>", i), 7 * i}
	}
	return made
}

func main() {
	what, text, _ := strings.Cut(os.Args[3], ":")
	n, _ := strconv.ParseFloat(text, 64)
	all := rows(int(n))

	app := iris.New()
	app.Logger().SetLevel("error")
	app.Get("/", func(ctx iris.Context) { _, _ = ctx.WriteString("hello") })
	app.Get("/wait", func(ctx iris.Context) {
		sleep(ctx.URLParamFloat64Default("ms", 0))
		_, _ = ctx.WriteString("waited")
	})
	app.Get("/compute", func(ctx iris.Context) { _, _ = ctx.WriteString(compute(ctx.URLParamFloat64Default("ms", 0))) })
	app.Get("/work", func(ctx iris.Context) {
		var err error
		switch what {
		case "wait":
			sleep(n)
		case "ask":
			err = ask(fmt.Sprintf("http://127.0.0.1:%s/stock?ms=%s", os.Args[2], text))
		case "list":
			err = list.Execute(io.Discard, all)
		}
		if err != nil {
			ctx.StopWithError(iris.StatusInternalServerError, err)
			return
		}
		_, _ = ctx.WriteString("done")
	})
	log.Fatal(app.Listen("127.0.0.1:"+os.Args[1], iris.WithoutStartupLog, iris.WithoutBanner))
}
