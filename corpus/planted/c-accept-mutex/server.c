// A server of processes that are forked beforehand and take turns to accept, under a lock of a file as Apache's prefork does it.
// Arguments: PORT SCRATCH PROCESSES FIRST KEEP BACKLOG IDENT_MS WORK
//
// FIRST processes are there at once; whenever none is idle, one more each second. KEEP 0 closes each connection after its answer.
// IDENT_MS is how long it takes to ask who connects, for the log, before the next may accept. GET /work does WORK: wait:MS,
// compute:MS, spell:WORDS (asks a speller, a process beside it, about one word after the other).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, MOST = 256 };

static int listener, keep, speller[2];
static double ident_ms, n;
static char what[16];
static volatile char *idle; // a byte for each process, shared

static double cpu_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void wait_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

static void compute(double ms) {
    static volatile unsigned x = 1;
    for (double ends = cpu_now_ms() + ms; cpu_now_ms() < ends;)
        for (int i = 0; i < 2000; i++) x = x * 1103515245 + 12345;
}

static void turn(int file, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    while (fcntl(file, F_SETLKW, &lock) && errno == EINTR) {}
}

static void start_speller(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, speller)) exit(1);
    if (fork()) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char word[64];
    for (ssize_t length; (length = read(speller[1], word, sizeof word)) > 0;)
        if (write(speller[1], "*\n", 2) != 2) break;
    _exit(0);
}

static void spell(int words) {
    char verdict[64];
    for (int i = 0; i < words; i++)
        if (write(speller[0], "acommodate\n", 11) != 11 || read(speller[0], verdict, sizeof verdict) <= 0) return;
}

static const char *answer(const char *path) {
    if (!strncmp(path, "/ ", 2)) return "hello";
    if (!strncmp(path, "/wait?ms=", 9)) return wait_ms(atof(path + 9)), "waited";
    if (!strncmp(path, "/compute?ms=", 12)) return compute(atof(path + 12)), "computed";
    if (strncmp(path, "/work", 5)) return NULL;
    if (!strcmp(what, "wait")) wait_ms(n);
    if (!strcmp(what, "compute")) compute(n);
    if (!strcmp(what, "spell")) spell((int)n);
    return "done";
}

static void serve(int stream) {
    char head[HEAD_BYTES + 1];
    do {
        size_t length = 0;
        head[0] = 0;
        while (!strstr(head, "\r\n\r\n")) {
            ssize_t got = length < HEAD_BYTES ? read(stream, head + length, HEAD_BYTES - length) : 0;
            if (got <= 0) return;
            length += got;
            head[length] = 0;
        }
        const char *body = strncmp(head, "GET ", 4) ? NULL : answer(head + 4);
        char text[256];
        int bytes = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n%s\r\n%s",
                             body ? "200 OK" : "404 Not Found", body ? strlen(body) : 0, keep ? "" : "Connection: close\r\n",
                             body ? body : "");
        if (write(stream, text, bytes) != bytes) return;
    } while (keep);
}

static void process(int me, const char *lock_file) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int file = open(lock_file, O_RDWR | O_CREAT, 0600);
    if (!strcmp(what, "spell")) start_speller();
    for (;;) {
        idle[me] = 1;
        turn(file, F_WRLCK);
        int stream = accept(listener, NULL, NULL);
        if (ident_ms > 0) wait_ms(ident_ms);
        turn(file, F_UNLCK);
        idle[me] = 0;
        if (stream < 0) continue;
        int on = 1;
        setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        serve(stream);
        close(stream);
    }
}

static void start(int me, const char *lock_file) {
    if (fork()) return;
    process(me, lock_file);
}

int main(int count, char **arguments) {
    if (count != 9) return 2;
    int most = atoi(arguments[3]), there = atoi(arguments[4]), on = 1;
    keep = atoi(arguments[5]);
    ident_ms = atof(arguments[7]);
    if (most > MOST || sscanf(arguments[8], "%15[a-z]:%lf", what, &n) != 2) return 2;
    char lock_file[512];
    snprintf(lock_file, sizeof lock_file, "%s/accept.lock", arguments[2]);
    idle = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    signal(SIGPIPE, SIG_IGN);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, atoi(arguments[6]))) return perror("listen"), 1;

    for (int me = 0; me < there; me++) start(me, lock_file);
    for (;;) { // children die with this process; it ends as soon as one of them has
        wait_ms(1000);
        if (waitpid(-1, NULL, WNOHANG) > 0) return 1;
        int free = 0;
        for (int me = 0; me < there; me++) free += idle[me];
        if (!free && there < most) start(there++, lock_file);
    }
}
