/* lowest.c: plays the lowest free cell in every variant. This is the smallest bot. */
#include "noughts_bot.h"

static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    return (int32_t)free_cells[0];
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, "lowest", 0};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
