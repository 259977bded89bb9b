module crumple/servers/go-nethttp

go 1.19
