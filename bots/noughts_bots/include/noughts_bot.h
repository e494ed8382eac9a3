/* noughts_bot.h, version 1: a bot for Noughts as a shared library, or as a module of WebAssembly. C99 and C++11; nothing
 * to link with.
 *
 * The library exports one function, `noughts_bot`, which returns its table of functions. Noughts loads it into a
 * process of its own and calls it from one thread, one call after the other. What it prints is for people.
 *
 * Later versions of this file only append fields. So every struct begins with its size: before a library reads a field
 * that was appended later, it looks whether `size` reaches so far, and so does Noughts.
 */
#ifndef NOUGHTS_BOT_H
#define NOUGHTS_BOT_H

#include <stdint.h>

#define NOUGHTS_BOT_VERSION 1u /* changes only if older libraries could no longer play */
#define NOUGHTS_RESIGN (-1) /* what `play` returns instead of a cell; any negative number resigns */

#ifdef __wasm__ /* link with --export-table, so that the functions of the table can be called */
#define NOUGHTS_VISIBLE __attribute__((visibility("default"), export_name("noughts_bot")))
#else
#define NOUGHTS_VISIBLE __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define NOUGHTS_EXPORT extern "C" NOUGHTS_VISIBLE
#else
#define NOUGHTS_EXPORT NOUGHTS_VISIBLE
#endif

/* Sets of cells, one after the other: set i is cells[starts[i]], ..., cells[starts[i + 1] - 1], ascending. What Noughts
 * hands over is never NULL. */
typedef struct noughts_sets {
    const uint32_t *starts; /* one more than there are sets */
    const uint32_t *cells;
} noughts_sets;

/* The rules. Cell numbers count row by row from 0, layer by layer: column + columns * (row + rows * layer). */
typedef struct noughts_variant {
    uint32_t size;    /* of this struct in bytes, as Noughts knows it */
    uint32_t columns, rows, layers; /* layers: 1 on a flat board */
    uint32_t cells;   /* columns * rows * layers, at most 900 */
    uint32_t k;       /* cells in each line; 0 where lines differ in length */
    uint32_t gravity; /* 1 where stones fall: see `below` */
    uint32_t exact;   /* 1 where longer rows do not win: see `beside` */
    uint32_t lines_count;
    noughts_sets lines;  /* who has every cell of one line wins */
    noughts_sets beside; /* for each line the cells of which none may hold a stone of its owner, or it does not win */
    noughts_sets below;  /* for each cell the cells that must hold stones before one may be placed there */
    const char *name;    /* "tictactoe", "mnk:7,6,4", "gomoku:exact", "renju:20", ... */
    /* Appended: read them only if `size` is larger than offsetof(noughts_variant, shut). */
    noughts_sets shut; /* for each line the cells which, all held by the other side, make it win nothing; none: it cannot
                        * be shut. In "caro" those at its two ends. */
    uint32_t forbids;  /* 1 where a side may not play every free cell. What is forbidden is not told: the name says which
                        * rules these are. "renju": side 0 may not make an overline, a double four or a double three,
                        * unless it makes exactly five; side 1 wins with five or more. "gomoku+pro", "+long-pro" behind
                        * any name: side 0 begins in the middle, and goes on at least 3 or 4 cells away from it. */
} noughts_variant;

/* A question: which cell? Everything in it is gone when `play` returns, but for `variant`. */
typedef struct noughts_turn {
    uint32_t size;               /* of this struct in bytes, as Noughts knows it */
    uint32_t side;               /* the bot's: 0 moved first, 1 second */
    uint32_t ply;                /* how many moves were made; ply % 2 == side */
    const uint32_t *moves;       /* their cells in the order played, from the empty board on: even ones are side 0's */
    uint64_t seed;               /* of this side of this game: the only source of chance */
    int64_t own_clock_ms;        /* what this move may take, in milliseconds: what is left of the bank, or the limit
                                    of a move, where there are both the less; -1: no limit */
    int64_t opponent_clock_ms;   /* what the opponent's clock shows: its bank, or without one the limit of a move */
    const noughts_variant *variant; /* the same pointer as `create` got; good until `destroy` */
} noughts_turn;

/* What the library is. NULL stands for a function or text that it does not have; only `play` is needed. */
typedef struct noughts_bot_api {
    uint32_t size;    /* sizeof(noughts_bot_api) */
    uint32_t version; /* NOUGHTS_BOT_VERSION */
    /* Returns a cell that is free, or NOUGHTS_RESIGN. One bot plays many games at once, a question at a time. */
    int32_t (*play)(void *bot, const noughts_turn *turn);
    /* Makes the bot of a variant: once, before its first game. `options` is "key=value,key=value" as in the bot's spec,
     * or "". NULL, after a word on stderr: it cannot play so, and resigns. Without `create`, `bot` is NULL. */
    void *(*create)(const noughts_variant *variant, const char *options);
    /* Ends what `create` made. */
    void (*destroy)(void *bot);
    const char *name;     /* 1 to 63 of a-z A-Z 0-9 and -_.:=,#+ */
    const char *variants; /* those it plays, separated by spaces: "tictactoe mnk"; NULL or "": every variant */
} noughts_bot_api;

/* The one symbol: `NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void)`. The table lives as long as the library. */
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void);

/* Chance: `uint64_t draws = noughts_draws(turn);` once a move, then numbers from `&draws`. It is splitmix64, begun at
 * the seed and the ply: a question asked twice gets the same answer, and bots in other languages can draw the same. */
static inline uint64_t noughts_draws(const noughts_turn *turn) {
    return turn->seed + turn->ply * UINT64_C(0xD1342543DE82EF95);
}

/* The next 64 uniform bits. */
static inline uint64_t noughts_bits(uint64_t *draws) {
    uint64_t z = *draws += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A uniform number from 0 to count - 1: the upper half of a product of 128 bits. */
static inline uint32_t noughts_below(uint64_t *draws, uint32_t count) {
    const uint64_t bits = noughts_bits(draws), low = (bits & UINT32_MAX) * count;
    return (uint32_t)(((bits >> 32) * count + (low >> 32)) >> 32);
}

/* Writes the cells where a stone may be placed into `free_cells` (room for 900), ascending; returns how many. Where
 * `forbids` is 1 not all of them may be played. */
static inline uint32_t noughts_free(const noughts_turn *turn, uint32_t *free_cells) {
    const noughts_variant *variant = turn->variant;
    const noughts_sets *below = &variant->below;
    unsigned char taken[900] = {0};
    uint32_t count = 0, cell, i;
    for (i = 0; i < turn->ply; i++)
        taken[turn->moves[i]] = 1;
    for (cell = 0; cell < variant->cells; cell++) {
        if (taken[cell])
            continue;
        for (i = below->starts[cell]; i < below->starts[cell + 1] && taken[below->cells[i]];)
            i++;
        if (i == below->starts[cell + 1])
            free_cells[count++] = cell;
    }
    return count;
}

#endif
