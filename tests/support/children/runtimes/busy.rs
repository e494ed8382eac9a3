//! Threads, files and programs in Rust.
use std::{fs, process::Command, thread};

fn main() {
    let threads: Vec<_> = (0..4).map(|n| thread::spawn(move || vec![n; 1 << 20].len())).collect();
    let done = threads.into_iter().map(|each| each.join()).filter(Result::is_ok).count();
    fs::write("note", "here").unwrap();
    fs::copy("note", "copy").unwrap();
    let said = Command::new("cat").arg("copy").output().unwrap();
    println!("{} {}", done, String::from_utf8_lossy(&said.stdout));
}
