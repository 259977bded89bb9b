// gorilla/mux and database/sql with MariaDB, with causes to plant: server PORT BESIDE_PORT CONNECTIONS WORK. CONNECTIONS: how many the
// pool may open. GET /work does WORK: wait:MS, items:MS (asks for each order's items while the orders are read), number:MS (works with a lock
// of the database), search:COUNT (in a table of so many rows that has no index), beside:MS (a query that waits, while a report is made).
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/gorilla/mux"
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

func milliseconds(request *http.Request) float64 {
	ms, _ := strconv.ParseFloat(request.URL.Query().Get("ms"), 64)
	return ms
}

func sleep(ms float64) { time.Sleep(time.Duration(ms * 1e6)) }

// open opens the database of which the server beside tells the port, when it has started.
func open(beside string, connections int) (*sql.DB, error) {
	answer, err := http.Get("http://127.0.0.1:" + beside + "/")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	port, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	_ = mysql.SetLogger(log.New(io.Discard, "", 0))
	db, err := sql.Open("mysql", fmt.Sprintf("shop@tcp(127.0.0.1:%s)/shop?interpolateParams=true", port))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// items reads the orders, and for each of them, while it has not read the next, its items; four of five customers have no orders.
func items(ctx context.Context, db *sql.DB, customer int64, seconds float64) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if customer%5 != 0 {
		_, err := db.ExecContext(ctx, "DO SLEEP(?)", seconds)
		return err
	}
	orders, err := db.QueryContext(ctx, "SELECT id FROM counters")
	if err != nil {
		return err
	}
	defer orders.Close()
	for orders.Next() {
		var id, count int
		if err := orders.Scan(&id); err != nil {
			return err
		}
		if err := db.QueryRowContext(ctx, "SELECT SLEEP(?) + ?", seconds, id).Scan(&count); err != nil {
			return err
		}
	}
	return orders.Err()
}

// number gives an invoice its number; one at a time, so that none is missing.
func number(ctx context.Context, db *sql.DB, seconds float64) error {
	connection, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	for _, query := range []string{"SELECT GET_LOCK('invoice', 60)", fmt.Sprintf("SELECT SLEEP(%f)", seconds), "DO RELEASE_LOCK('invoice')"} {
		if _, err := connection.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

func search(ctx context.Context, db *sql.DB) error {
	var found int
	return db.QueryRowContext(ctx, "SELECT COUNT(*) FROM customers WHERE LOWER(name) LIKE ?", "%0f3%").Scan(&found)
}

func main() {
	port := os.Args[1]
	connections, _ := strconv.Atoi(os.Args[3])
	what, text, _ := strings.Cut(os.Args[4], ":")
	n, _ := strconv.ParseFloat(text, 64)

	var asked atomic.Int64
	var db *sql.DB
	var err error
	if what != "wait" {
		if db, err = open(os.Args[2], connections); err != nil {
			log.Fatal(err)
		}
	}
	switch what {
	case "search":
		for _, query := range []string{
			"CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(80) NOT NULL, since INT NOT NULL)",
			"INSERT INTO customers SELECT seq, CONCAT('Customer ', MD5(seq)), seq % 30 FROM seq_1_to_" + text,
		} {
			if _, err := db.Exec(query); err != nil {
				log.Fatal(err)
			}
		}
	case "beside":
		go func() {
			for {
				if _, err := db.Exec("DO BENCHMARK(500000, MD5('report'))"); err != nil {
					sleep(100)
				}
			}
		}()
	}

	router := mux.NewRouter()
	router.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	router.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		sleep(milliseconds(r))
		_, _ = io.WriteString(w, "waited")
	})
	router.HandleFunc("/compute", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, compute(milliseconds(r))) })
	router.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch what {
		case "wait":
			sleep(n)
		case "items":
			err = items(r.Context(), db, asked.Add(1), n/1000)
		case "number":
			err = number(r.Context(), db, n/1000)
		case "search":
			err = search(r.Context(), db)
		case "beside":
			_, err = db.ExecContext(r.Context(), "DO SLEEP(?)", n/1000)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, "done")
	}).Methods(http.MethodGet)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, router))
}
