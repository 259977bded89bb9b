// An HTTP server by hand, in six models, with causes to plant. Arguments are name=value:
//
//   port=N mode=epoll|thread|fork|prefork|pool|grow workers=N keep=0|1 backlog=N work=STEPS folder=PATH
//   grow_ms=N  in mode grow: a thread more so often, from 2 up to `workers`
//   nofile=N   the limit of descriptors          burn=1  a thread that uses a core, for nothing
//   stop=MS    stopped for MS, running for MS     tick=N  a thread that wakes N times a second
//   hold=MS    a thread takes the lock for MS, every 2 MS
//   map=MIB    maps a new file of this size
//
// GET /work does the steps in turn: wait:MS, compute:MS, lock:MS (computes under the one lock), lockwait:MS (waits under
// it), fsync:KIB and write:KIB (a new file, with and without fsync), switch:N (there and back between two threads), read:N (pages
// of the mapped file, at random), joined by "+".
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, STEPS = 8, DESCRIPTORS = 1 << 16 };
struct step { char what[12]; double n; };

static char **arguments;
static struct step steps[STEPS];
static int step_count, keep, listener;
static pthread_mutex_t *lock; // shared by threads and by forked processes

static const char *text(const char *name, const char *otherwise) {
    size_t length = strlen(name);
    for (char **each = arguments; *each; each++)
        if (!strncmp(*each, name, length) && (*each)[length] == '=') return *each + length + 1;
    return otherwise;
}
static int number(const char *name, int otherwise) { return atoi(text(name, "")) + (*text(name, "") ? 0 : otherwise); }

static double now_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}
static void wait_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    while (nanosleep(&left, &left) && errno == EINTR) {}
}
static uint32_t compute(double cpu_ms) {
    static _Thread_local volatile uint32_t x = 1;
    for (double ends = now_ms(CLOCK_THREAD_CPUTIME_ID) + cpu_ms; now_ms(CLOCK_THREAD_CPUTIME_ID) < ends;)
        for (int i = 0; i < 2000; i++) x = x * 1103515245 + 12345;
    return x;
}

// Each time a new file: what is overwritten may be written to the disk once for many.
static void write_file(int kib, int sync) {
    static const char block[1024];
    char name[256];
    snprintf(name, sizeof name, "%s/written-XXXXXX", text("folder", "."));
    int file = mkstemp(name);
    for (int i = 0; i < kib; i++)
        if (write(file, block, sizeof block) < 0) perror("write");
    if (sync && fsync(file)) perror("fsync");
    unlink(name);
    close(file);
}

// A file that is mapped, of which pages are read at random: each is read from the disk unless memory has it.
static const volatile char *mapped;
static size_t mapped_pages;
static void map_file(int mib) {
    static char block[1 << 20] = "1";
    char name[256];
    snprintf(name, sizeof name, "%s/mapped-XXXXXX", text("folder", "."));
    int file = mkstemp(name);
    for (int i = 0; i < mib; i++)
        if (write(file, block, sizeof block) < 0) perror("write");
    if (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)) perror("fsync");
    mapped_pages = (size_t)mib << 8;
    mapped = mmap(NULL, mapped_pages << 12, PROT_READ, MAP_SHARED, file, 0);
    unlink(name);
    close(file);
}
static void read_pages(int pages) {
    static _Thread_local unsigned seed;
    if (!seed) seed = (unsigned)(uintptr_t)&seed;
    for (char page = 0; pages-- > 0;) page += mapped[(size_t)rand_r(&seed) % mapped_pages << 12];
}

static void *partner(void *pipes) {
    int *fds = pipes;
    for (char byte; read(fds[0], &byte, 1) == 1;)
        if (write(fds[3], &byte, 1) != 1) break;
    return NULL;
}
static void start(void *(*run)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument)) { perror("cannot start a thread"); exit(1); }
    pthread_detach(thread);
}
static void hand_over(int times) {
    static _Thread_local int *fds;
    if (!fds) {
        fds = malloc(4 * sizeof *fds);
        if (pipe(fds) || pipe(fds + 2)) perror("pipe");
        start(partner, fds);
    }
    for (char byte = 0; times-- > 0;)
        if (write(fds[1], &byte, 1) != 1 || read(fds[2], &byte, 1) != 1) break;
}

static void do_step(const struct step *step) {
    int locked = !strncmp(step->what, "lock", 4);
    if (locked) pthread_mutex_lock(lock);
    if (!strcmp(step->what, "wait") || !strcmp(step->what, "lockwait")) wait_ms(step->n);
    else if (!strcmp(step->what, "compute") || locked) compute(step->n);
    else if (!strcmp(step->what, "switch")) hand_over((int)step->n);
    else if (!strcmp(step->what, "read")) read_pages((int)step->n);
    else write_file((int)step->n, !strcmp(step->what, "fsync"));
    if (locked) pthread_mutex_unlock(lock);
}

// What a target asks: the steps it has, and how many; -1 for an unknown target.
static int asked(const char *target, struct step *own, const struct step **found) {
    *found = own;
    if (!strncmp(target, "/work", 5)) { *found = steps; return step_count; }
    if (sscanf(target, "/wait?ms=%lf", &own->n) == 1) return strcpy(own->what, "wait"), 1;
    if (sscanf(target, "/compute?ms=%lf", &own->n) == 1) return strcpy(own->what, "compute"), 1;
    return !strncmp(target, "/ ", 2) ? 0 : -1;
}
static int send_answer(int fd, int known, int stays) {
    char answer[160];
    int length = snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n%s\r\ndone",
                          known ? "200 OK" : "404 Not Found", stays ? "" : "Connection: close\r\n");
    return send(fd, answer, length, MSG_NOSIGNAL) == length && stays;
}
// Reads one request head. 0: the connection is over.
static int read_head(int fd, char *head) {
    int length = 0;
    for (;;) {
        ssize_t got = recv(fd, head + length, HEAD_BYTES - 1 - length, 0);
        if (got <= 0) return 0;
        head[length += got] = 0;
        if (strstr(head, "\r\n\r\n")) return length > 4 && !strncmp(head, "GET ", 4);
        if (length == HEAD_BYTES - 1) return 0;
    }
}
static int stays(const char *head) { return keep && !strcasestr(head, "connection: close") && !strstr(head, "HTTP/1.0"); }

// One request and its answer, blocking. 0: the connection is over.
static int exchange(int fd) {
    char head[HEAD_BYTES];
    struct step own;
    const struct step *todo;
    if (!read_head(fd, head)) return 0;
    int count = asked(head + 4, &own, &todo);
    for (int i = 0; i < count; i++) do_step(todo + i);
    return send_answer(fd, count >= 0, stays(head));
}
static void *serve(void *fd) {
    while (exchange((int)(intptr_t)fd)) {}
    close((int)(intptr_t)fd);
    return NULL;
}
static int accept_one(int flags) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | flags), one = 1;
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    else if (errno == EMFILE) wait_ms(1);
    return fd;
}
static void *accept_and_serve(void *none) {
    for (;;) {
        int fd = accept_one(0);
        if (fd >= 0) serve((void *)(intptr_t)fd);
    }
    return none;
}

// pool: the first thread polls all connections; a thread of the pool answers one request of a connection at a time.
static int poller, ready[DESCRIPTORS];
static unsigned first, last;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static void watch(int fd, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(poller, operation, fd, &event);
}
static void *answer_from_queue(void *none) {
    for (;;) {
        pthread_mutex_lock(&queue);
        while (first == last) pthread_cond_wait(&filled, &queue);
        int fd = ready[first++ % DESCRIPTORS];
        pthread_mutex_unlock(&queue);
        if (exchange(fd)) watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
        else close(fd);
    }
    return none;
}
static void put_in_queue(int fd) {
    pthread_mutex_lock(&queue);
    ready[last++ % DESCRIPTORS] = fd;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
}

// epoll: one thread; steps that wait become timers, in the order of their ends, the others are done at once.
struct pending { double due_ms; int fd, known, stays; struct pending *next; };
static struct pending *timers;
static void begin(int fd) {
    char head[HEAD_BYTES];
    struct step own;
    const struct step *todo;
    if (!read_head(fd, head)) { close(fd); return; }
    int count = asked(head + 4, &own, &todo);
    double wait = 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(todo[i].what, "wait")) wait += todo[i].n;
        else do_step(todo + i);
    struct pending *one = malloc(sizeof *one), **place = &timers;
    *one = (struct pending){now_ms(CLOCK_MONOTONIC) + wait, fd, count >= 0, stays(head), NULL};
    while (*place && (*place)->due_ms <= one->due_ms) place = &(*place)->next;
    one->next = *place;
    *place = one;
}
static int answer_due(void) { // the milliseconds to the next timer; -1: there is none
    for (struct pending *one; (one = timers);) {
        double left = one->due_ms - now_ms(CLOCK_MONOTONIC);
        if (left > 0) return (int)left + 1;
        timers = one->next;
        if (send_answer(one->fd, one->known, one->stays)) watch(one->fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
        else close(one->fd);
        free(one);
    }
    return -1;
}

static void poll_all(void (*readable)(int), uint32_t events) {
    poller = epoll_create1(EPOLL_CLOEXEC);
    watch(listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        struct epoll_event seen[64];
        int count = epoll_wait(poller, seen, 64, answer_due());
        for (int i = 0; i < count; i++) {
            if (seen[i].data.fd != listener) { readable(seen[i].data.fd); continue; }
            int fd = accept_one(0);
            if (fd >= 0) watch(fd, EPOLL_CTL_ADD, events);
        }
    }
}

static void *burn(void *none) { for (;;) compute(1000); return none; }
static void *tick(void *none) { for (;;) wait_ms(1000.0 / number("tick", 1)); return none; }
static void *hold(void *none) {
    for (int ms = number("hold", 1);; wait_ms(ms)) {
        pthread_mutex_lock(lock);
        wait_ms(ms);
        pthread_mutex_unlock(lock);
    }
    return none;
}
static void stop_and_go(pid_t whom, int ms) {
    close(listener);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        wait_ms(ms);
        kill(whom, SIGSTOP);
        wait_ms(ms);
        kill(whom, SIGCONT);
    }
}

static void set_up(void) {
    keep = number("keep", 1);
    char *work = strdup(text("work", "wait:0"));
    for (char *part = strtok(work, "+"); part && step_count < STEPS; part = strtok(NULL, "+"), step_count++)
        sscanf(part, "%11[^:]:%lf", steps[step_count].what, &steps[step_count].n);
    lock = mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &shared);
    struct rlimit files = {number("nofile", 8192), number("nofile", 8192)};
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1000);
    int one = 1;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(number("port", 8080)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, number("backlog", 4096))) {
        perror("cannot listen");
        exit(1);
    }
}

int main(int count, char **given) {
    (void)count;
    arguments = given + 1;
    set_up();
    const char *mode = text("mode", "epoll");
    int workers = number("workers", 4);
    if (number("map", 0)) map_file(number("map", 0));
    if (number("burn", 0)) start(burn, NULL);
    if (number("tick", 0)) start(tick, NULL);
    if (number("hold", 0)) start(hold, NULL);
    pid_t self = getpid();
    if (number("stop", 0) && fork() == 0) stop_and_go(self, number("stop", 0));
    if (!strcmp(mode, "epoll")) poll_all(begin, EPOLLIN | EPOLLONESHOT);
    if (!strcmp(mode, "pool")) {
        for (int i = 0; i < workers; i++) start(answer_from_queue, NULL);
        poll_all(put_in_queue, EPOLLIN | EPOLLONESHOT);
    }
    if (!strcmp(mode, "grow")) {
        for (int i = 0; i < workers; i++) {
            if (i >= 2) wait_ms(number("grow_ms", 1000));
            start(accept_and_serve, NULL);
        }
        for (;;) pause();
    }
    if (!strcmp(mode, "prefork")) {
        for (int i = 0; i < workers; i++)
            if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); accept_and_serve(NULL); }
        wait(NULL); // of the workers none may be missing
        return 1;
    }
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept_one(0), threads = !strcmp(mode, "thread");
        if (fd < 0) continue;
        if (threads) { start(serve, (void *)(intptr_t)fd); continue; }
        if (fork() == 0) { close(listener); serve((void *)(intptr_t)fd); _exit(0); }
        close(fd);
    }
}
