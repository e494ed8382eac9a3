/* random.c: plays a random free cell, the same cell as Noughts' own bot `random`. */
#include "noughts_bot.h"

static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900], count = noughts_free(turn, free_cells);
    uint64_t state = noughts_draws(turn);
    (void)bot;
    return (int32_t)free_cells[noughts_below(&state, count)];
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, "random-c", 0};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
