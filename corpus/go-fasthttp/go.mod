module crumple/corpus/fasthttp

go 1.21

require github.com/valyala/fasthttp v1.58.0
