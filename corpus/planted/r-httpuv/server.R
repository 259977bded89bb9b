# R, httpuv with later and promises: Rscript server.R PORT WORK. GET /work does WORK: wait:MS, fit:ROWS (fits a linear model to so many).
suppressPackageStartupMessages({
  library(httpuv)
  library(later)
  library(promises)
})
arguments <- commandArgs(trailingOnly = TRUE)
port <- as.integer(arguments[1])
work <- strsplit(arguments[2], ":")[[1]]
number <- as.numeric(work[2])

used <- function() sum(proc.time()[c("user.self", "sys.self")])

compute <- function(ms) {
  ends <- used() + ms / 1000
  x <- 1
  while (used() < ends) for (i in 1:2000) x <- (x * 1103 + 12345) %% 2147483647
  as.character(x)
}

answer <- function(body) {
  list(status = 200L, headers = list("Content-Type" = "text/plain"), body = body)
}

after <- function(ms, body) {
  promise(function(resolve, reject) later(function() resolve(answer(body)), ms / 1000))
}

rows <- if (work[1] == "fit") data.frame(y = sin(1:number), a = cos(1:number), b = (1:number) %% 7) else NULL

app <- list(call = function(request) {
  found <- regmatches(request$QUERY_STRING, regexpr("[0-9]+", request$QUERY_STRING))
  ms <- if (length(found)) as.numeric(found) else 0
  switch(request$PATH_INFO,
    "/" = answer("hello"),
    "/wait" = after(ms, "waited"),
    "/compute" = answer(compute(ms)),
    "/work" = if (is.null(rows)) after(number, "done") else {
      lm(y ~ a + b, rows)
      answer("done")
    },
    list(status = 404L, headers = list(), body = "")
  )
})
invisible(startServer("127.0.0.1", port, app, quiet = TRUE))
repeat service(1000)
