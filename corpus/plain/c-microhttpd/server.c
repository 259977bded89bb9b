/* libmicrohttpd with handlers that block: ./server PORT THREADS. 0 threads: one for each connection. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static enum MHD_Result answer(void *closure, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *size, void **state) {
    (void)closure, (void)method, (void)version, (void)data, (void)size;
    /* The first call has the head only; the answer is given at the second. */
    static int seen;
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    const char *given = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "ms");
    long ms = given ? atol(given) : 0;
    char body[32] = "hello";
    unsigned status = MHD_HTTP_OK;
    if (!strcmp(path, "/wait")) {
        usleep(ms * 1000);
        strcpy(body, "waited");
    } else if (!strcmp(path, "/compute")) {
        snprintf(body, sizeof body, "%u", compute(ms));
    } else if (strcmp(path, "/")) {
        status = MHD_HTTP_NOT_FOUND;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

int main(int count, char **given) {
    if (count != 3) return 2;
    unsigned threads = atoi(given[2]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(given[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    unsigned flags = threads ? MHD_USE_EPOLL_INTERNAL_THREAD
                             : MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    struct MHD_Daemon *daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_CONNECTION_LIMIT, 4000u, MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u, MHD_OPTION_ARRAY,
                         threads > 1 ? pool : none, MHD_OPTION_END);
    if (!daemon) return 1;
    for (;;) pause();
}
