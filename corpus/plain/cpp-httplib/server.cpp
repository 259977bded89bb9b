// cpp-httplib: a thread takes a connection, and keeps it for five requests or until it is idle for five seconds.
#include <httplib.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

static long long used_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static std::string compute(long ms) {
    long long ends = used_ns() + ms * 1000000LL;
    unsigned x = 1;
    while (used_ns() < ends)
        for (int i = 0; i < 20000; i++) x = x * 1103515245u + 12345u;
    return std::to_string(x);
}

static long ms_of(const httplib::Request &request) {
    return std::atol(request.get_param_value("ms").c_str());
}

int main(int count, char **given) {
    if (count != 3) return 2;
    std::size_t threads = std::atoi(given[2]);
    httplib::Server server;
    server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    server.set_tcp_nodelay(true);
    server.Get("/", [](const httplib::Request &, httplib::Response &response) {
        response.set_content("hello", "text/plain");
    });
    server.Get("/wait", [](const httplib::Request &request, httplib::Response &response) {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms_of(request)));
        response.set_content("waited", "text/plain");
    });
    server.Get("/compute", [](const httplib::Request &request, httplib::Response &response) {
        response.set_content(compute(ms_of(request)), "text/plain");
    });
    return server.listen("127.0.0.1", std::atoi(given[1])) ? 0 : 1;
}
