//! Small real repositories of many kinds, each taken from a task to a merge by a
//! rehearsal agent, with checks that write files: all green in the first round, and
//! what is merged is what the agent wrote, to the file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};

/// One repository and the work in it.
struct Case {
    name: &'static str,
    /// Programs it needs; it is left out without one of them.
    needs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// Run with a shell in the repository before its first commit.
    prepare: &'static str,
    setup: &'static str,
    /// Steps of the agent.
    steps: &'static str,
    checks: &'static [&'static str],
    /// What the merge changes, and nothing else.
    changes: &'static [&'static str],
}

const CASE: Case = Case {
    name: "",
    needs: &[],
    files: &[],
    prepare: "",
    setup: "",
    steps: "",
    checks: &[],
    changes: &[],
};

const CALC: &str = "def add(a, b):\n    return a + b\n";
const CALC_TEST: &str = "import calc\nassert calc.sub(3, 1) == 2\n\
     open('report.txt', 'w').write('ok')\n";
const ADD_SUB: &str = "      - write: {file: calc.py, text: \"def add(a, b):\\n    return a + b\\n\
     \\n\\ndef sub(a, b):\\n    return a - b\\n\"}\n";

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "python-without-gitignore",
            needs: &["python3"],
            files: &[("calc.py", CALC), ("t.py", CALC_TEST)],
            // The agent runs the test as well, and leaves what that leaves.
            steps: concat!(
                "      - write: {file: calc.py, text: \"def sub(a, b):\\n    return a - b\\n\"}\n",
                "      - run: {argv: [python3, -c, \"import calc\"], exit: 0}\n"
            ),
            checks: &[
                "python3 t.py",
                "mkdir -p .pytest_cache && date > .pytest_cache/x",
            ],
            changes: &["calc.py"],
            ..CASE
        },
        Case {
            name: "python-with-gitignore",
            needs: &["python3"],
            files: &[
                ("calc.py", CALC),
                ("t.py", CALC_TEST),
                (".gitignore", "__pycache__/\nreport.txt\n"),
            ],
            steps: ADD_SUB,
            checks: &["python3 t.py"],
            changes: &["calc.py"],
            ..CASE
        },
        Case {
            name: "python-with-tracked-bytecode",
            needs: &["python3"],
            files: &[("calc.py", CALC), ("t.py", CALC_TEST)],
            prepare: "python3 -c 'import calc'",
            steps: ADD_SUB,
            checks: &["python3 t.py"],
            changes: &["calc.py"],
            ..CASE
        },
        Case {
            name: "node",
            needs: &["node"],
            files: &[
                (
                    "package.json",
                    "{\"name\": \"n\", \"version\": \"1.0.0\"}\n",
                ),
                ("index.js", "exports.one = () => 1;\n"),
                (
                    "test.js",
                    "const fs = require('fs');\n\
                     if (require('./index.js').two() !== 2) process.exit(1);\n\
                     for (const dir of ['node_modules/.cache', 'coverage']) {\n\
                       fs.mkdirSync(dir, { recursive: true });\n\
                       fs.writeFileSync(dir + '/out.json', '{}');\n\
                     }\n",
                ),
            ],
            steps: "      - append: {file: index.js, text: \"exports.two = () => 2;\\n\"}\n",
            checks: &["node test.js"],
            changes: &["index.js"],
            ..CASE
        },
        Case {
            name: "rust",
            needs: &["cargo"],
            files: &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"r\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
                ),
                ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
            ],
            steps: "      - append: {file: src/lib.rs, text: \"pub fn two() -> u32 {\\n    2\\n}\\n\"}\n",
            checks: &["cargo build --offline --quiet && test -e target && test -e Cargo.lock"],
            changes: &["src/lib.rs"],
            ..CASE
        },
        Case {
            name: "go",
            needs: &["go"],
            files: &[
                ("go.mod", "module example.com/g\n\ngo 1.19\n"),
                ("g.go", "package main\n\nfunc main() {}\n"),
            ],
            steps: "      - append: {file: g.go, text: \"\\nfunc two() int { return 2 }\\n\"}\n",
            checks: &["go build -o g.out . && test -e g.out"],
            changes: &["g.go"],
            ..CASE
        },
        Case {
            name: "java",
            needs: &["javac", "java"],
            files: &[(
                "Main.java",
                "class Main {\n  public static void main(String[] a) {}\n}\n",
            )],
            steps: "      - write: {file: Twice.java, text: \"class Twice {\\n  \
                    static int of(int n) { return 2 * n; }\\n}\\n\"}\n",
            checks: &["javac Main.java Twice.java && java Main"],
            changes: &["Twice.java"],
            ..CASE
        },
        Case {
            name: "make",
            needs: &["make", "cc"],
            files: &[
                (
                    "Makefile",
                    "app: main.o\n\tcc -o app main.o\nmain.o: main.c\n\tcc -c main.c\n\
                     test: app\n\t./app\n",
                ),
                ("main.c", "int main(void) { return 1; }\n"),
            ],
            steps: "      - write: {file: main.c, text: \"int main(void) { return 0; }\\n\"}\n",
            checks: &["make test"],
            changes: &["main.c"],
            ..CASE
        },
        Case {
            name: "submodule",
            files: &[("top.txt", "one\n")],
            prepare: "git init --quiet ../part && cd ../part && echo p > p.txt && git add p.txt && \
                 git -c user.name=P -c user.email=p@localhost commit --quiet -m part && \
                 cd - && git -c protocol.file.allow=always submodule add --quiet ../part part",
            setup: "git -c protocol.file.allow=always submodule update --init --quiet",
            steps: "      - write: {file: top.txt, text: \"two\\n\"}\n",
            checks: &["test -s part/p.txt && echo x >> part/p.txt && echo y > part/new.txt"],
            changes: &["top.txt"],
            ..CASE
        },
        Case {
            name: "lfs",
            needs: &["git-lfs"],
            files: &[
                (
                    ".gitattributes",
                    "*.bin filter=lfs diff=lfs merge=lfs -text\n",
                ),
                ("big.bin", "content\n"),
            ],
            prepare: "git lfs install --local",
            steps: "      - write: {file: big.bin, text: \"more content\\n\"}\n",
            checks: &["grep -q more big.bin && echo tested >> big.bin"],
            changes: &["big.bin"],
            ..CASE
        },
        Case {
            name: "pre-commit",
            files: &[("a.txt", "one\n")],
            prepare: "printf '#!/bin/sh\\nsed -i \"s/ *$//\" a.txt\\necho ran >> .git-hook.log\\n' \
                 > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && \
                 echo .git-hook.log > .gitignore",
            // The hook rewrites the file after it was staged, as formatters do.
            steps: concat!(
                "      - write: {file: a.txt, text: \"two   \\n\"}\n",
                "      - run: {argv: [git, commit, --quiet, --all, -m, mine], exit: 0}\n"
            ),
            checks: &["grep -qx two a.txt && echo more >> a.txt"],
            changes: &["a.txt"],
            ..CASE
        },
        Case {
            name: "generated",
            files: &[
                ("source.txt", "one\n"),
                ("generated.txt", "GENERATED one\n"),
                ("gone.txt", "the check deletes it\n"),
            ],
            steps: "      - write: {file: source.txt, text: \"two\\n\"}\n",
            checks: &["(echo GENERATED; date +%N; cat source.txt) > generated.txt; rm gone.txt"],
            changes: &["source.txt"],
            ..CASE
        },
        Case {
            name: "names",
            files: &[("sp ace/ünï cödé.txt", "one\n")],
            steps: "      - write: {file: \"sp ace/ünï cödé.txt\", text: \"two\\n\"}\n      \
                    - write: {file: \"neu/日本 語.txt\", text: \"three\\n\"}\n",
            checks: &["mkdir -p 'öut put' && date > 'öut put/résumé [1]*.txt'"],
            changes: &["neu/日本 語.txt", "sp ace/ünï cödé.txt"],
            ..CASE
        },
        Case {
            name: "monorepo",
            needs: &["python3", "node"],
            files: &[
                ("packages/a/calc.py", CALC),
                ("packages/a/t.py", CALC_TEST),
                ("packages/b/index.js", "exports.one = () => 1;\n"),
            ],
            steps: concat!(
                "      - append: {file: packages/a/calc.py, text: ",
                "\"def sub(a, b):\\n    return a - b\\n\"}\n",
                "      - append: {file: packages/b/index.js, text: \"exports.two = () => 2;\\n\"}\n"
            ),
            checks: &[
                "cd packages/a && python3 t.py",
                "cd packages/b && node -e 'require(\"./index.js\").two()' && mkdir dist && \
                 cp index.js dist",
            ],
            changes: &["packages/a/calc.py", "packages/b/index.js"],
            ..CASE
        },
    ]
}

fn shell(folder: &Path, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The repository with its first commit; its folder.
fn repository(root: &Path, case: &Case) -> PathBuf {
    let folder = root.join(case.name).join("repo");
    std::fs::create_dir_all(&folder).unwrap();
    shell(
        &folder,
        "git init --quiet --initial-branch=main && git config user.name Tester && \
         git config user.email tester@localhost && git config core.quotePath false",
    );
    for (name, content) in case.files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    if !case.prepare.is_empty() {
        shell(&folder, case.prepare);
    }
    shell(
        &folder,
        "git add --all && git commit --quiet --no-verify -m Begin",
    );
    folder
}

/// Where Rust is, for checks that get few variables.
fn rust_homes() -> Value {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let place = |name: &str, usual: &str| {
        let set = std::env::var_os(name).map(PathBuf::from);
        set.unwrap_or_else(|| home.join(usual))
    };
    json!({
        "RUSTUP_HOME": place("RUSTUP_HOME", ".rustup"),
        "CARGO_HOME": place("CARGO_HOME", ".cargo"),
    })
}

fn add(home: &TestHome, folder: &Path, case: &Case) -> String {
    let script = folder.with_file_name("script.yaml");
    let turns = format!(
        "rehearsal: 1\nstartup: 0.1\nturns:\n  - uses: always\n    steps:\n{}      \
         - signal: {{type: completed_claim, payload: {{summary: Written.}}}}\n",
        case.steps
    );
    std::fs::write(&script, turns).unwrap();
    let checks = case.checks.iter();
    let checks = checks.map(|run| json!({ "run": ["sh", "-ec", run], "env": rust_homes() }));
    let setup = match case.setup {
        "" => json!([]),
        setup => json!([{ "run": ["sh", "-ec", setup] }]),
    };
    let task = json!({
        "title": case.name,
        "engine": "rehearsal",
        "args": [script, "--speed", "50"],
        "repository": folder,
        "checks": checks.collect::<Vec<_>>(),
        "setup": setup,
    });
    let added = home.call("board_add", &json!({ "task": task }));
    added["task"]["number"].as_str().unwrap().to_owned()
}

#[test]
fn in_every_ecosystem_green_work_is_merged_and_only_the_agents_files() {
    let home = TestHome::with_config("[autopilot]\nsettle_ms = 200\n");
    home.start();
    home.json(&["autopilot", "resume"]);
    let place = tempfile::Builder::new()
        .prefix("ecosystems-")
        .tempdir()
        .unwrap();
    let mut begun = Vec::new();
    for case in cases() {
        if let Some(missing) = case.needs.iter().find(|program| !is_there(program)) {
            eprintln!("left out {}: there is no `{missing}` here", case.name);
            continue;
        }
        let folder = repository(place.path(), &case);
        if case.name == "lfs" {
            // Its filter is named in the repository's own configuration.
            let trusted = json!([folder]).to_string();
            home.json(&["config", "set", "autopilot.trusted_repositories", &trusted]);
        }
        let task = add(&home, &folder, &case);
        begun.push((case, folder, task));
    }
    assert!(begun.len() >= 12, "too few programs to say anything");
    for (case, folder, task) in &begun {
        let name = case.name;
        let mut details = Value::Null;
        wait_for(&format!("{name} to be over"), || {
            details = home.call("board_show", &json!({ "task": task }));
            !["open", "running"].contains(&details["task"]["status"].as_str().unwrap())
        });
        assert_eq!(details["task"]["status"], "done", "{name}: {details:#}");
        let attempts = details["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "{name}: {details:#}");
        assert_eq!(attempts[0]["outcome"], "verified", "{name}");
        // A conflict, or a second look of the agent, would have been another round.
        assert_eq!(attempts[0]["check_rounds"], 1, "{name}: {details:#}");
        let changed = shell(folder, "git diff --name-only -z main^1 main");
        let changed: BTreeSet<_> = changed
            .split('\0')
            .filter(|name| !name.is_empty())
            .collect();
        let expected: BTreeSet<_> = case.changes.iter().copied().collect();
        assert_eq!(changed, expected, "{name}");
        let status = shell(folder, "git status --porcelain --untracked-files=no");
        assert_eq!(status.trim(), "", "{name}: the person's checkout followed");
    }
    if let Some((_, folder, _)) = begun.iter().find(|(case, ..)| case.name == "lfs") {
        let stored = shell(folder, "git cat-file blob main:big.bin");
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:";
        assert!(stored.starts_with(pointer), "{stored}");
        assert_eq!(
            std::fs::read_to_string(folder.join("big.bin")).unwrap(),
            "more content\n"
        );
    }
}
