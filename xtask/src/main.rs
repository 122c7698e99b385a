//! Every developer command: `cargo xtask up`, `cargo xtask test` and the rest.
//!
//! The commands install what they need by the system's package manager when
//! that is allowed, and otherwise say in one sentence what is missing.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod advisories;
mod clis;
mod compile;
mod dist;
mod fuzz;
mod house;
mod licences;
mod mcp_servers;
mod node;
mod packages;
mod pictures;
mod python;
mod report;
mod run;
mod test;
mod timings;
mod up;
mod web;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask up               build mission and start it
cargo xtask test [FILTER]    check and test everything
  --skip-postgres            without the tests that need a PostgreSQL server
  --skip-clis                without the tests that run the real agent CLIs
  --skip-mcp-servers         without the tests that run other people's MCP servers
  --skip-web                 without building the web board and its tests in a browser
  --quick                    tests only: no formatting, lints or licences
  --strict                   a flaky test, one that passes only when tried again, fails the run
  --long                     the long versions: thousands of kills and power cuts, full
                             matrices, every fuzz target; hours
cargo xtask web              build the web board into web/dist, which the program embeds
cargo xtask web check        generate the types of the operations and check the page with them
cargo xtask bench web        measure the web board in the browser
cargo xtask dist             every file of a release, into target/release-files: a static program in an archive,
                             .deb, npm package and container image; formula and flake that name
                             them; checksums and SBOM; the same bytes for the same commit
  --check                    build the commit twice, here and in a clone, and compare every byte
  --out DIR                  where the files go
  --binary FILE              pack this program, stripped, in place of building one
  --profile NAME             the profile of Cargo.toml to build with (dist)
  --url URL                  where the files will be found, for the formula and the flake
  --key FILE                 sign the checksums with a minisign key; its password, if it has one,
                             in MISSION_SIGNING_PASSWORD; the programs are built with its public
                             key, which MISSION_RELEASE_KEY names where the secret one is not
cargo xtask dist try [FILE]  pack a program that was built (target/debug/mission) and install, use and
                             remove each package in a clean Debian, as the test command does
cargo xtask dist upgrade     build the release before and upgrade it to this tree while twenty of
                             its agents work
cargo xtask clis             install the agent CLIs the tests run, into target/clis
cargo xtask mcp-servers      install the MCP servers the tests run, into target/mcp-servers
cargo xtask fuzz [TARGET]    fuzz the parsers
  --seconds N                for each target (60)
cargo xtask house [--json]   whether crates and files are built as docs/ARCHITECTURE.md says
                             arrows_up: dependencies (not of tests) that do not lead to a lower
                             floor; largest_circle: the most files of one crate that import each
                             other, directly or through others, where a file imports another if it
                             names an item defined there; a re-export is followed to the file
                             that defines, and is none itself; tests are left out;
                             large_crates: over 10,000 lines without tests
cargo xtask timings [PART] [--json]
                             what a developer waits for, in clones of the last commit; without a
                             PART all of them
  up                         a clean build for `cargo xtask up`: up_cpu_s, up_wall_s
  test                       the test command: test_wall_s in a clean clone, test_warm_wall_s with
                             built dependencies
  touch                      touch_CRATE_s, from a changed line to a passed unit test of the crate,
                             and touch_CRATE_run_s, to a program that runs
cargo xtask licences         check the licences of all dependencies
cargo xtask advisories       hold the crates and npm packages in the program against known weaknesses
  --db DIR                   a copy of https://github.com/RustSec/advisory-db, as MISSION_ADVISORY_DB
cargo xtask pictures         make the pictures of the README anew, into docs/pictures
cargo xtask deny             licences, sources and security advisories, by cargo-deny
";

fn main() -> ExitCode {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() {
        String::new()
    } else {
        arguments.remove(0)
    };
    let result = match command.as_str() {
        "up" => up::up(&arguments),
        "test" => test::test(&arguments),
        "web" => match arguments.first().map(String::as_str) {
            None => web::build(),
            Some("check") => web::check_alone(),
            Some(other) => Err(format!("`cargo xtask web` takes no `{other}`")),
        },
        "bench" => match arguments.first().map(String::as_str) {
            Some("web") => web::bench(),
            _ => Err(
                "`cargo xtask bench web` measures the web board; `mission bench` the rest"
                    .to_owned(),
            ),
        },
        "dist" => match arguments.first().map(String::as_str) {
            Some("try") => dist::try_one(&arguments[1..]),
            Some("upgrade") => dist::upgrade(&arguments[1..]),
            _ => dist::dist(&arguments),
        },
        "clis" => clis::install(),
        "mcp-servers" => mcp_servers::install(),
        "fuzz" => fuzz::fuzz(&arguments),
        "house" => house::house(&arguments),
        "timings" => timings::timings(&arguments),
        "licences" => licences::check().map(|count| println!("{count} packages, all allowed")),
        "advisories" => advisories::advisories(&arguments),
        "pictures" => pictures::pictures(&arguments),
        "deny" => licences::deny(),
        "" | "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no `cargo xtask {other}`\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                documents(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }

    #[test]
    fn the_documents_show_commands_and_options_that_there_are() {
        let root = run::root();
        let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
        documents(&root.join("docs"), &mut found);
        let offered = |text: &str| {
            let word = |character: char| character.is_alphanumeric() || character == '-';
            let mut places = HELP.match_indices(text);
            places.any(|(at, _)| !HELP[at + text.len()..].starts_with(word))
        };
        let mut shown = 0;
        for document in found {
            let text = std::fs::read_to_string(&document).unwrap();
            for (at, start) in text.match_indices("cargo xtask ") {
                let rest = text[at + start.len()..].split(['`', '\n', '#', '"']).next();
                let mut words = rest.unwrap_or_default().split_whitespace();
                let command = words.next().unwrap_or_default();
                let is_there = offered(&format!("cargo xtask {command}"));
                assert!(is_there, "{}: `{command}`", document.display());
                for option in words.filter(|word| word.starts_with("--")) {
                    assert!(offered(option), "{}: `{option}`", document.display());
                }
                shown += 1;
            }
        }
        assert!(shown > 40, "{shown}");
    }
}
