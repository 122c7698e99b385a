//! How many of the texts made to command are found, and how much of this repository, which
//! commands nobody, is taken for one.

use std::fs;
use std::path::{Path, PathBuf};

use missiond_guard::injection::corpus::samples;
use missiond_guard::injection::{Verdict, inspect};

/// Of one text that is looked at as a whole, as a tool or a file would bring it.
const PIECE: usize = 4000;

#[test]
fn nine_of_ten_that_try_to_command_are_found() {
    let (mut hostile, mut found, mut held, mut alarms) = (0, 0, 0, Vec::new());
    let mut missed = Vec::new();
    let samples = samples(11, 3000);
    for sample in &samples {
        let seen = inspect(&sample.text);
        match (sample.hostile, seen.verdict()) {
            (true, verdict) => {
                hostile += 1;
                held += usize::from(verdict == Verdict::Held);
                found += usize::from(verdict != Verdict::Plain);
                if verdict == Verdict::Plain {
                    missed.push(&sample.kind);
                }
            }
            (false, Verdict::Plain) => {}
            (false, _) => alarms.push((&sample.kind, seen)),
        }
    }
    println!(
        "{found} of {hostile} found, {held} held, {} false",
        alarms.len()
    );
    let of = |list: &[&String]| {
        let list: Vec<_> = list.iter().take(40).map(|kind| kind.as_str()).collect();
        list.join("\n")
    };
    println!("missed:\n{}", of(&missed));
    for (kind, seen) in alarms.iter().take(20) {
        println!("alarm: {kind}: {seen:?}");
    }
    assert!(
        found * 100 >= hostile * 93,
        "{found} of {hostile}: {}",
        of(&missed)
    );
    assert!(alarms.len() * 200 < samples.len() / 2, "{alarms:?}");
}

#[test]
fn this_repository_commands_nobody() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["crates", "docs", "tests", "xtask", "web/src", "manifests"] {
        below(&root.join(folder), &mut files);
    }
    let (mut pieces, mut alarms) = (0, Vec::new());
    for file in &files {
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let end = rest.floor_char_boundary(PIECE.min(rest.len()));
            let (piece, later) = rest.split_at(end);
            rest = later;
            pieces += 1;
            let seen = inspect(piece);
            if seen.verdict() != Verdict::Plain {
                let at: Vec<_> = seen
                    .findings
                    .iter()
                    .map(|one| (one.rule, &piece[one.start..one.end]))
                    .collect();
                alarms.push(format!("{} {} {at:?}", file.display(), seen.score));
            }
        }
    }
    println!(
        "{} of {pieces} pieces of {} files",
        alarms.len(),
        files.len()
    );
    println!("{}", alarms.join("\n"));
    assert!(files.len() > 500, "{}", files.len());
    assert!(alarms.len() * 200 < pieces, "{}", alarms.join("\n"));
}

/// The text files of a folder, but for those that are about orders to models.
fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() {
            if !matches!(&*name, "injection" | "node_modules" | "target" | "dist") {
                below(&path, files);
            }
        } else if !name.starts_with("injection") {
            let ends = path.extension().is_some_and(|end| {
                ["rs", "md", "ts", "tsx", "yaml", "txt", "sql", "toml"]
                    .iter()
                    .any(|one| end == *one)
            });
            if ends {
                files.push(path);
            }
        }
    }
}
