/* HTTP by hand on libuv: server PORT BACKLOG WORK SCRATCH. GET /work does WORK: wait:MS, tool:MS (a call that blocks so long, by
   uv_queue_work), close:MS (computes so long, and closes the connection), pace:MS (a connection is accepted each MS milliseconds,
   and closed after its answer, which waits 20 ms), record:KIB (writes so much to a file by libuv's pool, past the kernel's cache),
   files:COUNT (the process may have so many descriptors; waits 50 ms). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { HEAD = 4096, PAGE = 4096 };

struct connection {
  uv_tcp_t stream;
  uv_timer_t timer;
  uv_work_t work;
  uv_fs_t fs;
  uv_write_t write;
  char head[HEAD], out[HEAD];
  const char *body;
  size_t used;
  int file, handles, closing;
};

static uv_loop_t *loop;
static uv_tcp_t listening;
static uv_timer_t gate;
static char what[16];
static const char *scratch;
static double number;
static int open_gate = 1, due, files;
static char *record;

static double used_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void compute(double ms) {
  volatile unsigned x = 1;
  for (double ends = used_ms() + ms; used_ms() < ends;)
    for (int i = 0; i < 10000; i++) x = x * 1103515245 + 12345;
}

static void closed(uv_handle_t *handle) {
  struct connection *c = handle->data;
  if (--c->handles > 0) return;
  if (c->file >= 0) close(c->file);
  free(c);
}

static void end(struct connection *c) {
  if (c->closing) return;
  c->closing = 1;
  uv_close((uv_handle_t *)&c->stream, closed);
  uv_close((uv_handle_t *)&c->timer, closed);
}

static int closes(void) { return !strcmp(what, "close") || !strcmp(what, "pace"); }

static int at_work(struct connection *c) { return !strcmp(c->body, "done"); }

static void written(uv_write_t *write, int status) {
  struct connection *c = write->data;
  if (status < 0 || (at_work(c) && closes())) end(c);
}

static void answer(struct connection *c) {
  if (c->closing) return;
  int length = snprintf(c->out, sizeof c->out,
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n%sContent-Length: %zu\r\n\r\n%s",
                        at_work(c) && closes() ? "Connection: close\r\n" : "", strlen(c->body), c->body);
  uv_buf_t buffer = uv_buf_init(c->out, length);
  c->write.data = c;
  uv_write(&c->write, (uv_stream_t *)&c->stream, &buffer, 1, written);
}

static void after_timer(uv_timer_t *timer) { answer(timer->data); }

static void later(struct connection *c, double ms) {
  uv_update_time(loop);
  uv_timer_start(&c->timer, after_timer, (uint64_t)ms, 0);
}

static void block(uv_work_t *work) {
  (void)work;
  usleep((useconds_t)(number * 1000));
}

static void after_block(uv_work_t *work, int status) {
  (void)status;
  answer(work->data);
}

static void after_record(uv_fs_t *request) {
  struct connection *c = request->data;
  if (request->result < 0) c->body = "not written";
  uv_fs_req_cleanup(request);
  answer(c);
}

static void work(struct connection *c) {
  c->body = "done";
  if (!strcmp(what, "tool")) {
    c->work.data = c;
    uv_queue_work(loop, &c->work, block, after_block);
  } else if (!strcmp(what, "close")) {
    compute(number);
    answer(c);
  } else if (!strcmp(what, "record")) {
    if (c->file < 0) {
      char path[300];
      snprintf(path, sizeof path, "%s/record-%d", scratch, ++files);
      c->file = open(path, O_WRONLY | O_CREAT | O_DIRECT | O_DSYNC, 0600);
    }
    c->fs.data = c;
    uv_buf_t buffer = uv_buf_init(record, (unsigned)(number * 1024));
    uv_fs_write(loop, &c->fs, c->file, &buffer, 1, 0, after_record);
  } else {
    later(c, !strcmp(what, "pace") ? 20 : !strcmp(what, "files") ? 50 : number);
  }
}

static void handle(struct connection *c) {
  char *at = strstr(c->head, "ms=");
  double ms = at ? atof(at + 3) : 0;
  if (!strncmp(c->head, "GET /wait", 9)) {
    c->body = "waited";
    later(c, ms);
  } else if (!strncmp(c->head, "GET /compute", 12)) {
    c->body = "computed";
    compute(ms);
    answer(c);
  } else if (!strncmp(c->head, "GET /work", 9)) {
    work(c);
  } else {
    c->body = "hello";
    answer(c);
  }
}

static void give(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer) {
  struct connection *c = handle->data;
  (void)wanted;
  *buffer = uv_buf_init(c->head + c->used, (unsigned)(HEAD - 1 - c->used));
}

static void got(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
  struct connection *c = stream->data;
  (void)buffer;
  if (length < 0) {
    end(c);
    return;
  }
  c->used += length;
  c->head[c->used] = 0;
  if (strstr(c->head, "\r\n\r\n")) {
    c->used = 0;
    handle(c);
  } else if (c->used == HEAD - 1) {
    end(c);
  }
}

static void take(uv_stream_t *server) {
  struct connection *c = calloc(1, sizeof *c);
  c->file = -1;
  c->handles = 2;
  uv_tcp_init(loop, &c->stream);
  uv_timer_init(loop, &c->timer);
  c->stream.data = c->timer.data = c;
  if (uv_accept(server, (uv_stream_t *)&c->stream) < 0) {
    end(c);
    return;
  }
  uv_tcp_nodelay(&c->stream, 1);
  uv_read_start((uv_stream_t *)&c->stream, give, got);
}

static void gate_opens(uv_timer_t *timer) {
  (void)timer;
  open_gate = 1;
  if (due) {  /* libuv accepts no more until this one is taken */
    due = 0;
    open_gate = 0;
    take((uv_stream_t *)&listening);
  }
}

static void comes(uv_stream_t *server, int status) {
  if (status < 0) return;
  if (strcmp(what, "pace")) {
    take(server);
  } else if (open_gate) {
    open_gate = 0;
    take(server);
  } else {
    due = 1;
  }
}

int main(int count, char **arguments) {
  if (count < 5) return 2;
  if (sscanf(arguments[3], "%15[^:]:%lf", what, &number) != 2) return 2;
  scratch = arguments[4];
  if (!strcmp(what, "files")) {
    struct rlimit limit = {(rlim_t)number, (rlim_t)number};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (!strcmp(what, "record")) {
    if (posix_memalign((void **)&record, PAGE, (size_t)number * 1024)) return 1;
    memset(record, 'r', (size_t)number * 1024);
  }
  loop = uv_default_loop();
  struct sockaddr_in address;
  uv_ip4_addr("127.0.0.1", atoi(arguments[1]), &address);
  uv_tcp_init(loop, &listening);
  uv_tcp_bind(&listening, (struct sockaddr *)&address, 0);
  if (uv_listen((uv_stream_t *)&listening, atoi(arguments[2]), comes) < 0) return 1;
  if (!strcmp(what, "pace")) {
    uv_timer_init(loop, &gate);
    uv_timer_start(&gate, gate_opens, (uint64_t)number, (uint64_t)number);
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
