// A thread for each connection, with causes to plant. Arguments are name=value:
//
//   port=N work=STEPS stop=MS (stopped for MS, running for MS) rivals=N (threads that take turns at a lock of their own)
//
// GET /work does the steps in turn, joined by "+": wait:MS, compute:MS, lockwait:MS (waits with the one lock), pass:N (there
// and back between the connection's thread and a partner, by condition variables).
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using Steps = std::vector<std::pair<std::string, double>>;

static std::map<std::string, std::string> given;
static std::mutex the_lock;

static int number(const std::string& name, int otherwise) {
    auto found = given.find(name);
    return found == given.end() ? otherwise : std::stoi(found->second);
}

static void wait_ms(double ms) { std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms)); }

static double used_ms() {
    timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1e3 + used.tv_nsec / 1e6;
}

static void compute(double cpu_ms) {
    static thread_local volatile unsigned x = 1;
    for (double ends = used_ms() + cpu_ms; used_ms() < ends;)
        for (int i = 0; i < 2000; i++) x = x * 1103515245 + 12345;
}

// A second thread, to which a connection's thread passes its work step by step.
class Partner {
public:
    Partner() : thread([this] { run(); }) {}
    ~Partner() {
        pass(OVER);
        thread.join();
    }
    void there_and_back() {
        pass(THERE);
        std::unique_lock<std::mutex> guard(mutex);
        changed.wait(guard, [this] { return turn == HERE; });
    }

private:
    enum Turn { HERE, THERE, OVER };
    std::mutex mutex;
    std::condition_variable changed;
    Turn turn = HERE;
    std::thread thread;

    void pass(Turn to) {
        std::lock_guard<std::mutex> guard(mutex);
        turn = to;
        changed.notify_one();
    }
    void run() {
        for (std::unique_lock<std::mutex> guard(mutex);;) {
            changed.wait(guard, [this] { return turn != HERE; });
            if (turn == OVER) return;
            turn = HERE;
            changed.notify_one();
        }
    }
};

static Steps parsed(const std::string& text) {
    Steps steps;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, '+');) {
        auto colon = part.find(':');
        steps.emplace_back(part.substr(0, colon), std::stod(part.substr(colon + 1)));
    }
    return steps;
}

static void perform(const std::string& what, double n, std::unique_ptr<Partner>& partner) {
    if (what == "wait") wait_ms(n);
    else if (what == "compute") compute(n);
    else if (what == "lockwait") {
        std::lock_guard<std::mutex> guard(the_lock);
        wait_ms(n);
    } else if (what == "pass") {
        if (!partner) partner = std::make_unique<Partner>();
        for (int i = 0; i < n; i++) partner->there_and_back();
    } else {
        std::fprintf(stderr, "no such step: %s\n", what.c_str());
        std::_Exit(1);
    }
}

static void serve(int connection, const Steps& work) {
    std::unique_ptr<Partner> partner;
    std::string head;
    for (char bytes[4096];;) {
        ssize_t count = recv(connection, bytes, sizeof bytes, 0);
        if (count <= 0) break;
        head.append(bytes, count);
        if (head.find("\r\n\r\n") == std::string::npos) continue;
        std::istringstream words(head);
        std::string method, target;
        words >> method >> target;
        bool known = true;
        Steps steps;
        double ms = target.find("?ms=") == std::string::npos ? 0 : std::stod(target.substr(target.find("?ms=") + 4));
        if (target == "/work") steps = work;
        else if (!target.rfind("/wait", 0)) steps = {{"wait", ms}};
        else if (!target.rfind("/compute", 0)) steps = {{"compute", ms}};
        else known = target == "/";
        for (const auto& [what, n] : steps) perform(what, n, partner);
        bool close_it = strcasestr(head.c_str(), "connection: close");
        std::string answer = std::string("HTTP/1.1 ") + (known ? "200 OK" : "404 Not Found") +
                             "\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n" +
                             (close_it ? "Connection: close\r\n" : "") + "\r\ndone";
        if (send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) < 0 || close_it) break;
        head.clear();
    }
    close(connection);
}

static void rival() {
    static std::mutex theirs;
    for (;;) {
        std::lock_guard<std::mutex> guard(theirs);
        wait_ms(0.2);
    }
}

static void stop_and_go(pid_t whom, int ms) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        wait_ms(ms);
        kill(whom, SIGSTOP);
        wait_ms(ms);
        kill(whom, SIGCONT);
    }
}

int main(int count, char** arguments) {
    for (int i = 1; i < count; i++) {
        std::string text = arguments[i];
        given[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
    rlimit files = {8192, 8192};
    setrlimit(RLIMIT_NOFILE, &files);
    prctl(PR_SET_TIMERSLACK, 1000);
    pid_t self = getpid();
    if (number("stop", 0) && fork() == 0) stop_and_go(self, number("stop", 0));
    Steps work = parsed(given["work"]);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(number("port", 8080));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) || listen(listener, 4096)) {
        std::perror("cannot listen");
        return 1;
    }
    for (int i = number("rivals", 0); i > 0; i--) std::thread(rival).detach();
    for (;;) {
        int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) {
            wait_ms(1);
            continue;
        }
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        std::thread([connection, &work] { serve(connection, work); }).detach();
    }
}
