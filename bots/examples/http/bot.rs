// Plays Connect Four over HTTP, without TLS: rustc -O bot.rs && ./bot NAME
use std::{env, io::{Read, Write}, net::TcpStream, process::exit, thread::sleep, time::Duration};
fn post(path: &str, body: &str) -> std::io::Result<String> {
    let (server, token) = (env::var("NOUGHTS_WEB").unwrap_or("127.0.0.1:7480".into()), env::var("NOUGHTS_TOKEN").unwrap());
    let server = server.trim_start_matches("http://");
    let head = format!("Host: {server}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}", body.len());
    let (mut stream, mut answer) = (TcpStream::connect(server)?, String::new());
    write!(stream, "POST /api/v1/play{path} HTTP/1.0\r\n{head}\r\n\r\n{body}")?;
    stream.read_to_string(&mut answer).map(|_| answer)
}
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(found, _)| found)
}
fn main() {
    let (name, mut session, mut moves) = (env::args().nth(1).expect("the name of the bot"), String::new(), String::new());
    loop {
        let answer = if session.is_empty() { post("", &format!(r#"{{"bot":"{name}","variants":["connect4"]}}"#)) }
            else { post(&format!("/{session}/moves?wait=25"), &format!(r#"{{"moves":[{moves}]}}"#)) }.unwrap_or_default();
        match answer.split(' ').nth(1).unwrap_or("") {
            "201" => session = between(&answer, "\"session\":\"", "\"").unwrap().into(),
            "200" => moves = between(&answer, "\"turns\":[{\"turn\":", ",").map_or(String::new(), |turn| {
                let legal: Vec<i32> = between(&answer, "\"legal\":[", "]").unwrap().split(',').flat_map(str::parse).collect();
                format!(r#"{{"turn":{turn},"move":{}}}"#, legal.iter().min_by_key(|cell| (**cell % 7 - 3).abs()).unwrap())
            }),
            "404" => (session, moves) = (String::new(), String::new()), // the session is over: open one again
            "" | "429" | "503" => sleep(Duration::from_secs(1)), // no answer, or the server is busy: send the same again
            _ => { eprintln!("{answer}"); exit(1) }
        }
    }
}
