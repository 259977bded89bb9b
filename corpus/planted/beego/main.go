// Beego, with causes to plant: server PORT WORK FOLDER. GET /work does WORK: wait:MS, page:ROWS (renders a template of
// so many rows, in the run mode `dev`, in which Beego reads all templates again for each page), feed:KIB (makes that much garbage beside
// as much live memory as there may be).
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/beego/beego/v2/core/logs"
	"github.com/beego/beego/v2/server/web"
	"github.com/beego/beego/v2/server/web/context"
)

const mib = 1 << 20

type article struct {
	ID    int
	Title string
}

var (
	what     string
	n        float64
	articles []*article
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

type pages struct{ web.Controller }

// Get renders the page of articles.
func (p *pages) Get() {
	rows := make([]article, int(n))
	for i := range rows {
		rows[i] = article{ID: i, Title: "article " + strconv.Itoa(i)}
	}
	p.Data["Articles"] = rows
	p.TplName = "articles.tpl"
}

// views writes the templates of a shop that has grown for some years: a page, and files of parts that other pages use.
func views(folder string) string {
	made := filepath.Join(folder, "views")
	if err := os.MkdirAll(made, 0o755); err != nil {
		log.Fatal(err)
	}
	page := "<ul>{{range .Articles}}<li>{{.ID}} {{.Title}}</li>{{end}}</ul>"
	for file := range 12 {
		parts := ""
		for i := range 40 {
			parts += fmt.Sprintf("{{define \"part%d-%d\"}}{{if .User}}<p>{{.User.Name}}{{range .Orders}} <b>{{.Number}}</b>{{else}} none{{end}}</p>{{end}}{{end}}\n", file, i)
		}
		page += fmt.Sprintf("{{template \"parts%d.tpl\" .}}", file)
		write(filepath.Join(made, fmt.Sprintf("parts%d.tpl", file)), parts)
	}
	write(filepath.Join(made, "articles.tpl"), page)
	return made
}

func write(name, text string) {
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

// remember keeps 88 MiB of articles, of 100 that the runtime is to stay below.
func remember() {
	debug.SetMemoryLimit(100 * mib)
	for i := range 88 * mib / 56 {
		articles = append(articles, &article{i, strconv.Itoa(i)})
	}
}

func work(c *context.Context) {
	switch what {
	case "wait":
		sleep(n)
	case "feed":
		for range int(n) {
			garbage = make([]byte, 1024)
		}
	}
	c.WriteString("done")
}

var garbage []byte

func main() {
	text := ""
	what, text, _ = strings.Cut(os.Args[2], ":")
	n, _ = strconv.ParseFloat(text, 64)

	web.BConfig.RunMode = web.PROD
	web.BConfig.CopyRequestBody = false
	web.BConfig.Log.AccessLogs = false
	logs.SetLevel(logs.LevelError)
	switch what {
	case "page":
		web.BConfig.RunMode = web.DEV
		web.SetViewsPath(views(os.Args[3]))
		debug.SetGCPercent(1600) // the parsed templates are garbage, and collecting it is not to be the limit
		web.Router("/work", &pages{})
	case "feed":
		remember()
	}
	if what != "page" {
		web.Get("/work", work)
	}
	web.Get("/", func(c *context.Context) { c.WriteString("hello") })
	web.Get("/wait", func(c *context.Context) {
		ms, _ := strconv.ParseFloat(c.Input.Query("ms"), 64)
		sleep(ms)
		c.WriteString("waited")
	})
	web.Get("/compute", func(c *context.Context) {
		ms, _ := strconv.ParseFloat(c.Input.Query("ms"), 64)
		c.WriteString(compute(ms))
	})
	web.Run("127.0.0.1:" + os.Args[1])
}
