// Threads, clocks and files in C++ and C, with the C library of the system.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *work(void *done) {
    for (int n = 0; n < 1000; n++) free(memset(malloc(1 << 16), n, 1 << 16));
    // Libraries ask about their own threads by number, and complain if that fails.
    sched_param priority{};
    pthread_attr_t attributes{};
    int policy = -1;
    bool known = pthread_getattr_np(pthread_self(), &attributes) == 0;
    known &= pthread_getschedparam(pthread_self(), &policy, &priority) == 0 && policy == SCHED_OTHER;
    __atomic_add_fetch((int *)done, known, __ATOMIC_SEQ_CST);
    return nullptr;
}

int main() {
    int done = 0;
    pthread_t threads[4];
    for (auto &thread : threads) pthread_create(&thread, nullptr, work, &done);
    for (auto thread : threads) pthread_join(thread, nullptr);
    timespec used{}, pause{0, 1'000'000};
    clockid_t clock{};
    bool clocks = clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0;
    clocks &= pthread_getcpuclockid(pthread_self(), &clock) == 0 && clock_gettime(clock, &used) == 0;
    clocks &= nanosleep(&pause, nullptr) == 0;
    char copy[8] = "";
    FILE *file = fopen("note", "w+");
    fputs("here", file);
    rewind(file);
    bool read = fread(copy, 1, 4, file) == 4;
    printf("%d %s%s\n", done, clocks && read ? copy : "nothing", isatty(1) ? " terminal" : "");
}
