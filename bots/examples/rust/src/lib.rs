//! Plays a random free cell, the same cell as Noughts' own bot `random`.

#[allow(dead_code)] // this bot does not need all of it
mod abi;

use std::ffi::c_void;

fn choose(turn: &abi::Turn) -> Option<u32> {
    let free = turn.free();
    free.get(turn.rng().below(free.len())).copied()
}

extern "C" fn play(_bot: *mut c_void, turn: *const abi::Turn) -> i32 {
    // Do not panic here: Rust would end the process, and the bot would lose the game.
    choose(unsafe { &*turn }).map_or(abi::RESIGN, |cell| cell as i32)
}

static API: abi::Api = abi::Api {
    size: std::mem::size_of::<abi::Api>() as u32,
    version: abi::VERSION,
    play,
    create: None,
    destroy: None,
    name: c"random-rust".as_ptr(),
    variants: std::ptr::null(),
};

#[no_mangle]
pub extern "C" fn noughts_bot() -> *const abi::Api {
    &API
}
