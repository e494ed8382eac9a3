/* reach.c: computes data about a board once and keeps it, and has an option.
 *
 * It wins if it can, blocks if it must, and otherwise plays one of the cells on the most lines: the first of them, or a
 * random one. Spec: dll{choice=first}:./reach.so or dll{choice=random}:./reach.so
 */
#include "noughts_bot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int is_random;
    uint32_t lines_through[900]; /* the number of lines through each cell */
} reach;

/* The variant is valid until `destroy`, but this bot needs only these counts of it. */
static void *create(const noughts_variant *variant, const char *options) {
    const noughts_sets *lines = &variant->lines;
    reach *made;
    uint32_t i;
    if (*options && strcmp(options, "choice=first") && strcmp(options, "choice=random")) {
        fprintf(stderr, "reach: got options %s, expected choice=first or choice=random\n", options);
        return NULL;
    }
    made = (reach *)calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->is_random = !strcmp(options, "choice=random");
    for (i = 0; i < lines->starts[variant->lines_count]; i++)
        made->lines_through[lines->cells[i]]++;
    return made;
}

static void destroy(void *bot) { free(bot); }

/* Returns the free cell that completes a line whose other cells have stones of `side`; -1 if there is none. */
static int32_t completing(const noughts_turn *turn, const unsigned char *owner, unsigned char side) {
    const noughts_variant *variant = turn->variant;
    uint32_t line, i;
    for (line = 0; line < variant->lines_count; line++) {
        const uint32_t end = variant->lines.starts[line + 1];
        int32_t missing = -1;
        for (i = variant->lines.starts[line]; i < end; i++) {
            const uint32_t cell = variant->lines.cells[i];
            if (owner[cell] == side)
                continue;
            if (owner[cell] != 'f' || missing >= 0)
                break;
            missing = (int32_t)cell;
        }
        if (i < end || missing < 0)
            continue;
        for (i = variant->beside.starts[line]; i < variant->beside.starts[line + 1]; i++)
            if (owner[variant->beside.cells[i]] == side)
                missing = -1;
        if (missing >= 0)
            return missing;
    }
    return -1;
}

static int32_t play(void *bot, const noughts_turn *turn) {
    const reach *self = (const reach *)bot;
    uint32_t free_cells[900], count = noughts_free(turn, free_cells), best = 0, ties = 0, i;
    unsigned char owner[900] = {0};
    uint64_t state = noughts_draws(turn);
    int32_t cell;
    for (i = 0; i < count; i++)
        owner[free_cells[i]] = 'f';
    for (i = 0; i < turn->ply; i++)
        owner[turn->moves[i]] = i % 2 == turn->side ? 'o' : 'x';
    if ((cell = completing(turn, owner, 'o')) >= 0 || (cell = completing(turn, owner, 'x')) >= 0)
        return cell;
    for (i = 0; i < count; i++)
        if (self->lines_through[free_cells[i]] > best)
            best = self->lines_through[free_cells[i]];
    for (i = 0; i < count; i++)
        if (self->lines_through[free_cells[i]] == best)
            free_cells[ties++] = free_cells[i];
    return (int32_t)free_cells[self->is_random ? noughts_below(&state, ties) : 0];
}

static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, create, destroy, "reach", ""};

NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
