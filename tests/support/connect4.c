/* Exact values of connect4, by plain alpha-beta with a table of positions: an independent check of our solver.

   It shares nothing with the solver: cells are an array, and every stone looks along its four lines.
   Each line of stdin has the moves as columns from 1, as in `4453`. Each line of stdout has the value for the side to
   move (1 win, 0 draw, -1 loss) and the half-moves until the end (0 for a draw). */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 7, ROWS = 6, CELLS = 42, SLOTS = 1 << 22 };
enum { EXACT = 1, AT_LEAST, AT_MOST };

typedef struct {
    uint64_t first, second;
    int8_t value, kind;
} Entry;

static char board[ROWS][COLUMNS];
static int height[COLUMNS];
static uint64_t stones[2];
static Entry table[SLOTS];
static const int order[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};

static int run(int row, int column, int down, int right, char mark) {
    int length = 0;
    row += down, column += right;
    while (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS && board[row][column] == mark) {
        length++, row += down, column += right;
    }
    return length;
}

static int wins(int column, int side) {
    int row = height[column];
    char mark = (char)(side + 1);
    return run(row, column, 0, 1, mark) + run(row, column, 0, -1, mark) >= 3 || run(row, column, -1, 0, mark) >= 3 ||
           run(row, column, 1, 1, mark) + run(row, column, -1, -1, mark) >= 3 ||
           run(row, column, 1, -1, mark) + run(row, column, -1, 1, mark) >= 3;
}

static void place(int column, int side) {
    stones[side] ^= 1ULL << (column * ROWS + height[column]);
    board[height[column]++][column] = (char)(side + 1);
}

static void take_back(int column, int side) {
    board[--height[column]][column] = 0;
    stones[side] ^= 1ULL << (column * ROWS + height[column]);
}

/* A win with the stone of number n is worth 43 - n. */
static int search(int count, int alpha, int beta) {
    int side = count % 2;
    if (count == CELLS) return 0;
    for (int column = 0; column < COLUMNS; column++) {
        if (height[column] < ROWS && wins(column, side)) return CELLS - count;
    }
    uint64_t hash = (stones[0] * 0x9E3779B97F4A7C15ULL) ^ (stones[1] * 0xC2B2AE3D27D4EB4FULL);
    Entry *entry = &table[(hash ^ hash >> 29) % SLOTS];
    if (entry->kind && entry->first == stones[0] && entry->second == stones[1]) {
        int value = entry->value;
        if (entry->kind == EXACT || (entry->kind == AT_LEAST && value >= beta) ||
            (entry->kind == AT_MOST && value <= alpha)) {
            return value;
        }
    }
    int best = -100, floor = alpha;
    for (int number = 0; number < COLUMNS && best < beta; number++) {
        int column = order[number];
        if (height[column] == ROWS) continue;
        place(column, side);
        int value = -search(count + 1, -beta, -floor);
        take_back(column, side);
        if (value > best) best = value;
        if (best > floor) floor = best;
    }
    int kind = best >= beta ? AT_LEAST : best > alpha ? EXACT : AT_MOST;
    *entry = (Entry){stones[0], stones[1], (int8_t)best, (int8_t)kind};
    return best;
}

int main(void) {
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        int count = 0;
        memset(board, 0, sizeof board), memset(height, 0, sizeof height), memset(stones, 0, sizeof stones);
        for (char *at = line; *at >= '1' && *at <= '7'; at++) place(*at - '1', count++ % 2);
        int value = search(count, -CELLS, CELLS);
        int end = value > 0 ? CELLS + 1 - value : CELLS + 1 + value;
        printf("%d %d\n", (value > 0) - (value < 0), value ? end - count : 0);
        fflush(stdout);
    }
    return 0;
}
