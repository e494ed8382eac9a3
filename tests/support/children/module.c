/* Takes the lowest free cell, and misbehaves with its second move of each game. It is compiled once for each HABIT (a
 * text), as a module of WebAssembly without any library. If a forbidden action is not refused, it resigns. */
#include "noughts_bot.h"

#define IMPORTED(module, name) __attribute__((import_module(module), import_name(name)))
#define HOG_PAGES 32768 /* 2 GiB */

IMPORTED("noughts", "say") void say(const char *text, uint32_t length);
IMPORTED("wasi_snapshot_preview1", "proc_exit") void proc_exit(int32_t code);

static volatile uint32_t turns;

static int has(const char *habit) {
    const char *own = HABIT;
    while (*own && *own == *habit)
        own++, habit++;
    return *own == *habit;
}

static void turn_round(uint32_t times) {
    for (turns = 0; turns < times; turns++) {
    }
}

static void turn_for_ever(void) {
    for (;;)
        turns++;
}

static void misbehave(void) {
    uint32_t said;
    if (has("crash"))
        __builtin_trap();
    if (has("segfault"))
        *(volatile int *)0x7ffffff0 = 1;
    if (has("exit")) {
        say("good bye\n", 9);
        proc_exit(7);
    }
    if (has("hang") || has("loop"))
        turn_for_ever();
    for (said = 0; has("late") && said < 2; said++)
        turn_round(1500000000u);
    if (has("print"))
        say("My move is the centre\n", 22);
    while (has("endless output"))
        say("once more\n", 10);
    for (said = 0; has("50 MB") && said < 50000000u; said += 50000)
        say((const char *)0, 50000);
}

static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    if (turn->ply / 2 == 1) {
        misbehave();
        if (has("memory") && __builtin_wasm_memory_grow(0, HOG_PAGES) != (__SIZE_TYPE__)-1)
            return NOUGHTS_RESIGN;
        if (has("off the board"))
            return 1000000;
        if (has("occupied"))
            return (int32_t)turn->moves[0];
    }
    return (int32_t)free_cells[0];
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, 0, 0};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) {
    if (has("slow start"))
        turn_round(200000000u);
    return &api;
}
