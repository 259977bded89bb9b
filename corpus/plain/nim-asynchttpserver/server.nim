# The standard library's asynchttpserver, one dispatcher in one thread: server PORT
import std/[asyncdispatch, asynchttpserver, nativesockets, os, strutils, times, uri]

proc compute(ms: float): string =
  let ends = cpuTime() + ms / 1000
  var x = 1'u32
  while cpuTime() < ends:
    for _ in 1 .. 10_000:
      x = x * 1103515245'u32 + 12345'u32
  $x

proc answer(request: Request) {.async.} =
  var ms = 0.0
  for name, value in decodeQuery(request.url.query):
    if name == "ms":
      ms = parseFloat(value)
  case request.url.path
  of "/":
    await request.respond(Http200, "hello")
  of "/wait":
    await sleepAsync(ms)
    await request.respond(Http200, "waited")
  of "/compute":
    await request.respond(Http200, compute(ms))
  else:
    await request.respond(Http404, "")

waitFor newAsyncHttpServer().serve(Port(parseInt(paramStr(1))), answer, "127.0.0.1")
