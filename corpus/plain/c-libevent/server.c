/* libevent's evhttp: ./server PORT LOOPS. Each loop has a thread, a listening socket (SO_REUSEPORT) and timers. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

struct loop {
    struct event_base *base;
    struct evhttp *http;
};

static int64_t used_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static unsigned compute(long ms) {
    int64_t ends = used_ns() + ms * 1000000LL;
    unsigned x = 1;
    while (used_ns() < ends)
        for (int i = 0; i < 20000; i++) x = x * 1103515245u + 12345u;
    return x;
}

static long ms_of(struct evhttp_request *request) {
    struct evkeyvalq values;
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    if (!query || evhttp_parse_query_str(query, &values)) return 0;
    const char *found = evhttp_find_header(&values, "ms");
    long ms = found ? atol(found) : 0;
    evhttp_clear_headers(&values);
    return ms;
}

static void reply(struct evhttp_request *request, const char *body) {
    struct evbuffer *buffer = evbuffer_new();
    evbuffer_add(buffer, body, strlen(body));
    evhttp_send_reply(request, 200, "OK", buffer);
    evbuffer_free(buffer);
}

static void waited(evutil_socket_t unused, short what, void *request) {
    (void)unused, (void)what;
    reply(request, "waited");
}

static void on_wait(struct evhttp_request *request, void *loop) {
    long ms = ms_of(request);
    struct timeval after = {ms / 1000, ms % 1000 * 1000};
    event_base_once(((struct loop *)loop)->base, -1, EV_TIMEOUT, waited, request, &after);
}

static void on_compute(struct evhttp_request *request, void *loop) {
    (void)loop;
    char body[32];
    snprintf(body, sizeof body, "%u", compute(ms_of(request)));
    reply(request, body);
}

static void on_hello(struct evhttp_request *request, void *loop) {
    (void)loop;
    reply(request, "hello");
}

static void *run(void *port) {
    struct loop loop = {.base = event_base_new()};
    loop.http = evhttp_new(loop.base);
    evhttp_set_cb(loop.http, "/", on_hello, &loop);
    evhttp_set_cb(loop.http, "/wait", on_wait, &loop);
    evhttp_set_cb(loop.http, "/compute", on_compute, &loop);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* connections inherit it */
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024) ||
        evhttp_accept_socket(loop.http, listener))
        exit(1);
    event_base_dispatch(loop.base);
    return NULL;
}

int main(int count, char **given) {
    if (count != 3) return 2;
    for (int i = 1; i < atoi(given[2]); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run, given[1])) return 1;
    }
    run(given[1]);
    return 1;
}
