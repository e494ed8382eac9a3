//! `noughts_bot.h`, version 1, in Rust, without the fields that were appended later. The header explains each field.

use std::ffi::{c_char, c_void};

pub const VERSION: u32 = 1;
pub const RESIGN: i32 = -1;

#[repr(C)]
pub struct Sets {
    starts: *const u32,
    cells: *const u32,
}

#[repr(C)]
pub struct Variant {
    pub size: u32,
    pub columns: u32,
    pub rows: u32,
    pub layers: u32,
    pub cells: u32,
    pub k: u32,
    pub gravity: u32,
    pub exact: u32,
    pub lines_count: u32,
    pub lines: Sets,
    pub beside: Sets,
    pub below: Sets,
    name: *const c_char,
}

#[repr(C)]
pub struct Turn {
    pub size: u32,
    pub side: u32,
    pub ply: u32,
    moves: *const u32,
    pub seed: u64,
    pub own_clock_ms: i64,
    pub opponent_clock_ms: i64,
    variant: *const Variant,
}

#[repr(C)]
pub struct Api {
    pub size: u32,
    pub version: u32,
    pub play: extern "C" fn(*mut c_void, *const Turn) -> i32,
    pub create: Option<extern "C" fn(*const Variant, *const c_char) -> *mut c_void>,
    pub destroy: Option<extern "C" fn(*mut c_void)>,
    pub name: *const c_char,
    pub variants: *const c_char,
}

// It contains only pointers to constants.
unsafe impl Sync for Api {}

impl Sets {
    /// Returns the cells of set `index`, which must be less than the number of sets that the header states.
    pub fn get(&self, index: u32) -> &[u32] {
        unsafe {
            let (start, end) = (*self.starts.add(index as usize), *self.starts.add(index as usize + 1));
            std::slice::from_raw_parts(self.cells.add(start as usize), (end - start) as usize)
        }
    }
}

impl Turn {
    pub fn variant(&self) -> &Variant {
        unsafe { &*self.variant }
    }

    /// Returns the cells played so far, from the empty board; even indices are side 0's.
    pub fn moves(&self) -> &[u32] {
        unsafe { std::slice::from_raw_parts(self.moves, self.ply as usize) }
    }

    /// Returns the free cells that gravity allows, in ascending order.
    pub fn free(&self) -> Vec<u32> {
        let variant = self.variant();
        let mut taken = vec![false; variant.cells as usize];
        for &cell in self.moves() {
            taken[cell as usize] = true;
        }
        let supported = |cell: u32| variant.below.get(cell).iter().all(|&below| taken[below as usize]);
        (0..variant.cells).filter(|&cell| !taken[cell as usize] && supported(cell)).collect()
    }

    pub fn rng(&self) -> Rng {
        Rng(self.seed.wrapping_add(u64::from(self.ply).wrapping_mul(0xD134_2543_DE82_EF95)))
    }
}

/// The random numbers of one move: splitmix64.
pub struct Rng(u64);

impl Rng {
    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a random number from 0 to `count - 1`.
    pub fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.bits()) * count as u128) >> 64) as usize
    }
}
