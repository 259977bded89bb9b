module crumple/corpus/mux

go 1.22

require (
	github.com/go-sql-driver/mysql v1.9.3
	github.com/gorilla/mux v1.8.1
)

require filippo.io/edwards25519 v1.1.0 // indirect
