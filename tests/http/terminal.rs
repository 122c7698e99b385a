//! A slot on a page: the same screen as everywhere else, and one hand at a time.

use std::time::Duration;

use missiond_pty::Terminal;
use missiond_semantic::Size;
use serde_json::{Value, json};

use super::Http;
use super::client::{Login, token};
use super::socket::{Socket, SocketMessage};
use crate::harness::{TestHome, wait_for};

/// A page: what it was sent, drawn as the terminal in it would.
struct Page {
    socket: Socket,
    terminal: Terminal,
    size: Size,
    frames: usize,
}

impl Page {
    fn open(http: &Http, login: &Login, slot: &str) -> Self {
        Self::open_at(http, login, &format!("/api/v1/slots/{slot}/terminal"))
    }

    fn open_at(http: &Http, login: &Login, path: &str) -> Self {
        Self::of(Socket::open_as(http, login, path))
    }

    fn of(mut socket: Socket) -> Self {
        let first = socket.text();
        let size = size_of(&first);
        Self {
            socket,
            terminal: Terminal::new(size),
            size,
            frames: 0,
        }
    }

    fn rows(&mut self) -> Vec<String> {
        let rows = &self.terminal.screen().rows;
        rows.iter()
            .map(|row| row.text.trim_end().to_owned())
            .collect()
    }

    /// Draws until this is on the screen.
    fn wait_for(&mut self, text: &str) {
        while !self.rows().iter().any(|row| row.contains(text)) {
            match self.socket.next() {
                SocketMessage::Bytes(bytes) => self.draw(&bytes),
                SocketMessage::Text(told) => self.handle_message(&told),
                SocketMessage::Closed(code) => panic!("closed with {code:?} before {text}"),
            }
        }
    }

    /// Draws until this is told.
    fn wait_told(&mut self, kind: &str) -> Value {
        loop {
            match self.socket.next() {
                SocketMessage::Bytes(bytes) => self.draw(&bytes),
                SocketMessage::Text(told) => {
                    self.handle_message(&told);
                    if told["type"] == kind {
                        return told;
                    }
                }
                SocketMessage::Closed(code) => panic!("closed with {code:?} before {kind}"),
            }
        }
    }

    fn draw(&mut self, bytes: &[u8]) {
        self.terminal.feed(bytes, Duration::ZERO);
        self.frames += 1;
    }

    fn handle_message(&mut self, told: &Value) {
        if told["type"] == "size" {
            self.size = size_of(told);
            self.terminal.resize(self.size, Duration::ZERO);
        }
    }

    fn send(&mut self, message: &Value) {
        self.socket.send(message);
    }
}

fn size_of(told: &Value) -> Size {
    assert_eq!(told["type"], "size", "{told}");
    let number = |name: &str| u16::try_from(told[name].as_u64().unwrap()).unwrap();
    Size {
        columns: number("columns"),
        rows: number("rows"),
    }
}

fn spawn(home: &TestHome, name: &str, script: &str) {
    home.json(&["slot", "spawn", "--name", name, "--", "sh", "-c", script]);
}

#[test]
fn a_page_shows_the_screen_of_the_slot() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let (login, token) = (http.log_in(&home), token(&home, "ci"));
    spawn(
        &home,
        "colours",
        r"printf 'one\r\n\033[31mtwo\033[0m\r\n\033[5;10Hfar ready'; cat",
    );
    let mut page = Page::open(&http, &login, "colours");
    page.wait_for("far ready");
    let read = home.json(&["slot", "read", "colours"]);
    assert_eq!(json!(page.rows()), read["lines"]);
    assert_eq!(page.wait_told("taken")["by"], "nobody");

    home.json(&["slot", "kill", "colours"]);
    page.wait_told("ended");
    let gone = Socket::try_open(
        &http,
        "/api/v1/slots/nowhere/terminal",
        &[("authorization", &format!("Bearer {token}"))],
    );
    assert_eq!(gone.err().unwrap().status, 404);
}

#[test]
fn a_paced_page_gets_the_newest_picture_when_it_is_ready() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    spawn(
        &home,
        "counts",
        "stty -echo; echo ready; read go; for n in 1 2 3 4 5 6 7 8 9; do echo line $n; sleep 0.1; done; echo the end; cat",
    );
    // The program has said that it is ready before the page looks.
    wait_for("the program is ready", || {
        home.json(&["slot", "read", "counts"])["lines"]
            .to_string()
            .contains("ready")
    });
    let mut page = Page::open_at(&http, &login, "/api/v1/slots/counts/terminal?paced");
    page.wait_for("ready");
    assert_eq!(page.frames, 1);
    home.json(&["slot", "send", "counts", "go", "--force"]);
    wait_for("the program has ended its lines", || {
        home.json(&["slot", "read", "counts"])["lines"]
            .to_string()
            .contains("the end")
    });
    page.send(&json!({"type": "ready"}));
    page.wait_for("the end");
    assert_eq!(page.frames, 2, "nothing in between was sent");
}

#[test]
fn one_page_at_a_time_types() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    spawn(
        &home,
        "typed",
        "stty -echo; echo ready; while read line; do echo got $line; done",
    );
    let (mut one, mut other) = (
        Page::open(&http, &login, "typed"),
        Page::open(&http, &login, "typed"),
    );
    one.wait_for("ready");
    assert_eq!(one.wait_told("taken")["by"], "nobody");
    assert_eq!(other.wait_told("taken")["by"], "nobody");

    one.send(&json!({"type": "input", "data": "too early\r"}));
    let refused = one.wait_told("refused");
    assert!(
        refused["message"].as_str().unwrap().contains("take"),
        "{refused}"
    );
    one.send(&json!({"type": "take"}));
    assert_eq!(one.wait_told("taken")["by"], "you");
    assert_eq!(other.wait_told("taken")["by"], "somebody");
    other.send(&json!({"type": "take"}));
    let refused = other.wait_told("refused");
    assert!(
        refused["message"].as_str().unwrap().contains("somebody"),
        "{refused}"
    );

    one.send(&json!({"type": "input", "data": "hello\r"}));
    one.wait_for("got hello");
    other.wait_for("got hello");
    assert!(!one.rows().iter().any(|row| row.contains("too early")));
    one.send(&json!({"type": "resize", "columns": 70, "rows": 20}));
    let size = Size {
        columns: 70,
        rows: 20,
    };
    while other.size != size {
        other.wait_told("size");
    }
    one.send(&json!({"type": "resize", "columns": 1, "rows": 1}));
    one.wait_told("refused");
    one.send(&json!({"type": "shout"}));
    one.wait_told("refused");

    one.send(&json!({"type": "release"}));
    assert_eq!(one.wait_told("taken")["by"], "nobody");
    assert_eq!(other.wait_told("taken")["by"], "nobody");
    other.send(&json!({"type": "take"}));
    assert_eq!(other.wait_told("taken")["by"], "you");
    assert_eq!(one.wait_told("taken")["by"], "somebody");
    drop(other);
    assert_eq!(
        one.wait_told("taken")["by"],
        "nobody",
        "whoever leaves lets go"
    );

    // A program with a token looks on, and types nothing.
    let token = token(&home, "ci");
    let mut program = Page::of(Socket::open(&http, &token, "/api/v1/slots/typed/terminal"));
    program.wait_for("got hello");
    program.send(&json!({"type": "take"}));
    let refused = program.wait_told("refused");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("is for a person"),
        "{refused}"
    );
}

#[test]
fn a_page_that_does_not_look_gets_the_newest_picture_and_no_backlog() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let login = http.log_in(&home);
    let flood = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); \
        echo \"$i ......................................................\"; done; \
        echo flood over; cat";
    spawn(&home, "flood", flood);
    let mut page = Page::open(&http, &login, "flood");
    crate::harness::wait_for("the flood to be over", || {
        let read = home.json(&["slot", "read", "flood"]);
        read["lines"].to_string().contains("flood over")
    });
    page.wait_for("flood over");
    // 200,000 lines are 10,000 screens.
    assert!(page.frames < 5000, "{} frames", page.frames);
}

#[test]
fn a_slot_is_seen_as_picture_and_as_recording() {
    let home = TestHome::started();
    let http = Http::of(&home);
    let (login, token) = (http.log_in(&home), token(&home, "ci"));
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    spawn(&home, "shown", "echo recorded; cat");
    let mut page = Page::open(&http, &login, "shown");
    page.wait_for("recorded");
    let get = |what: &str| http.get(&format!("/api/v1/slots/shown/{what}"), &headers);
    let png = get("screenshot.png");
    assert_eq!(png.header("content-type"), Some("image/png"));
    assert!(png.body.starts_with(b"\x89PNG"));
    let svg = get("screenshot.svg");
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    assert!(String::from_utf8(svg.body).unwrap().contains("recorded"));
    assert!(
        String::from_utf8(get("screenshot.txt").body)
            .unwrap()
            .starts_with("recorded")
    );
    assert_eq!(
        http.get("/api/v1/slots/shown/screenshot.png", &[]).status,
        401
    );

    home.json(&["slot", "kill", "shown"]);
    let cast = get("recording");
    assert_eq!(cast.header("content-type"), Some("application/x-asciicast"));
    let cast = String::from_utf8(cast.body).unwrap();
    let mut lines = cast
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(
        (&header["version"], &header["width"]),
        (&json!(2), &json!(120))
    );
    assert!(lines.any(|event| event[2].as_str().unwrap().contains("recorded")));
    assert_eq!(get("recording/nothing").status, 404);
    assert_eq!(
        http.get("/api/v1/slots/none/recording", &headers).status,
        404
    );
}
