/* Takes the lowest free cell, and misbehaves with its second move of each game. It is compiled once for each HABIT (a
 * text). GROUND is "FOLDER:PORT", where it tries forbidden actions. If an action is not refused, it resigns. */
#define _GNU_SOURCE
#include "noughts_bot.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOG_BYTES (2048L * 1024 * 1024)
#define LINE_BYTES 50000000L
#define BREATH_MICROSECONDS 2000 /* between blocks of lines of an endless output, for other processes */

static int has(const char *habit) { return strcmp(HABIT, habit) == 0; }

static void wait_for_ever(void) {
    for (;;)
        pause();
}

static void *leave(void *unused) {
    (void)unused;
    usleep(1000);
    _exit(0);
}

/* Try the forbidden action of the habit; return whether it was allowed. */
static int forbidden_action_is_allowed(void) {
    const char *port = strrchr(GROUND, ':');
    if (has("memory")) {
        static char *volatile hog; /* volatile, because else the compiler removes the allocation */
        hog = (char *)malloc(HOG_BYTES);
        if (hog)
            memset(hog, 1, HOG_BYTES);
        return hog != NULL;
    }
    if (has("fork bomb") || has("leaves a process")) {
        pid_t pid = fork();
        if (pid == 0)
            wait_for_ever();
        return pid > 0;
    }
    if (has("files")) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s/mine.txt", (int)(port - GROUND), GROUND);
        return fopen("/etc/passwd", "r") != NULL || fopen(path, "w") != NULL;
    }
    if (has("network")) {
        struct sockaddr_in there;
        int end = socket(AF_INET, SOCK_STREAM, 0);
        memset(&there, 0, sizeof there);
        there.sin_family = AF_INET;
        there.sin_port = htons((uint16_t)atoi(port + 1));
        there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return end >= 0 && connect(end, (struct sockaddr *)&there, sizeof there) == 0;
    }
    return 0;
}

static void misbehave(void) {
    static long said;
    pthread_t thread;
    volatile int turning = 1;
    if (has("crash"))
        abort();
    if (has("exit")) {
        puts("good bye");
        exit(7);
    }
    if (has("segfault")) {
        puts("a pointer to nowhere");
        fflush(stdout);
        *(volatile int *)8 = 1;
    }
    if (has("hang"))
        wait_for_ever();
    if (has("hang ignoring SIGTERM")) {
        signal(SIGTERM, SIG_IGN);
        wait_for_ever();
    }
    if (has("stop"))
        raise(SIGSTOP);
    while (has("loop") && turning) {
    }
    if (has("late"))
        sleep(2);
    if (has("print"))
        puts("My move is the centre");
    for (; has("endless output"); said++) {
        puts("once more");
        if (said % 1000 == 0)
            usleep(BREATH_MICROSECONDS);
    }
    for (; has("50 MB") && said < LINE_BYTES; said++)
        putchar('x');
    if (has("leave after a move"))
        pthread_create(&thread, NULL, leave, NULL);
}

static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    if (turn->ply / 2 == 1) {
        misbehave();
        if (forbidden_action_is_allowed())
            return NOUGHTS_RESIGN;
        if (has("off the board"))
            return 1000000;
        if (has("occupied"))
            return (int32_t)turn->moves[0];
    }
    if (turn->ply / 2 > 1 && has("leave after a move"))
        wait_for_ever(); /* until `leave` ends the process */
    return (int32_t)free_cells[0];
}

static void *create(const noughts_variant *variant, const char *options) {
    static int made;
    (void)variant;
    (void)options;
    return &made;
}

static void destroy(void *bot) {
    (void)bot;
    if (has("ignores the end"))
        wait_for_ever();
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, create, destroy, 0, 0};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) {
    if (has("never starts"))
        wait_for_ever();
    if (has("dies at once")) {
        puts("no licence found");
        exit(9);
    }
    if (has("slow start"))
        sleep(2);
    if (has("ignores the end"))
        signal(SIGTERM, SIG_IGN);
    return &api;
}
