/* lots.c: a free cell, each with the same chance. It chooses what Noughts' own `random` chooses. */
#include "noughts_bot.h"

static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900], count = noughts_free(turn, free_cells);
    uint64_t draws = noughts_draws(turn);
    (void)bot;
    return (int32_t)free_cells[noughts_below(&draws, count)];
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, "lots", 0};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
