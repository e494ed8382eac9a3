// The search of `column_search.py` as a WebAssembly module: the same questions and answers, about 40 times as fast.
//
// Build it with `python tools/build_column_search.py`. The host calls `prepare` once, then `reaches` as often as it likes.
// Bit `column * (rows + 1) + height` is a cell, counted from the bottom, and the top bit of each column stays free.

const MOST_COLUMNS = 16;

// Positions whose bounds are remembered: a new one replaces an older one at the same place.
const PLACES = 1 << 20;
const PLACE_BITS = 20;
const BOUND_BITS = 10;
const BOUND_MASK = (1 << BOUND_BITS) - 1;
const BOUND_ZERO = 1 << (BOUND_BITS - 1);

// An entry: the hashed position without the bits that give its place, then `least` and `most`. An unused one is 0.
var entries: [PLACES]u64 = undefined;

var columns: u32 = 0;
var height: u6 = 0; // of a column with its free bit on top
var cells: i32 = 0;
var bottom: u64 = 0; // the lowest cell of each column
var board: u64 = 0; // all cells
var masks: [MOST_COLUMNS]u64 = undefined; // the cells of each column, the middle columns first

var granted: i64 = 0; // positions that the search may still visit before it asks the host again

// The opening book of Connect Four: its records, sorted, of four bytes for the position and one for the value.
var book: [*]const u8 = undefined;
var book_records: u32 = 0;
const BOOK_RECORD = 5;
const BOOK_FREE = 30; // free cells of a position in the book
const BOOK_LONGEST = 100; // a value is this number less the half-moves until the end

// How many positions may be visited now: 0 or fewer ends the search.
extern "host" fn grant() i64;

const Spent = error{Spent};

export fn prepare(new_columns: u32, rows: u32) void {
    columns = new_columns;
    height = @intCast(rows + 1);
    cells = @intCast(columns * rows);
    const column = (@as(u64, 1) << @intCast(rows)) - 1;
    for (0..columns) |number| bottom |= @as(u64, 1) << @intCast(number * height);
    board = bottom * column;
    const middle = @divTrunc(columns - 1, 2);
    for (0..columns) |number| {
        // The middle, its right neighbour, its left neighbour, and so on.
        const step: u32 = @intCast((number + 1) / 2);
        const place = if (number % 2 == 1) middle + step else middle - step;
        masks[number] = column << @intCast(place * height);
    }
}

// The host writes the records of the book behind the module's own memory, which it has grown for that.
export fn use_book(records: [*]const u8, number: u32) void {
    book = records;
    book_records = number;
}

// Forgets all positions, but not the book.
export fn forget() void {
    @memset(&entries, 0);
}

// Positions that were granted and not visited by the last search.
export fn left() i64 {
    return granted;
}

// Whether the side to move gets at least `score`: 1 or 0, and 2 if the host granted too few positions to know.
export fn reaches(score: i32, mine: u64, taken: u64) i32 {
    granted = 0;
    const free = cells - @as(i32, @popCount(taken));
    if (winning(mine) & (taken +% bottom) & board != 0) return @intFromBool(score <= free);
    const reached = search(score, mine, taken, winning(taken ^ mine) & ~taken, free) catch return 2;
    return @intFromBool(reached);
}

// The same if the side to move cannot win at once; `danger` has the cells that complete a line of the other side.
fn search(score: i32, mine: u64, taken: u64, danger: u64, free: i32) Spent!bool {
    if (score > @max(free - 2, 0) or score <= 1 - free) return score <= 1 - free;
    var moves = (taken +% bottom) & board;
    const forced = moves & danger;
    if (forced != 0) moves = if (forced & (forced - 1) == 0) forced else 0;
    moves &= ~(danger >> 1); // a stone below a cell that wins for the other side loses
    if (moves == 0 or free <= 2) return moves != 0 and score <= 0;

    // In each column, a bit above the stones ends them, so one number identifies both sides' stones. The multiplier is
    // odd: different positions have different hashes.
    const hash = (taken +% bottom +% mine) *% 0x9E3779B97F4A7C15;
    const entry = &entries[@intCast(hash >> (64 - PLACE_BITS))];
    const tag = hash << PLACE_BITS;
    var least = 1 - free;
    var most = free;
    if (entry.* != 0 and entry.* >> 2 * BOUND_BITS == tag >> 2 * BOUND_BITS) {
        least = @as(i32, @intCast(entry.* >> BOUND_BITS & BOUND_MASK)) - BOUND_ZERO;
        most = @as(i32, @intCast(entry.* & BOUND_MASK)) - BOUND_ZERO;
    } else if (free == BOOK_FREE and book_records > 0) {
        if (book_score(mine, taken)) |known| {
            least = known;
            most = known;
        }
    }
    if (score <= least or score > most) return score <= least;

    if (granted <= 0) granted = grant();
    if (granted <= 0) return Spent.Spent;
    granted -= 1;

    var threats: [MOST_COLUMNS]u64 = undefined;
    var occupied: [MOST_COLUMNS]u64 = undefined;
    var number: usize = 0;
    for (masks[0..columns]) |mask| {
        const move = moves & mask;
        if (move == 0) continue;
        // Moves that make more threats come first; among equals, those in the middle.
        const made = winning(mine | move) & ~(taken | move);
        var place = number;
        while (place > 0 and @popCount(threats[place - 1]) < @popCount(made)) : (place -= 1) {
            threats[place] = threats[place - 1];
            occupied[place] = occupied[place - 1];
        }
        threats[place] = made;
        occupied[place] = taken | move;
        number += 1;
    }
    var reached = false;
    for (threats[0..number], occupied[0..number]) |made, stones| {
        if (!try search(1 - score, taken ^ mine, stones, made, free - 1)) {
            reached = true;
            break;
        }
    }
    if (reached) least = score else most = score - 1;
    const bounds = @as(u64, @intCast(least + BOUND_ZERO)) << BOUND_BITS | @as(u64, @intCast(most + BOUND_ZERO));
    entry.* = tag >> 2 * BOUND_BITS << 2 * BOUND_BITS | bounds;
    return reached;
}

// The cells, taken or not, that complete a line of these stones.
fn winning(stones: u64) u64 {
    var found = stones << 1 & stones << 2 & stones << 3;
    for ([_]u6{ height - 1, height, height + 1 }) |step| {
        var pair = stones << step & stones << 2 * step;
        found |= pair & (stones << 3 * step | stones >> step);
        pair = stones >> step & stones >> 2 * step;
        found |= pair & (stones << step | stones >> 3 * step);
    }
    return found & board;
}

// The score in the book, which has one of each pair of mirror images; null if it has none of them.
fn book_score(mine: u64, taken: u64) ?i32 {
    const value = find(book_code(mine, taken, false)) orelse find(book_code(mine, taken, true)) orelse return null;
    if (value == 0) return 0;
    return if (value > 0) value + (BOOK_FREE + 1 - BOOK_LONGEST) else value - (BOOK_FREE + 1 - BOOK_LONGEST);
}

// For each column from the left, or from the right, its stones from the bottom: 10 if they belong to the side to move, 11
// if not, and 0 at the end of the column.
fn book_code(mine: u64, taken: u64, mirrored: bool) i32 {
    var code: u32 = 0;
    for (0..columns) |number| {
        const column = if (mirrored) columns - 1 - number else number;
        var cell = @as(u64, 1) << @intCast(column * height);
        while (taken & cell != 0) : (cell <<= 1) code = code << 2 | 2 | @intFromBool(mine & cell == 0);
        code <<= 1;
    }
    return @bitCast(code << 1);
}

fn find(code: i32) ?i32 {
    var first: u32 = 0;
    var end = book_records;
    while (first < end) {
        const middle = (first + end) / 2;
        const record = book + middle * BOOK_RECORD;
        const found: i32 = @bitCast(@as(u32, record[0]) << 24 | @as(u32, record[1]) << 16 | @as(u32, record[2]) << 8 | record[3]);
        if (found == code) return @as(i8, @bitCast(record[4]));
        if (found < code) first = middle + 1 else end = middle;
    }
    return null;
}
