// A FastCGI program of threads, as libfcgi's example has it, with causes to plant: server SOCKET THREADS WORK.
// GET /work does WORK: wait:MS, area:MS (computes so long under the one lock of a library that is not safe for threads), rows:COUNT (another
// thread makes so many rows and hands each over before it makes the next).
#define _GNU_SOURCE
#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int listening;
static const char *what;
static double n;
static pthread_mutex_t accepting = PTHREAD_MUTEX_INITIALIZER, library = PTHREAD_MUTEX_INITIALIZER;

static void wait_ms(double ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000L};
    nanosleep(&t, NULL);
}

static double used_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + (double)t.tv_nsec / 1e6;
}

static unsigned compute(double ms) {
    unsigned x = 1;
    for (double ends = used_ms() + ms; used_ms() < ends;)
        for (int i = 0; i < 20000; i++) x = x * 1103515245u + 12345u;
    return x;
}

// A place for one row between the thread that makes rows and the one that prints them.
struct place {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int full;
    char row[64];
};

static void *make_rows(void *argument) {
    struct place *place = argument;
    for (int i = 0; i < (int)n; i++) {
        pthread_mutex_lock(&place->lock);
        while (place->full) pthread_cond_wait(&place->changed, &place->lock);
        snprintf(place->row, sizeof place->row, "row %d\n", i);
        place->full = 1;
        pthread_cond_signal(&place->changed);
        pthread_mutex_unlock(&place->lock);
    }
    return NULL;
}

static size_t rows(void) {
    struct place place = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, ""};
    pthread_t maker;
    size_t length = 0;
    if (pthread_create(&maker, NULL, make_rows, &place)) return 0;
    for (int i = 0; i < (int)n; i++) {
        pthread_mutex_lock(&place.lock);
        while (!place.full) pthread_cond_wait(&place.changed, &place.lock);
        length += strlen(place.row);
        place.full = 0;
        pthread_cond_signal(&place.changed);
        pthread_mutex_unlock(&place.lock);
    }
    pthread_join(maker, NULL);
    return length;
}

static void work(void) {
    if (!strcmp(what, "area")) {
        pthread_mutex_lock(&library);
        compute(n);
        pthread_mutex_unlock(&library);
    } else if (!strcmp(what, "rows")) {
        rows();
    } else {
        wait_ms(n);
    }
}

static void answer(FCGX_Request *request) {
    const char *path = FCGX_GetParam("SCRIPT_NAME", request->envp), *query = FCGX_GetParam("QUERY_STRING", request->envp);
    const char *ms = query ? strstr(query, "ms=") : NULL;
    double of = ms ? atof(ms + 3) : 0;
    char text[32] = "done";
    if (!strcmp(path, "/")) {
        strcpy(text, "hello");
    } else if (!strcmp(path, "/wait")) {
        wait_ms(of);
        strcpy(text, "waited");
    } else if (!strcmp(path, "/compute")) {
        snprintf(text, sizeof text, "%u", compute(of));
    } else {
        work();
    }
    FCGX_FPrintF(request->out, "Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", (int)strlen(text), text);
}

static void *serve(void *unused) {
    FCGX_Request request;
    FCGX_InitRequest(&request, listening, 0);
    for (;;) {
        // Some systems need it, says the example.
        pthread_mutex_lock(&accepting);
        int accepted = FCGX_Accept_r(&request);
        pthread_mutex_unlock(&accepting);
        if (accepted < 0) return unused;
        answer(&request);
        FCGX_Finish_r(&request);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    what = strtok(argv[3], ":");
    n = atof(strtok(NULL, ":"));
    FCGX_Init();
    if ((listening = FCGX_OpenSocket(argv[1], 1024)) < 0) return 1;
    signal(SIGTERM, SIG_DFL);  // libfcgi only notes it
    pthread_t thread;
    for (int i = 1; i < atoi(argv[2]); i++)
        if (pthread_create(&thread, NULL, serve, NULL)) return 1;
    serve(NULL);
    return 1;
}
