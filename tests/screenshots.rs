//! Pictures of slots and recordings: they show what the terminal shows, also
//! after the program has ended, and say clearly when they cannot be had.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{TestHome, binary, text, wait_for};

const SHOW: &str = "printf '\\033[?25l\\033[38;2;255;0;0m\u{2588}\\033[0m <b> & \u{4e2d}\u{6587} \
                    \\033[1;32mready\\033[0m'; exec sleep 1000";

fn spawn(home: &TestHome, size: &str, script: &str) -> String {
    let slot = home.json(&[
        "slot", "spawn", "--name", "shown", "--size", size, "--", "/bin/sh", "-c", script,
    ]);
    slot["slot"].as_str().unwrap().to_owned()
}

fn wait_for_text(home: &TestHome, wanted: &str) {
    wait_for(&format!("`{wanted}` on the screen"), || {
        let shot = home.mission(&["slot", "screenshot", "shown"]);
        text(&shot.stdout).contains(wanted)
    });
}

/// Width, height and the colour of the pixel in the upper left.
fn decode(file: &Path) -> (u32, u32, [u8; 3]) {
    let file = std::io::BufReader::new(std::fs::File::open(file).unwrap());
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, [bytes[0], bytes[1], bytes[2]])
}

#[test]
fn a_slot_is_shown_in_every_format_also_when_it_is_closed() {
    let home = TestHome::started();
    let id = spawn(&home, "40x5", SHOW);
    wait_for_text(&home, "ready");

    let file = |name: &str| home.path().join(name);
    let shoot = |slot: &str, name: &str| {
        let path = file(name).display().to_string();
        home.json(&["slot", "screenshot", slot, "-o", &path])
    };
    let written = shoot("shown", "open.png");
    assert_eq!(written["format"], "png");
    assert_eq!(
        (&written["columns"], &written["rows"]),
        (&40.into(), &5.into())
    );
    assert_eq!(decode(&file("open.png")), (40 * 9, 5 * 20, [255, 0, 0]));
    shoot("shown", "open.svg");
    let svg = std::fs::read_to_string(file("open.svg")).unwrap();
    assert!(svg.contains("&lt;b&gt;") && svg.contains("中") && svg.contains("#ff0000"));
    let ansi = home.mission(&["slot", "screenshot", "shown", "--format", "ansi"]);
    let ansi = text(&ansi.stdout);
    assert!(ansi.contains("\x1b[0;38;2;255;0;0m█"), "{ansi:?}");
    assert!(ansi.contains("\x1b[0;1;32mready"), "{ansi:?}");
    let plain = home.mission(&["slot", "screenshot", "shown"]);
    assert_eq!(text(&plain.stdout), "█ <b> & 中文 ready");
    // Into a pipe, so an image is welcome.
    let piped = home.mission(&["slot", "screenshot", "shown", "--format", "png"]);
    assert_eq!(piped.stdout, std::fs::read(file("open.png")).unwrap());
    let answer = home.json(&["slot", "screenshot", "shown", "--format", "png"]);
    assert_eq!(answer["encoding"], "base64");
    assert!(
        answer["content"]
            .as_str()
            .unwrap()
            .starts_with("iVBORw0KGgo")
    );

    let listed = home.json(&["slot", "list"]);
    let recording = &listed["slots"][0]["program"]["recording"];
    let recording = recording.as_str().unwrap().to_owned();
    home.json(&["slot", "kill", "shown"]);
    shoot(&id, "closed.png");
    let image = std::fs::read(file("open.png")).unwrap();
    assert_eq!(std::fs::read(file("closed.png")).unwrap(), image);
    let replayed = file("replayed.png").display().to_string();
    home.json(&["semantic", "screenshot", &recording, "-o", &replayed]);
    assert_eq!(std::fs::read(&replayed).unwrap(), image);
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_reason() {
    let home = TestHome::started();
    let many = home.path().join("many-colours");
    std::fs::write(&many, many_colours()).unwrap();
    let script = format!(
        "cat '{}'; printf '\\033[Hready'; exec sleep 1000",
        many.display()
    );
    spawn(&home, "300x100", &script);
    wait_for_text(&home, "ready");
    let (code, said) = home.failure(&["slot", "screenshot", "shown", "-o", "/dev/null"]);
    assert_eq!(code, 2);
    assert!(said.contains(".png, .svg, .txt or .ansi"), "{said}");
    let (code, said) = home.failure(&["slot", "screenshot", "shown", "--format", "png"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("ask for another format"), "{said}");
    let ansi = home.json(&["slot", "screenshot", "shown", "--format", "ansi"]);
    assert_eq!(ansi["columns"], 300);

    home.json(&["slot", "resize", "shown", "1000x600"]);
    let (code, said) = home.failure(&["slot", "screenshot", "shown"]);
    assert_eq!(code, 6);
    assert!(said.contains("at most 1000x500 cells"), "{said}");
    let (code, _) = home.failure(&["slot", "screenshot", "nobody"]);
    assert_eq!(code, 4);
    home.json(&["slot", "kill", "shown", "--grace", "0"]);
}

#[test]
fn a_large_screen_full_of_code_fits_into_a_message() {
    let home = TestHome::started();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/args.rs");
    let script = format!("tr '\\n' ' ' < {source} | head -c 29900; printf READY; exec sleep 1000");
    spawn(&home, "300x100", &script);
    wait_for_text(&home, "READY");
    let file = home.path().join("code.png").display().to_string();
    let written = home.json(&["slot", "screenshot", "shown", "-o", &file]);
    assert_eq!(written["columns"], 300);
    let (width, height, _) = decode(Path::new(&file));
    assert_eq!((width, height), (2700, 2000));
    home.json(&["slot", "kill", "shown", "--grace", "0"]);
}

#[test]
fn an_image_is_not_poured_into_a_terminal() {
    let home = TestHome::started();
    let cast = home.path().join("a.cast");
    std::fs::write(
        &cast,
        "{\"version\":2,\"width\":9,\"height\":2}\n[0.5,\"o\",\"hi\"]\n",
    )
    .unwrap();
    let cast = cast.display().to_string();
    let plain = home.mission(&["semantic", "screenshot", &cast]);
    assert_eq!(text(&plain.stdout), "hi");
    let printed = home.json(&["semantic", "screenshot", &cast]);
    assert_eq!(printed["content"], "hi\n");
    assert_eq!(printed["encoding"], "text");
    let program = binary().display().to_string();
    let script = format!("{program} semantic screenshot {cast} --format png; exec sleep 1000");
    spawn(&home, "120x10", &script);
    wait_for_text(&home, "a PNG image is not for a terminal");
    home.json(&["slot", "kill", "shown", "--grace", "0"]);
    assert_eq!(home.json(&["slot", "list"])["slots"], Value::Array(vec![]));
}

fn arguments<'a>(cast: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["semantic", "animate", cast], more].concat()
}

#[test]
fn a_recording_becomes_a_moving_picture() {
    let home = TestHome::new();
    let file = |name: &str| home.path().join(name).display().to_string();
    let (cast, picture) = (file("a.cast"), file("a.svg"));
    let recorded = "{\"version\":2,\"width\":9,\"height\":2}\n\
                    [4,\"o\",\"hi\"]\n[8,\"o\",\" you\"]\n";
    std::fs::write(&cast, recorded).unwrap();
    let written = home.json(&arguments(
        &cast,
        &["-o", &picture, "--speed", "2", "--longest-pause", "3"],
    ));
    let svg = std::fs::read_to_string(&picture).unwrap();
    // Two pauses of three seconds at twice the speed, and that at the end.
    let expected = json!({
        "file": picture, "columns": 9, "rows": 2, "frames": 3, "seconds": 8.0, "bytes": svg.len(),
    });
    assert_eq!(written, expected);
    let printed = home.mission(&arguments(&cast, &["--speed", "2", "--longest-pause", "3"]));
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), svg);
    let light = home.json(&arguments(&cast, &["--theme", "light"]));
    let light = light["content"].as_str().unwrap();
    assert!(svg.contains("prefers-color-scheme") && !light.contains("prefers-color-scheme"));

    std::fs::write(&cast, format!("{recorded}[900000,\"o\",\"late\"]\n")).unwrap();
    let (code, said) = home.failure(&arguments(&cast, &["--longest-pause", "900000"]));
    assert_eq!(code, 6, "{said}");
    assert!(said.contains("more than 10 minutes"), "{said}");
    let (code, said) = home.failure(&arguments(&cast, &["--speed", "0"]));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("a number from 0.1 to 100"), "{said}");
}

/// A screen of 300x100 on which hardly two cells are alike.
fn many_colours() -> String {
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 24
    };
    let mut output = String::new();
    for _ in 0..29_999 {
        let letter = char::from_u32(33 + next() % 94).unwrap();
        output.push_str(&format!(
            "\x1b[38;2;{};{};{};48;5;{}m{letter}",
            next(),
            next(),
            next(),
            next()
        ));
    }
    output
}
