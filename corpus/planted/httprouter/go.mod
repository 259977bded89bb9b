module crumple/corpus/httprouter

go 1.24

require (
	github.com/julienschmidt/httprouter v1.3.0
	go.etcd.io/bbolt v1.4.3
)

require golang.org/x/sys v0.29.0 // indirect
