package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
)

type option struct {
	ID       uint64 `json:"option_id"`
	Name     string `json:"option_name"`
	Value    string `json:"option_value"`
	Autoload string `json:"autoload"`
}

type book struct {
	ID     int    `json:"id"`
	Title  string `json:"title"`
	Author string `json:"author"`
	Year   int    `json:"year"`
	Pages  int    `json:"pages"`
}

// openDatabase is a pool that connects when it is first asked, with the three limits the driver's documentation
// recommends.
func openDatabase(connections int) *sql.DB {
	config := mysql.NewConfig()
	config.Net = "tcp"
	config.Addr = net.JoinHostPort(os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	config.User = os.Getenv("DB_USER")
	config.Passwd = os.Getenv("DB_PASSWORD")
	config.DBName = os.Getenv("DB_NAME")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxLifetime(3 * time.Minute)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

func listOptions(db *sql.DB) job {
	const query = "SELECT option_id, option_name, option_value, autoload FROM wp_options ORDER BY option_id LIMIT 50"
	return func(r *http.Request) ([]byte, error) {
		return list(r.Context(), db, query, func(o *option) []any {
			return []any{&o.ID, &o.Name, &o.Value, &o.Autoload}
		})
	}
}

func listBooks(db *sql.DB) job {
	const query = "SELECT id, title, author, year, pages FROM books ORDER BY id LIMIT 10"
	return func(r *http.Request) ([]byte, error) {
		return list(r.Context(), db, query, func(b *book) []any {
			return []any{&b.ID, &b.Title, &b.Author, &b.Year, &b.Pages}
		})
	}
}

// list is what the query finds, as JSON; columns points at the fields of a row in the order of the query.
func list[Row any](ctx context.Context, db *sql.DB, query string, columns func(*Row) []any) ([]byte, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Row{}
	for rows.Next() {
		var row Row
		if err := rows.Scan(columns(&row)...); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(found)
}
