//! A free cell, each with the same chance. It chooses what Noughts' own `random` chooses.

#[allow(dead_code)] // this bot does not need all of it
mod abi;

use std::ffi::c_void;

fn choose(turn: &abi::Turn) -> Option<u32> {
    let free = turn.free();
    free.get(turn.draws().below(free.len())).copied()
}

extern "C" fn play(_bot: *mut c_void, turn: *const abi::Turn) -> i32 {
    // A panic must not leave through C: Rust ends the process then, and the game is lost.
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
