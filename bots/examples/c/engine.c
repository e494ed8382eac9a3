/* engine.c: the `main` that turns a bot of this folder into a Gomocup engine: make pbrain-lowest
 *
 * It reads the manager's commands and calls the same functions that Noughts calls in a shared library. Five or more
 * in a row win. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noughts_bot.h"

enum { CELLS = 900, LINES = 4 * CELLS, K = 5 };

static uint32_t line_starts[LINES + 1], line_cells[LINES * K], no_starts[LINES + 1], no_cells[1];
static uint32_t moves[CELLS], ply;
static noughts_variant variant;
static const noughts_bot_api *api;
static void *bot;

static void stop_bot(void) {
    if (bot && api->destroy)
        api->destroy(bot);
    bot = 0;
}

/* Sets the board, and the lines of five cells that start at each cell in each of four directions. */
static void set_board(uint32_t columns, uint32_t rows) {
    static const int steps[4][2] = {{1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    uint32_t count = 0, row, column;
    int direction, i;
    for (direction = 0; direction < 4; direction++)
        for (row = 0; row + (uint32_t)(steps[direction][1] * (K - 1)) < rows; row++)
            for (column = 0; column < columns; column++) {
                const int last = (int)column + steps[direction][0] * (K - 1);
                if (last < 0 || last >= (int)columns)
                    continue;
                for (i = 0; i < K; i++)
                    line_cells[count * K + (uint32_t)i] =
                        (row + (uint32_t)(steps[direction][1] * i)) * columns +
                        (uint32_t)((int)column + steps[direction][0] * i);
                count++;
                line_starts[count] = count * K;
            }
    memset(&variant, 0, sizeof variant);
    variant.size = sizeof variant;
    variant.columns = columns;
    variant.rows = rows;
    variant.layers = 1;
    variant.cells = columns * rows;
    variant.k = K;
    variant.lines_count = count;
    variant.lines.starts = line_starts;
    variant.lines.cells = line_cells;
    variant.beside.starts = variant.below.starts = no_starts;
    variant.beside.cells = variant.below.cells = no_cells;
    variant.name = "gomoku";
}

static void start(long columns, long rows) {
    stop_bot();
    variant.cells = ply = 0;
    if (columns < K || rows < K || columns > CELLS || rows > CELLS || columns * rows > CELLS) {
        puts("ERROR the board must have at least 5 columns and rows, and at most 900 cells");
        return;
    }
    set_board((uint32_t)columns, (uint32_t)rows);
    bot = api->create ? api->create(&variant, "") : 0;
    puts("OK");
}

/* Returns the cell with these coordinates; -1 if it is not free or not on the board. */
static long cell_of(long column, long row) {
    uint32_t i;
    if (column < 0 || row < 0 || column >= (long)variant.columns || row >= (long)variant.rows)
        return -1;
    for (i = 0; i < ply; i++)
        if (moves[i] == (uint32_t)(row * (long)variant.columns + column))
            return -1;
    return row * (long)variant.columns + column;
}

static void think(void) {
    noughts_turn turn;
    int32_t cell;
    memset(&turn, 0, sizeof turn);
    turn.size = sizeof turn;
    turn.side = ply % 2;
    turn.ply = ply;
    turn.moves = moves;
    turn.own_clock_ms = turn.opponent_clock_ms = -1; /* this example ignores INFO, so it has no clock and no seed */
    turn.variant = &variant;
    cell = ply < variant.cells ? api->play(bot, &turn) : NOUGHTS_RESIGN;
    if (cell < 0) {
        puts("ERROR the bot resigns");
        return;
    }
    moves[ply++] = (uint32_t)cell;
    printf("%u,%u\n", (unsigned)cell % variant.columns, (unsigned)cell / variant.columns);
}

/* Reads the stones of a position up to DONE (1: ours, 2: the opponent's), in an order in which they can be played. */
static void read_board(void) {
    static uint32_t stones[2][CELLS];
    uint32_t counts[2] = {0, 0}, i;
    char line[256];
    long column, row, owner, cell;
    ply = 0;
    while (fgets(line, sizeof line, stdin) && strncmp(line, "DONE", 4) != 0)
        if (sscanf(line, "%ld,%ld,%ld", &column, &row, &owner) == 3 && (owner == 1 || owner == 2) &&
            (cell = cell_of(column, row)) >= 0 && counts[owner - 1] < CELLS)
            stones[owner - 1][counts[owner - 1]++] = (uint32_t)cell;
    if (counts[1] - counts[0] > 1) {
        puts("ERROR the board: expected equal numbers of stones, or one more of the opponent");
        return;
    }
    for (i = 0; i < counts[0] + counts[1]; i++) /* we are to move, so with equal numbers we moved first */
        moves[i] = stones[counts[0] == counts[1] ? i % 2 : 1 - i % 2][i / 2];
    ply = i;
    think();
}

int main(void) {
    char line[4096];
    long first, second, cell;
    api = noughts_bot();
    setvbuf(stdout, 0, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        char *end = line + strlen(line);
        while (end > line && isspace((unsigned char)end[-1]))
            *--end = 0;
        if (sscanf(line, "START %ld", &first) == 1)
            start(first, first);
        else if (sscanf(line, "RECTSTART %ld,%ld", &first, &second) == 2)
            start(first, second);
        else if (strcmp(line, "ABOUT") == 0)
            printf("name=\"%s\", version=\"1\", author=\"Noughts\"\n", api->name);
        else if (strcmp(line, "END") == 0)
            break;
        else if (!*line || strncmp(line, "INFO", 4) == 0)
            continue;
        else if (!variant.cells)
            puts("ERROR no board: expected START first");
        else if (strcmp(line, "RESTART") == 0)
            start((long)variant.columns, (long)variant.rows);
        else if (strcmp(line, "BOARD") == 0)
            read_board();
        else if (strcmp(line, "BEGIN") == 0)
            think();
        else if (sscanf(line, "TURN %ld,%ld", &first, &second) == 2) {
            if ((cell = cell_of(first, second)) < 0)
                puts("ERROR the move: expected a free cell");
            else {
                moves[ply++] = (uint32_t)cell;
                think();
            }
        } else
            puts("UNKNOWN");
    }
    stop_bot();
    return 0;
}
