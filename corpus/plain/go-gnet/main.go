// gnet: event loops of its own, instead of a goroutine for each connection: server PORT LOOPS.
package main

import (
	"bytes"
	"fmt"
	"log"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/panjf2000/gnet/v2"
)

type server struct{ gnet.BuiltinEventEngine }

// compute uses CPU time. A loop's thread is not always the same: of a piece that took long, because it was interrupted,
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

func answer(status, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

// OnTraffic runs on the connection's loop. A client sends its next request when it has its answer.
func (*server) OnTraffic(connection gnet.Conn) gnet.Action {
	head, _ := connection.Peek(-1)
	if !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		return gnet.None
	}
	target, err := url.Parse(string(bytes.SplitN(head, []byte(" "), 3)[1]))
	_, _ = connection.Discard(-1)
	if err != nil {
		return gnet.Close
	}
	ms, _ := strconv.ParseFloat(target.Query().Get("ms"), 64)
	switch target.Path {
	case "/":
		_, _ = connection.Write(answer("200 OK", "hello"))
	case "/wait":
		time.AfterFunc(time.Duration(ms*1e6), func() { _ = connection.AsyncWrite(answer("200 OK", "waited"), nil) })
	case "/compute":
		_, _ = connection.Write(answer("200 OK", compute(ms)))
	default:
		_, _ = connection.Write(answer("404 Not Found", ""))
	}
	return gnet.None
}

func main() {
	loops, _ := strconv.Atoi(os.Args[2])
	log.Fatal(gnet.Run(&server{}, "tcp://127.0.0.1:"+os.Args[1], gnet.WithNumEventLoop(loops), gnet.WithReuseAddr(true)))
}
