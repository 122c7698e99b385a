//! The reading of scripts beside bash's own: what it refuses is not understood here,
//! and words come out as it makes them. Only harmless scripts are run.

use std::path::Path;
use std::process::{Command, Stdio};

use missiond_guard::permissions::shell_words;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn bash() -> Option<Command> {
    let paths = ["/bin/bash", "/usr/bin/bash"];
    let path = paths.into_iter().find(|path| Path::new(path).exists())?;
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", "/nonexistent")
        .current_dir("/");
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Some(command)
}

/// The same scripts every time: `GUARD_CASES` says how many.
fn runner(config: Config) -> TestRunner {
    let cases = std::env::var("GUARD_CASES").ok();
    let cases = cases.and_then(|text| text.parse().ok());
    let config = Config {
        cases: cases.unwrap_or(config.cases),
        ..config
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Pieces of words that expand to the same everywhere: quotes, escapes, braces, set
/// variables. Nothing here names a program. One thing is not followed: an empty quote
/// behind an expansion that ends in a blank makes one more empty word.
fn piece() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("a"),
        Just("-b"),
        Just(" "),
        Just("'c d'"),
        Just("\"e f\""),
        Just("\\ "),
        Just("\\g"),
        Just("$'\\x68\\t'"),
        Just("{i,j}"),
        Just("{1..3}"),
        Just("$X"),
        Just("\"$X\""),
        Just("${X}"),
        Just("${Y:-k}"),
        Just("${X%l}"),
        Just("''a"),
        Just("\"\\$m\""),
        Just("'\"'"),
        Just("\"'\""),
        Just("$(echo n)"),
        Just("`echo o`"),
        Just("\"$(echo p q)\""),
        Just("="),
        Just("x,y"),
    ]
}

#[test]
fn words_are_those_that_bash_makes() {
    if bash().is_none() {
        return;
    }
    let config = Config {
        cases: 300,
        failure_persistence: None,
        ..Config::default()
    };
    let compared = std::cell::Cell::new(0);
    let words = proptest::collection::vec(piece(), 0..7);
    runner(config)
        .run(&words, |pieces| {
            let script = format!("X='r l'; Y=; printf '<%s>' {}", pieces.concat());
            let Some(mut words) = shell_words(&script) else {
                return Ok(());
            };
            // `printf`, its format, and what it prints.
            words.drain(..2);
            let ours: String = if words.is_empty() {
                "<>".to_owned()
            } else {
                words.iter().map(|word| format!("<{word}>")).collect()
            };
            let output = bash().expect("it was there").args(["-c", &script]).output();
            let theirs = output.expect("it was there").stdout;
            compared.set(compared.get() + 1);
            prop_assert_eq!(
                ours,
                String::from_utf8_lossy(&theirs).into_owned(),
                "{}",
                script
            );
            Ok(())
        })
        .expect("the same words");
    assert!(compared.get() > 100, "{}", compared.get());
}

#[test]
fn what_bash_refuses_is_not_understood() {
    if bash().is_none() {
        return;
    }
    let signs = prop_oneof![
        Just("a"),
        Just(" "),
        Just(";"),
        Just("&&"),
        Just("|"),
        Just("("),
        Just(")"),
        Just("{ "),
        Just("; }"),
        Just("if "),
        Just("; then "),
        Just("; fi"),
        Just("for x in "),
        Just("; do "),
        Just("; done"),
        Just("'"),
        Just("\""),
        Just("$("),
        Just("`"),
        Just("\n"),
        Just("<"),
        Just(">"),
        Just("case x in "),
        Just(";; esac"),
        Just("\\"),
        Just("<<E\nb\nE\n"),
        Just("! "),
        Just("[[ "),
        Just(" ]]"),
        Just("#"),
    ];
    let config = Config {
        cases: 400,
        failure_persistence: None,
        ..Config::default()
    };
    runner(config)
        .run(&proptest::collection::vec(signs, 1..10), |pieces| {
            let script = pieces.concat();
            if shell_words(&script).is_none() {
                return Ok(());
            }
            let status = bash()
                .expect("it was there")
                .args(["-n", "-c", &script])
                .status();
            prop_assert!(status.expect("it was there").success(), "{:?}", script);
            Ok(())
        })
        .expect("never understood where bash refuses");
}
