package main

import (
	"bufio"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// A driver of database/sql: what stands for the database answers "GET /wait?ms=N" after N milliseconds.
type connector struct{ address string }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	stream, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, err
	}
	return &conn{stream, bufio.NewReader(stream)}, nil
}

func (c connector) Driver() driver.Driver { return nil }

type conn struct {
	stream net.Conn
	answer *bufio.Reader
}

var errNot = errors.New("this database can only be asked")

func (c *conn) Prepare(string) (driver.Stmt, error) { return nil, errNot }
func (c *conn) Begin() (driver.Tx, error)           { return nil, errNot }
func (c *conn) Close() error                        { return c.stream.Close() }

func (c *conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if _, err := fmt.Fprintf(c.stream, "GET /wait?ms=%s HTTP/1.1\r\nHost: database\r\n\r\n", query); err != nil {
		return nil, driver.ErrBadConn
	}
	for {
		line, err := c.answer.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(line) == "" {
			break
		}
	}
	row := make([]byte, len("done"))
	_, err := io.ReadFull(c.answer, row)
	return &rows{string(row)}, err
}

type rows struct{ left string }

func (r *rows) Columns() []string { return []string{"answer"} }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(row []driver.Value) error {
	if r.left == "" {
		return io.EOF
	}
	row[0], r.left = r.left, ""
	return nil
}
