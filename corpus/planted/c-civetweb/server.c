/* CivetWeb: server PORT THREADS yes|no (whether connections stay) WORK_MS. GET /work waits WORK_MS. */
#include <civetweb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double work_ms;

static long long used_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static unsigned compute(double ms)
{
    unsigned x = 1;
    for (long long ends = used_ns() + (long long)(ms * 1e6); used_ns() < ends;)
        for (volatile int i = 0; i < 10000; i++)
            x = x * 1103515245u + 12345u;
    return x;
}

static void wait(double ms)
{
    struct timespec time = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    nanosleep(&time, NULL);
}

static int answer(struct mg_connection *connection, void *unused)
{
    const struct mg_request_info *request = mg_get_request_info(connection);
    const char *path = request->local_uri, *query = request->query_string;
    char body[32] = "hello";
    double ms = query && !strncmp(query, "ms=", 3) ? atof(query + 3) : 0;
    (void)unused;
    if (!strcmp(path, "/wait") || !strcmp(path, "/work")) {
        wait(path[2] == 'a' ? ms : work_ms);
        strcpy(body, "waited");
    } else if (!strcmp(path, "/compute")) {
        snprintf(body, sizeof body, "%u", compute(ms));
    } else if (strcmp(path, "/")) {
        mg_send_http_error(connection, 404, "no such path");
        return 404;
    }
    mg_send_http_ok(connection, "text/plain", (long long)strlen(body));
    mg_write(connection, body, strlen(body));
    return 200;
}

int main(int count, char **given)
{
    char port[32];
    if (count < 5)
        return 2;
    snprintf(port, sizeof port, "127.0.0.1:%s", given[1]);
    work_ms = atof(given[4]);
    const char *options[] = {
        "listening_ports", port, "num_threads", given[2], "enable_keep_alive", given[3],
        "keep_alive_timeout_ms", "60000", "tcp_nodelay", "1", NULL,
    };
    struct mg_context *context = mg_start(NULL, NULL, options);
    if (!context)
        return 1;
    mg_set_request_handler(context, "/", answer, NULL);
    for (;;)
        pause();
}
