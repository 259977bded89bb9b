// Beego, with causes to plant: server PORT BESIDE_PORT WORK FOLDER. GET /work does WORK: wait:MS, page:ROWS (renders a template of
// so many rows, in the run mode `dev`, in which Beego reads all templates again for each page), feed:KIB (makes that much garbage beside
// as much live memory as there may be), stock:MS (a query that takes so long, by database/sql with a pool of connections).
package main

import (
	"database/sql"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/beego/beego/v2/core/logs"
	"github.com/beego/beego/v2/server/web"
	"github.com/beego/beego/v2/server/web/context"
	_ "github.com/go-sql-driver/mysql"
)

const mib = 1 << 20

type article struct {
	ID    int
	Title string
	next  *article
}

var (
	what     string
	n        float64
	database *sql.DB
	articles *article
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

// views writes the templates of a shop that has grown for some years.
func views(folder string) string {
	made := filepath.Join(folder, "views")
	if err := os.MkdirAll(made, 0o755); err != nil {
		log.Fatal(err)
	}
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, "{{if .User}}<p class=%q>{{.User.Name}} {{range .Orders}}<b>{{.Number}}</b>{{else}}none{{end}}</p>{{end}}\n", "p"+strconv.Itoa(i))
	}
	files := map[string]string{"articles.tpl": "<ul>{{range .Articles}}<li>{{.ID}} {{.Title}}</li>{{end}}</ul>"}
	for i := range 12 {
		files[fmt.Sprintf("part%d.tpl", i)] = long.String()
		files["articles.tpl"] += fmt.Sprintf("{{if .Never}}{{template \"part%d.tpl\" .}}{{end}}", i)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(made, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	return made
}

// open connects to the database whose port the server at PORT answers.
func open(port string) *sql.DB {
	answer, err := http.Get("http://127.0.0.1:" + port + "/")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	opened, err := sql.Open("mysql", "shop@tcp(127.0.0.1:"+string(text)+")/shop")
	if err != nil {
		log.Fatal(err)
	}
	opened.SetMaxOpenConns(6)
	opened.SetMaxIdleConns(6)
	return opened
}

// remember fills 96 MiB, of 100 that the runtime is to stay below.
func remember() {
	debug.SetMemoryLimit(100 * mib)
	for i := range 96 * mib / 64 {
		articles = &article{i, strconv.Itoa(i), articles}
	}
}

func work(c *context.Context) {
	var err error
	switch what {
	case "wait":
		sleep(n)
	case "feed":
		for range int(n) {
			garbage = make([]byte, 1024)
		}
	case "stock":
		var slept int
		err = database.QueryRow("SELECT SLEEP(?)", n/1000).Scan(&slept)
	}
	if err != nil {
		c.Output.SetStatus(http.StatusInternalServerError)
	}
	c.WriteString("done")
}

var garbage []byte

func main() {
	text := ""
	what, text, _ = strings.Cut(os.Args[3], ":")
	n, _ = strconv.ParseFloat(text, 64)

	web.BConfig.RunMode = web.PROD
	web.BConfig.CopyRequestBody = false
	web.BConfig.Log.AccessLogs = false
	logs.SetLevel(logs.LevelError)
	switch what {
	case "page":
		web.BConfig.RunMode = web.DEV
		web.SetViewsPath(views(os.Args[4]))
		web.Router("/work", &pages{})
	case "stock":
		database = open(os.Args[2])
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
