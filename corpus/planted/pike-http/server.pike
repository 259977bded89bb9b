// Pike's own HTTP server: pike server.pike PORT WORK. One thread, Pike's backend, runs all handlers. GET /work does WORK: wait:MS,
// render:ROWS (renders a page of so many rows).
array(string) work;
float number;
Protocols.HTTP.Server.Port port;

string compute(float ms) {
  int ends = gethrvtime() + (int)(ms * 1000), x = 1;
  while (gethrvtime() < ends)
    for (int i = 0; i < 500; i++) x = (x * 1103515245 + 12345) & 0x7fffffff;
  return (string)x;
}

void answer(Protocols.HTTP.Server.Request request, string body) {
  request->response_and_finish(([ "data": body, "type": "text/plain" ]));
}

void handle(Protocols.HTTP.Server.Request request) {
  catch { request->my_fd->set_nodelay(); };
  float ms = (float)(request->variables->ms || "0");
  switch (request->not_query) {
    case "/": answer(request, "hello"); break;
    case "/wait": call_out(answer, ms / 1000.0, request, "waited"); break;
    case "/compute": answer(request, compute(ms)); break;
    case "/work":
      if (work[0] == "render") {
        String.Buffer page = String.Buffer();
        for (int i = 0; i < (int)number; i++)
          page->add(sprintf("<li>%s</li>\n", replace((string)i + "&<>", ([ "&": "&amp;", "<": "&lt;", ">": "&gt;" ]))));
        answer(request, page->get());
      } else {
        call_out(answer, number / 1000.0, request, "done");
      }
      break;
    default: request->response_and_finish(([ "error": 404, "data": "" ]));
  }
}

int main(int count, array(string) arguments) {
  work = arguments[2] / ":";
  number = (float)work[1];
  port = Protocols.HTTP.Server.Port(handle, (int)arguments[1], "127.0.0.1");
  return -1;
}
