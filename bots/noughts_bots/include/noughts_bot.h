/* noughts_bot.h, version 1: the interface of a bot in a shared library or a WebAssembly module. C99 and C++11. There is
 * no library to link.
 *
 * A bot exports one function, `noughts_bot`, which returns its table of functions. Noughts loads the bot into a
 * separate process and calls it from one thread, one call at a time. What it prints is for people.
 *
 * Later versions of this header only append fields, so every struct begins with its size. Before a bot reads an
 * appended field, it must check that `size` includes the field. Noughts does the same with the bot's table.
 */
#ifndef NOUGHTS_BOT_H
#define NOUGHTS_BOT_H

#include <stdint.h>

#define NOUGHTS_BOT_VERSION 1u /* changes only if older bots can no longer play */
#define NOUGHTS_RESIGN (-1) /* `play` returns it to resign; every negative number resigns */

#ifdef __wasm__ /* link with --export-table, so that Noughts can call the functions of the table */
#define NOUGHTS_VISIBLE __attribute__((visibility("default"), export_name("noughts_bot")))
#else
#define NOUGHTS_VISIBLE __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define NOUGHTS_EXPORT extern "C" NOUGHTS_VISIBLE
#else
#define NOUGHTS_EXPORT NOUGHTS_VISIBLE
#endif

/* Several sets of cells in one array: set i is cells[starts[i]] to cells[starts[i + 1] - 1], in ascending order.
 * Neither pointer is NULL. */
typedef struct noughts_sets {
    const uint32_t *starts; /* its length is the number of sets + 1 */
    const uint32_t *cells;
} noughts_sets;

/* The rules. Cells are numbered from 0, row by row and layer by layer: column + columns * (row + rows * layer). */
typedef struct noughts_variant {
    uint32_t size;    /* the bytes of this struct in Noughts */
    uint32_t columns, rows, layers; /* layers: 1 on a flat board */
    uint32_t cells;   /* columns * rows * layers, at most 900 */
    uint32_t k;       /* the number of cells in each line; 0 if lines differ in length */
    uint32_t gravity; /* 1 if stones fall: see `below` */
    uint32_t exact;   /* 1 if longer rows do not win: see `beside` */
    uint32_t lines_count;
    noughts_sets lines;  /* a side wins if it has a stone on every cell of a line */
    noughts_sets beside; /* for each line: the line does not win if its owner also has a stone on one of these cells */
    noughts_sets below;  /* for each cell: a stone can be placed there only if all of these cells have stones */
    const char *name;    /* "tictactoe", "mnk:7,6,4", "gomoku:exact", "renju:20", ... */
    /* Appended fields: read them only if `size` is larger than offsetof(noughts_variant, shut). */
    noughts_sets shut; /* for each line: the line does not win if the other side has stones on all of these cells; an
                        * empty set cannot stop a line. In "caro" these are the cells at its two ends. */
    uint32_t forbids;  /* 1 if the rules forbid some free cells. No field lists these cells: the rules follow from the
                        * name. In "renju", side 0 must not make an overline, a double four or a double three, unless
                        * the move makes exactly five; side 1 wins with five or more. With "+pro" or "+long-pro" at the
                        * end of a name ("gomoku+pro"), side 0 begins in the middle, and plays its second stone at least
                        * 3 or 4 cells away from it. */
} noughts_variant;

/* A question: which cell? After `play` returns, only `variant` is still valid. */
typedef struct noughts_turn {
    uint32_t size;               /* the bytes of this struct in Noughts */
    uint32_t side;               /* the bot's side: 0 moved first, 1 second */
    uint32_t ply;                /* the number of moves made; ply % 2 == side */
    const uint32_t *moves;       /* their cells in the order played, from the empty board; even indices are side 0's */
    uint64_t seed;               /* of this side in this game: the only source of randomness */
    int64_t own_clock_ms;        /* the time limit of this move in milliseconds: the rest of the base time, or the limit
                                    of each move, or the smaller of the two if there are both; -1: no limit */
    int64_t opponent_clock_ms;   /* the opponent's clock: the rest of its base time, or else the limit of each move */
    const noughts_variant *variant; /* the pointer that `create` got; valid until `destroy` */
} noughts_turn;

/* The bot's table of functions. Only `play` is required; the other functions and texts can be NULL. */
typedef struct noughts_bot_api {
    uint32_t size;    /* sizeof(noughts_bot_api) */
    uint32_t version; /* NOUGHTS_BOT_VERSION */
    /* Returns a free cell, or NOUGHTS_RESIGN. One bot plays many games at once and gets one question at a time. */
    int32_t (*play)(void *bot, const noughts_turn *turn);
    /* Creates the bot of a variant, once, before the first game of the variant. `options` is "key=value,key=value" as
     * in the bot's spec, or "". If the bot cannot play the variant with these options, print the reason to stderr and
     * return NULL: the bot then resigns. Without `create`, the argument `bot` is NULL. */
    void *(*create)(const noughts_variant *variant, const char *options);
    /* Frees what `create` returned. */
    void (*destroy)(void *bot);
    const char *name;     /* 1 to 63 characters from a-z A-Z 0-9 -_.:=,#+, beginning with a letter or a digit */
    const char *variants; /* the variants it plays, separated by spaces: "tictactoe mnk"; NULL or "": all */
} noughts_bot_api;

/* The one function to export: `NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void)`. The table must stay valid as
 * long as the library is loaded. */
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void);

/* Random numbers: call `uint64_t state = noughts_draws(turn);` once for each move, then take numbers with `&state`. The
 * generator is splitmix64, which starts from the seed and the ply. So a question that is asked twice gets the same
 * answer, and bots in other languages can use the same numbers. */
static inline uint64_t noughts_draws(const noughts_turn *turn) {
    return turn->seed + turn->ply * UINT64_C(0xD1342543DE82EF95);
}

/* The next 64 random bits. */
static inline uint64_t noughts_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A random number from 0 to count - 1: the upper 64 bits of the 128-bit product of random bits and `count`. */
static inline uint32_t noughts_below(uint64_t *state, uint32_t count) {
    const uint64_t bits = noughts_bits(state), low = (bits & UINT32_MAX) * count;
    return (uint32_t)(((bits >> 32) * count + (low >> 32)) >> 32);
}

/* Writes the free cells that gravity allows into `free_cells` (an array of 900), in ascending order, and returns their
 * number. If `forbids` is 1, the rules can forbid some of them. */
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
