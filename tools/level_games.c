/* Games between levels: the search of noughts_bots/reference/levels/search.py once more, about a hundred times as fast.

   `tools/calibrate_levels.py` compiles it for each variant. `tests/bots/reference/test_level.py` compares the moves.

   Input, all numbers in decimal: columns (0 without gravity), width, whether moves far from all stones are searched (1
   or 0), the number of weights and the weights of own lines, those of the other side's lines, and the cells of each
   line. Then, for each game, the depth and error of the first side, those of the second, and the seeds of both.
   Output: a line for each game with its moves. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELL_WORDS ((CELLS + 63) / 64)
#define LINE_WORDS ((LINES + 63) / 64)
#define HAS(set, bit) ((set)[(bit) / 64] >> ((bit) % 64) & 1)
#define ADD(set, bit) ((set)[(bit) / 64] |= 1ull << ((bit) % 64))
#define POPCOUNT __builtin_popcountll

enum { WIN = 1000, NEARNESS = 3000, MOST_STATIC = 900, MOST_COUNTS = 4 };
static const int64_t INFINITE = 1ll << 40;

typedef struct {
    uint64_t cells[CELL_WORDS];
    uint64_t lines[MOST_COUNTS][LINE_WORDS]; /* the lines with at least 1, 2, 3 and 4 stones */
} Stones;

typedef struct {
    int rating, cell;
} Rated;

typedef struct {
    int64_t total, error;
    int rating, cell, is_known;
} RootMove;

static int columns, width, every_cell, own_weights[MOST_COUNTS], other_weights[MOST_COUNTS], weights;
static int line_cells[LINES][LENGTH];
static uint64_t through[CELLS][LINE_WORDS], near_cells[CELLS][CELL_WORDS];

static void place(Stones *stones, int cell) {
    ADD(stones->cells, cell);
    for (int word = 0; word < LINE_WORDS; word++) {
        uint64_t lines = through[cell][word];
        for (int count = LENGTH - 2; count > 0; count--)
            stones->lines[count][word] |= stones->lines[count - 1][word] & lines;
        stones->lines[0][word] |= lines;
    }
}

static int is_playable(const uint64_t *occupied, int cell) {
    return !HAS(occupied, cell) && (!columns || cell + columns >= CELLS || HAS(occupied, cell + columns));
}

/* Fill `cells` with the playable cells that complete a line of `own`, and return their number. */
static int completing(const Stones *own, const Stones *other, const uint64_t *occupied, uint64_t *cells) {
    int number = 0;
    memset(cells, 0, CELL_WORDS * sizeof *cells);
    for (int word = 0; word < LINE_WORDS; word++)
        for (uint64_t lines = own->lines[LENGTH - 2][word] & ~other->lines[0][word]; lines; lines &= lines - 1) {
            const int *line = line_cells[word * 64 + __builtin_ctzll(lines)];
            for (int place = 0; place < LENGTH; place++)
                if (is_playable(occupied, line[place]) && !HAS(cells, line[place])) {
                    ADD(cells, line[place]);
                    number++;
                }
        }
    return number;
}

/* Sets of lines that a stone adds to or takes, with their weights. */
typedef struct {
    uint64_t lines[2 * MOST_COUNTS][LINE_WORDS];
    int weight[2 * MOST_COUNTS], number;
} Terms;

static void set_terms(Terms *terms, const Stones *own, const Stones *other) {
    terms->number = 0;
    for (int count = 0; count < weights; count++) {
        uint64_t *lines = terms->lines[terms->number], any = 0;
        for (int word = 0; word < LINE_WORDS; word++)
            any |= lines[word] = (count ? own->lines[count - 1][word] : ~0ull) & ~other->lines[0][word];
        terms->weight[terms->number] = own_weights[count];
        terms->number += any != 0;
    }
    for (int count = 0; count < weights; count++) {
        uint64_t *lines = terms->lines[terms->number], any = 0;
        for (int word = 0; word < LINE_WORDS; word++)
            any |= lines[word] = other->lines[count][word] & ~own->lines[0][word];
        terms->weight[terms->number] = other_weights[count];
        terms->number += any != 0;
    }
}

static int rating_of(const Terms *terms, int cell) {
    int rating = 0;
    for (int term = 0; term < terms->number; term++) {
        int number = 0;
        for (int word = 0; word < LINE_WORDS; word++)
            if (through[cell][word]) number += POPCOUNT(through[cell][word] & terms->lines[term][word]);
        rating += number * terms->weight[term];
    }
    return rating;
}

static int limited(int value) {
    return value < -MOST_STATIC ? -MOST_STATIC : value > MOST_STATIC ? MOST_STATIC : value;
}

/* Keep the best `width` moves in order: by rating, then by cell, in which order they come. Return their number. */
static int insert(Rated *moves, int number, Rated move) {
    int place = number < width ? number++ : width;
    for (; place > 0 && moves[place - 1].rating < move.rating; place--)
        if (place < width) moves[place] = moves[place - 1];
    if (place < width) moves[place] = move;
    return number;
}

static int64_t value(
    const Stones *own, const Stones *other, int stat, int depth, int64_t alpha, int64_t beta, int ply) {
    uint64_t occupied[CELL_WORDS], danger[CELL_WORDS], beside[CELL_WORDS] = {0};
    Terms terms;
    for (int word = 0; word < CELL_WORDS; word++) occupied[word] = own->cells[word] | other->cells[word];
    if (completing(own, other, occupied, danger)) return WIN + NEARNESS / (ply + 1);
    int dangers = completing(other, own, occupied, danger);
    if (dangers > 1) return -WIN - NEARNESS / (ply + 2);
    set_terms(&terms, own, other);
    if (dangers) {
        int cell = 0;
        while (!HAS(danger, cell)) cell++;
        Stones placed = *own;
        place(&placed, cell);
        return -value(other, &placed, -(stat + rating_of(&terms, cell)), depth, -beta, -alpha, ply + 1);
    }
    if (!every_cell)
        for (int cell = 0; cell < CELLS; cell++)
            if (HAS(occupied, cell))
                for (int word = 0; word < CELL_WORDS; word++) beside[word] |= near_cells[cell][word];
    Rated moves[CELLS];
    int number = 0;
    for (int only_near = !every_cell; only_near >= 0 && !number; only_near--)
        for (int cell = 0; cell < CELLS; cell++)
            if (is_playable(occupied, cell) && (!only_near || HAS(beside, cell)))
                number = insert(moves, number, (Rated){rating_of(&terms, cell), cell});
    if (!number) return 0;
    if (depth == 1) return limited(stat + moves[0].rating);
    int64_t best = -INFINITE;
    for (int move = 0; move < number; move++) {
        Stones placed = *own;
        place(&placed, moves[move].cell);
        int64_t score = -value(other, &placed, -(stat + moves[move].rating), depth - 1, -beta, -alpha, ply + 1);
        if (score > best) best = score;
        if (best > alpha) alpha = best;
        if (alpha >= beta) break;
    }
    return best;
}

static uint64_t mixed(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

static int64_t floor_quotient(int64_t one, int64_t other) {
    int64_t quotient = one / other;
    return one % other < 0 ? quotient - 1 : quotient;
}

static int by_total(const void *one, const void *other) {
    const RootMove *first = one, *second = other;
    if (first->total != second->total) return first->total < second->total ? 1 : -1;
    return first->cell - second->cell;
}

static int static_value(const Stones *own, const Stones *other) {
    int sum = 0;
    for (int count = 0; count < weights; count++)
        for (int word = 0; word < LINE_WORDS; word++)
            sum += other_weights[count] * (POPCOUNT(own->lines[count][word] & ~other->lines[0][word])
                                           - POPCOUNT(other->lines[count][word] & ~own->lines[0][word]));
    return sum;
}

static int choose(const Stones *own, const Stones *other, int ply, uint64_t seed, int depth, int64_t deviation) {
    uint64_t occupied[CELL_WORDS], wins[CELL_WORDS], danger[CELL_WORDS];
    RootMove moves[CELLS];
    Terms terms;
    int number = 0, stat = static_value(own, other);
    uint64_t state = seed + ply * 0xD1342543DE82EF95;
    for (int word = 0; word < CELL_WORDS; word++) occupied[word] = own->cells[word] | other->cells[word];
    completing(own, other, occupied, wins);
    int dangers = completing(other, own, occupied, danger);
    set_terms(&terms, own, other);
    for (int cell = 0; cell < CELLS; cell++)
        if (is_playable(occupied, cell)) {
            int rating = rating_of(&terms, cell), score, is_known = 1;
            if (HAS(wins, cell)) score = WIN + NEARNESS;
            else if (dangers > (int)HAS(danger, cell)) score = -WIN - NEARNESS / 2;
            else {
                score = limited(stat + rating);
                is_known = depth == 1;
            }
            uint64_t bits = mixed(state += 0x9E3779B97F4A7C15);
            int64_t total = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
            int64_t error = floor_quotient((total - 131070) * deviation, 37837);
            moves[number++] = (RootMove){score + error, error, rating, cell, is_known};
        }
    qsort(moves, number, sizeof *moves, by_total);
    int64_t best = -INFINITE;
    int choice = 0;
    for (int move = 0; move < number && move < width; move++) {
        RootMove each = moves[move];
        if (!each.is_known) {
            Stones placed = *own;
            place(&placed, each.cell);
            int64_t beta = each.error - best;
            each.total = each.error - value(other, &placed, -(stat + each.rating), depth - 1, -INFINITE, beta, 1);
        }
        if (each.total > best) {
            best = each.total;
            choice = each.cell;
        }
    }
    return choice;
}

static int64_t number(void) {
    long long read;
    if (scanf("%lld", &read) != 1) exit(0);
    return read;
}

int main(void) {
    columns = number(), width = number(), every_cell = number(), weights = number();
    for (int count = 0; count < weights; count++) own_weights[count] = number();
    for (int count = 0; count < weights; count++) other_weights[count] = number();
    for (int line = 0; line < LINES; line++)
        for (int place = 0; place < LENGTH; place++) {
            int cell = line_cells[line][place] = number();
            ADD(through[cell], line);
            if (place) {
                ADD(near_cells[cell], line_cells[line][place - 1]);
                ADD(near_cells[line_cells[line][place - 1]], cell);
            }
        }
    for (;;) {
        int depth[2], is_over = 0;
        int64_t error[2];
        unsigned long long seed[2];
        for (int side = 0; side < 2; side++) depth[side] = number(), error[side] = number();
        if (scanf("%llu %llu", &seed[0], &seed[1]) != 2) return 1;
        Stones stones[2];
        memset(stones, 0, sizeof stones);
        for (int ply = 0; ply < CELLS && !is_over; ply++) {
            int side = ply % 2;
            uint64_t occupied[CELL_WORDS], wins[CELL_WORDS];
            for (int word = 0; word < CELL_WORDS; word++)
                occupied[word] = stones[0].cells[word] | stones[1].cells[word];
            completing(&stones[side], &stones[1 - side], occupied, wins);
            int cell = choose(&stones[side], &stones[1 - side], ply, seed[side], depth[side], error[side]);
            is_over = HAS(wins, cell);
            place(&stones[side], cell);
            printf("%s%d", ply ? " " : "", cell);
        }
        printf("\n");
        fflush(stdout);
    }
}
