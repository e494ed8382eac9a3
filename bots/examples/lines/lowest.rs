use std::io::{stdin, BufRead};

fn main() {
    for line in stdin().lock().lines().map_while(Result::ok) {
        let moves: Vec<usize> = line.split(' ').skip(2).map(|word| word.parse().unwrap()).collect();
        println!("{}", (0..).find(|cell| !moves.contains(cell)).unwrap());
    }
}
