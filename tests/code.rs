//! The code map through the real daemon, over real git repositories: found, shown
//! and mapped, current after every change, and beacons that follow their code.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{TestHome, text, wait_for};
use crate::ollama::Ollama;

fn git(folder: &Path, args: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let mut command = Command::new("git");
    let output = command
        .args(who)
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

const AUTH: &str = "\
//! Who may come in.

/// Lets a request pass whose token is known.
pub fn check_token(header: &str, keys: &KeyStore) -> Result<Claims, AuthError> {
    let token = header.strip_prefix(\"Bearer \").ok_or(AuthError::Missing)?;
    let claims = keys.verify(token)?;
    if claims.expired() {
        return Err(AuthError::Expired);
    }
    Ok(claims)
}
";

const STORE: &str = "\
\"\"\"Keeps things.\"\"\"

class KeyStore:
    def verify(self, token):
        \"\"\"Finds out whose token it is.\"\"\"
        return self.known[token]
";

/// A home with a daemon, and a repository on `main` with one commit.
pub(crate) struct Shop {
    pub(crate) home: TestHome,
    pub(crate) root: PathBuf,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::with_home(TestHome::started())
    }

    fn with_home(home: TestHome) -> Self {
        let root = home.path().join("shop");
        let shop = Self { home, root };
        shop.write("src/auth.rs", AUTH);
        shop.write("src/store.py", STORE);
        shop.git(&["init", "--quiet", "--initial-branch=main"]);
        shop.commit("first");
        shop
    }

    fn git(&self, args: &[&str]) {
        git(&self.root, args);
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn code(&self, args: &[&str]) -> Value {
        self.code_in(&self.root, args)
    }

    fn code_in(&self, root: &Path, args: &[&str]) -> Value {
        let path = root.to_str().unwrap();
        self.home.json(&[&["code", "--path", path], args].concat())
    }

    fn failure(&self, args: &[&str]) -> (i32, String) {
        let path = self.root.to_str().unwrap();
        self.home
            .failure(&[&["code", "--path", path], args].concat())
    }

    /// `path:line name` of what a search finds first.
    fn first(&self, query: &str) -> String {
        let found = self.code(&["search", query]);
        assert_eq!(found["freshness"]["state"], "current", "{found}");
        let hit = &found["hits"][0];
        if hit.is_null() {
            return String::new();
        }
        let (path, name) = (hit["path"].as_str().unwrap(), hit["name"].as_str().unwrap());
        format!("{path}:{} {name}", hit["first_line"])
    }

    /// `path name standing` of the one piece of a beacon.
    fn beacon(&self, name: &str) -> String {
        beacon(&self.code(&["beacon", "list"]), name)
    }

    fn events_of_kind(&self, kind: &str) -> Vec<Value> {
        let events = self
            .home
            .events()
            .into_iter()
            .map(|event| event["event"].clone());
        events.filter(|event| event["type"] == kind).collect()
    }
}

fn beacon(listed: &Value, name: &str) -> String {
    let beacons = listed["beacons"].as_array().unwrap();
    let beacon = beacons
        .iter()
        .find(|beacon| beacon["name"] == name)
        .unwrap();
    let piece = &beacon["pieces"][0];
    let of = |key: &str| piece[key].as_str().unwrap().to_owned();
    format!("{} {} {}", of("path"), of("name"), of("standing"))
}

#[test]
fn a_name_that_no_symbol_has_is_said_before_what_is_similar() {
    let shop = Shop::new();
    let found = shop.code(&["search", "TokenGate"]);
    assert_eq!(found["unknown_names"], json!(["TokenGate"]), "{found}");
    assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");
    let path = shop.root.display().to_string();
    let args = ["code", "--path", path.as_str(), "search", "TokenGate"];
    let shown = text(&shop.home.mission(&args).stdout);
    assert!(
        shown.starts_with("No symbol of that name: `TokenGate`. These are similar:\n"),
        "{shown}"
    );
    let known = shop.code(&["search", "check_token"]);
    assert_eq!(known["unknown_names"], Value::Null, "{known}");
}

#[test]
fn repositories_that_were_read_are_listed() {
    let shop = Shop::new();
    let listed = || shop.home.json(&["call", "code_list", "{}"])["repositories"].clone();
    assert_eq!(listed(), json!([]));
    shop.code(&["search", "check_token"]);
    let known = listed();
    let root = std::fs::canonicalize(&shop.root).unwrap();
    assert_eq!(known[0]["root"], root.to_str().unwrap(), "{known}");
    assert_eq!(known[0]["files"], 2, "{known}");
    assert_eq!(known[0]["exists"], true, "{known}");
    assert!(known[0]["checked_at"].is_string(), "{known}");
    std::fs::remove_dir_all(&shop.root).unwrap();
    assert_eq!(listed()[0]["exists"], false);
}

#[test]
fn code_is_found_by_what_it_means_once_a_model_has_read_it() {
    let ollama = Ollama::serve(64, usize::MAX, Duration::ZERO);
    let home = TestHome::with_config(&ollama.config());
    home.start();
    let shop = Shop::with_home(home);
    shop.write(
        "src/yard.rs",
        "/// Moves the auto into its place.\npub fn settle() {}\n",
    );
    shop.commit("a yard");
    let status = || shop.code(&["status"]);
    shop.code(&["search", "check_token"]);
    wait_for("the code to be read by the model", || {
        let status = status();
        status["to_embed"] != 0 && status["embedded"] == status["to_embed"]
    });
    // No word of it is in the code, and "car" means "auto" to this model.
    let found = shop.code(&["search", "car", "vehicle"]);
    assert_eq!(found["vectors_used"], true, "{found}");
    assert_eq!(found["notice"], Value::Null, "{found}");
    assert_eq!(found["hits"][0]["name"], "settle", "{found}");
    assert_eq!(found["hits"][0]["matched"], "meaning", "{found}");

    // What was read once is not read again, by the next daemon or from elsewhere.
    let read = ollama.embedded();
    let all = status()["to_embed"].as_u64().unwrap() as usize;
    shop.home.json(&["daemon", "restart"]);
    shop.git(&["mv", "src/yard.rs", "src/place.rs"]);
    shop.code(&["index"]);
    wait_for("the vectors to be there again", || {
        status()["embedded"].as_u64() == Some(all as u64)
    });
    // The file has another name now; what is in it has not.
    assert!(ollama.embedded() < read + all);
}

#[test]
fn code_is_found_by_name_and_by_words_and_shown() {
    let shop = Shop::new();
    let exact = "src/auth.rs:4 check_token";
    assert_eq!(shop.first("check_token"), exact);
    assert_eq!(
        shop.first("where does a request with a known token pass?"),
        exact
    );
    assert_eq!(
        shop.first("KeyStore.verify"),
        "src/store.py:4 KeyStore.verify"
    );
    let hit = &shop.code(&["search", "check_token"])["hits"][0];
    assert_eq!(hit["matched"], "name");
    assert_eq!(hit["doc"], "Lets a request pass whose token is known.");
    let signature =
        "pub fn check_token(header: &str, keys: &KeyStore) -> Result<Claims, AuthError>";
    assert_eq!(hit["signature"], signature);

    let shown = shop.code(&["show", "check_token"]);
    let source = shown["found"][0]["source"].as_str().unwrap();
    assert!(AUTH.contains(source) && source.ends_with('}'), "{source}");
    let outline = shop.code(&["show", "src/store.py"]);
    let outline = outline["found"][0]["source"].as_str().unwrap();
    assert_eq!(
        outline,
        "    3  class KeyStore:\n    4    def verify(self, token):"
    );
    let map = shop.code(&["map", "--tokens", "100"]);
    assert!(
        map["text"].as_str().unwrap().contains("check_token"),
        "{map}"
    );
    assert!(map["tokens"].as_u64().unwrap() <= 100, "{map}");
    // For people, from a folder below.
    let below = shop.root.join("src");
    let said = shop.home.mission(&[
        "code",
        "--path",
        below.to_str().unwrap(),
        "search",
        "check_token",
    ]);
    assert!(text(&said.stdout).starts_with("src/auth.rs:4 function check_token"));
}

#[test]
fn an_answer_is_current_after_an_edit_and_after_a_checkout() {
    let shop = Shop::new();
    assert_eq!(shop.first("check_token"), "src/auth.rs:4 check_token");
    shop.write("src/auth.rs", AUTH.replace("check_token", "admit_token"));
    assert_eq!(shop.first("admit_token"), "src/auth.rs:4 admit_token");
    assert!(!shop.first("check_token").contains("check_token"));
    shop.git(&["switch", "--quiet", "--create", "other"]);
    shop.write("src/extra.go", "package extra\n\nfunc Extra() {}\n");
    shop.commit("second");
    assert_eq!(shop.first("Extra"), "src/extra.go:3 Extra");
    shop.git(&["switch", "--quiet", "main"]);
    assert_eq!(shop.first("check_token"), "src/auth.rs:4 check_token");
    assert!(!shop.first("Extra").contains("Extra"));
    // A pass reads what differs and nothing else.
    let status = shop.code(&["index"]);
    assert_eq!(status["last_pass"]["changed"], 0, "{status}");
    assert_eq!(status["files"], 2);
    let passes = shop.events_of_kind("code_indexed");
    assert_eq!(passes[0]["changed"], 2, "{passes:?}");
}

#[test]
fn what_no_person_wrote_is_skipped_with_its_reason() {
    let shop = Shop::new();
    shop.write(".gitignore", "/build\n");
    shop.write("build/out.rs", "fn built() {}");
    shop.write("generated.c", vec![b'\n'; 50 * 1024 * 1024]);
    shop.write("app.min.js", format!("var a={};", "1+".repeat(20_000)));
    shop.write("binary.py", b"a\0b");
    shop.write("latin.java", b"class Gr\xf6sse {}");
    symlink(&shop.root, shop.root.join("loop")).unwrap();
    symlink("/etc", shop.root.join("outside")).unwrap();
    let status = shop.code(&["index"]);
    assert_eq!(status["freshness"]["state"], "current", "{status}");
    assert_eq!(
        (&status["files"], &status["skipped_count"]),
        (&json!(2), &json!(4))
    );
    let reason = |path: &str| {
        let skipped = status["skipped"].as_array().unwrap();
        let file = skipped.iter().find(|file| file["path"] == path).unwrap();
        file["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(reason("generated.c"), "larger than the limit of 1 MB");
    assert_eq!(
        reason("app.min.js"),
        "its lines are too long to be written by hand"
    );
    assert_eq!(reason("binary.py"), "it holds NUL bytes");
    assert_eq!(reason("latin.java"), "it is not UTF-8");
    assert!(!shop.first("built").contains("built"));
    // Once it is written by a person it is read.
    shop.write("latin.java", "class Size {}");
    assert_eq!(shop.first("Size"), "latin.java:1 Size");
}

#[test]
fn a_beacon_follows_its_code_and_is_never_moved_without_a_word() {
    let shop = Shop::new();
    let set = [
        "beacon",
        "set",
        "auth middleware",
        "src/auth.rs:check_token",
        "--note",
        "all pass here",
    ];
    shop.code(&set);
    assert_eq!(
        shop.beacon("auth middleware"),
        "src/auth.rs check_token unchanged"
    );
    shop.write(
        "src/auth.rs",
        format!("use x;\n{}", AUTH.replace("expired()", "is_over()")),
    );
    assert_eq!(
        shop.beacon("auth middleware"),
        "src/auth.rs check_token edited"
    );

    shop.git(&["mv", "src/auth.rs", "src/guard.rs"]);
    assert_eq!(
        shop.beacon("auth middleware"),
        "src/guard.rs check_token moved"
    );
    shop.write(
        "src/guard.rs",
        AUTH.replace("expired()", "is_over()")
            .replace("check_token", "admit"),
    );
    assert_eq!(shop.beacon("auth middleware"), "src/guard.rs admit renamed");
    let shown = shop.code(&["show", "auth middleware"]);
    assert_eq!(shown["found"][0]["name"], "admit");
    let found = shop.code(&["search", "show me the auth middleware"]);
    assert_eq!(found["beacons"][0]["name"], "auth middleware");
    let moves: Vec<_> = shop
        .events_of_kind("beacon_moved")
        .iter()
        .map(|event| format!("{} {} {}", event["from"], event["to"], event["trail"]))
        .collect();
    let expected = [
        r#""src/auth.rs:check_token" "src/guard.rs:check_token" "moved""#,
        r#""src/guard.rs:check_token" "src/guard.rs:admit" "renamed""#,
    ];
    assert_eq!(moves, expected);

    // Gone with a branch, back with another.
    shop.commit("renamed");
    shop.git(&["switch", "--quiet", "--create", "without"]);
    shop.git(&["rm", "--quiet", "src/guard.rs"]);
    shop.commit("removed");
    assert_eq!(shop.beacon("auth middleware"), "src/guard.rs admit lost");
    let (_, said) = shop.failure(&["show", "auth middleware"]);
    assert!(said.contains("is lost"), "{said}");
    assert_eq!(shop.events_of_kind("beacon_lost").len(), 1);
    shop.git(&["switch", "--quiet", "main"]);
    assert!(
        shop.beacon("auth middleware")
            .starts_with("src/guard.rs admit ")
    );
    assert!(!shop.beacon("auth middleware").ends_with("lost"));
    assert_eq!(shop.events_of_kind("beacon_lost").len(), 1);

    shop.code(&["beacon", "remove", "auth middleware"]);
    let (code, said) = shop.failure(&["beacon", "remove", "auth middleware"]);
    assert_ne!(code, 0);
    assert!(said.contains("there is no beacon"), "{said}");
}

#[test]
fn a_worktree_sees_the_beacons_of_its_repository() {
    let shop = Shop::new();
    shop.code(&["beacon", "set", "door", "check_token"]);
    let worktree = shop.home.path().join("tree");
    let path = worktree.to_str().unwrap();
    shop.git(&["worktree", "add", "--quiet", "-b", "work", path]);
    std::fs::rename(worktree.join("src/auth.rs"), worktree.join("src/new.rs")).unwrap();
    let there = shop.code_in(&worktree, &["beacon", "list"]);
    assert_eq!(beacon(&there, "door"), "src/new.rs check_token moved");
    // What a worktree does moves nothing for the others.
    assert_eq!(shop.beacon("door"), "src/auth.rs check_token unchanged");
    assert_eq!(shop.events_of_kind("beacon_moved").len(), 0);
}

/// A repository of so many files with two symbols each.
fn fill(shop: &Shop, files: usize) {
    for number in 0..files {
        let text = format!(
            "/// Number {number}.\npub fn work_{number}() {{ work_{}(); }}\n",
            number / 2
        );
        shop.write(&format!("src/gen/f{number}.rs"), text.repeat(10));
    }
}

#[test]
fn a_daemon_that_died_in_a_pass_loses_nothing_and_holds_nothing_twice() {
    let shop = Shop::new();
    fill(&shop, 600);
    shop.code(&["index", "--no-wait"]);
    wait_for("part of the pass", || {
        let status = shop.code(&["status"]);
        // The daemon answers others meanwhile.
        assert_eq!(shop.home.json(&["call", "health"])["healthy"], true);
        status["files"].as_u64().unwrap() >= 100
    });
    shop.home.kill();
    let again = shop.code(&["index"]);
    let fresh = shop.code(&["index", "--rebuild"]);
    for key in ["files", "symbols", "lines", "languages", "skipped_count"] {
        assert_eq!(again[key], fresh[key], "{key}");
    }
    assert_eq!(fresh["files"], 602);
    assert_eq!(shop.first("work_599"), "src/gen/f599.rs:2 work_599");

    // The next daemon has it all without reading.
    shop.home.json(&["down"]);
    let next = shop.code(&["index"]);
    assert_eq!(next["symbols"], fresh["symbols"]);
    assert_eq!(next["last_pass"]["changed"], 0, "{next}");
}

#[test]
fn a_folder_without_git_is_read_only_if_somebody_says_so() {
    let shop = Shop::new();
    let plain = tempfile::tempdir().unwrap();
    let folder = plain.path().join("inner");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.sh"), "greet() { echo hi; }\n").unwrap();
    let path = folder.to_str().unwrap();
    let (_, said) = shop
        .home
        .failure(&["code", "--path", path, "search", "greet"]);
    assert!(said.contains("is in no git repository"), "{said}");
    let (_, said) = shop.home.failure(&["code", "--path", path, "status"]);
    assert!(said.contains("was not indexed yet"), "{said}");
    shop.home
        .json(&["code", "index", plain.path().to_str().unwrap()]);
    let found = shop.code_in(&folder, &["search", "greet"]);
    assert_eq!(found["hits"][0]["path"], "inner/a.sh", "{found}");
    let (_, said) = shop.home.failure(&["code", "index", "/"]);
    assert!(said.contains("cannot be indexed"), "{said}");
}

#[test]
fn bad_questions_are_refused_with_a_sentence() {
    let shop = Shop::new();
    let long = "a".repeat(100_000);
    for (args, sentence) in [
        (
            &["search", long.as_str()][..],
            "the text is longer than 1000 characters",
        ),
        (&["search", "?!"], "no word to search for"),
        (
            &["search", "a", "--kind", "gadget"],
            "invalid value 'gadget' for '--kind <KIND>'",
        ),
        (&["show", "nothing_like_it"], "is called `nothing_like_it`"),
        (
            &["map", "--tokens", "100001"],
            "must be from 1 to 100000, but is 100001",
        ),
        (
            &["beacon", "set", "", "check_token"],
            "it needs at least one character",
        ),
        (&["beacon", "set", " x", "check_token"], "needs a name"),
        (
            &["beacon", "set", "x", "nothing_like_it"],
            "is called `nothing_like_it`",
        ),
    ] {
        let (_, said) = shop.failure(args);
        assert!(said.contains(sentence), "{said}");
    }
    let params = json!({"path": "shop", "query": "a"}).to_string();
    let (_, said) = shop.home.failure(&["call", "code_search", &params]);
    assert!(said.contains("must be absolute"), "{said}");
    let params = json!({"path": "/", "query": "a", "kind": "gadget"}).to_string();
    let (_, said) = shop.home.failure(&["call", "code_search", &params]);
    assert!(said.contains("unknown variant `gadget`"), "{said}");
    shop.write("src/two.rs", "fn check_token() {}\n");
    let (_, said) = shop.failure(&["beacon", "set", "x", "check_token"]);
    assert!(said.contains("src/auth.rs:4, src/two.rs:1"), "{said}");
}
