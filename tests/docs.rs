//! The documentation: from the terminal without a daemon, by agents and over the socket.

use missiond_api::CATALOGUE;
use serde_json::json;

use crate::harness::{TestHome, text};
use crate::http::Http;

/// What a command that must succeed prints.
fn printed(home: &TestHome, args: &[&str]) -> String {
    let output = home.mission(args);
    assert!(
        output.status.success(),
        "mission {args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn the_documentation_is_read_in_a_terminal_without_a_daemon() {
    let home = TestHome::new();
    let list = printed(&home, &["docs"]);
    assert!(list.contains("guides/board"), "{list}");
    assert!(list.contains("mission docs --kind operation"), "{list}");
    let operations = printed(&home, &["docs", "--kind", "operation"]);
    assert_eq!(operations.lines().count(), CATALOGUE.len());

    let page = printed(&home, &["docs", "board"]);
    assert!(page.starts_with("The board\n"), "{page}");
    assert!(!page.contains('\x1b'), "no colours in a pipe");
    let operation = printed(&home, &["docs", "board_note"]);
    assert!(operation.contains("mission call board_note"), "{operation}");
    let key = printed(&home, &["docs", "autopilot.max_agents"]);
    assert!(
        key.contains("mission config set autopilot.max_agents"),
        "{key}"
    );
    assert!(printed(&home, &["docs", "task_add"]).starts_with("board_add\n"));
    assert!(printed(&home, &["docs", "your", "first", "task"]).starts_with("Your first task\n"));

    let found = printed(&home, &["docs", "search", "http.listen"]);
    assert!(found.starts_with("key/http.listen  "), "{found}");
    let none = printed(&home, &["docs", "search", "zzqqxx"]);
    assert_eq!(none.trim_end(), "Nothing was found.");

    let (code, said) = home.failure(&["docs", "bord_add"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("`operation/board_add`"), "{said}");
    let (code, said) = home.failure(&["docs", &"x".repeat(10_000)]);
    assert_eq!(code, 2, "{said}");
    let (code, said) = home.failure(&["docs", "search", &"x".repeat(10_000)]);
    assert_eq!(code, 2, "{said}");

    assert_eq!(
        home.json(&["docs", "--kind", "key"])["pages"][0]["kind"],
        "key"
    );
    assert_eq!(home.json(&["docs", "board"])["path"], "guides/board");
    let hits = home.json(&["docs", "search", "board_add", "--limit", "1"]);
    assert_eq!(hits["hits"][0]["path"], "operation/board_add");
    assert_eq!(hits["hits"].as_array().unwrap().len(), 1);
    assert!(
        missiond_daemon::PidRecord::read(&home.home()).is_none(),
        "no daemon was started"
    );
}

#[test]
fn the_documentation_is_read_over_the_socket() {
    let home = TestHome::started();
    let list = home.call("docs_list", &json!({}));
    let pages = list["pages"].as_array().unwrap();
    assert!(pages.len() > CATALOGUE.len() + 100, "{}", pages.len());
    assert_eq!(
        list,
        home.json(&["docs"]),
        "the same with and without a daemon"
    );

    let read =
        |page: &str, format: &str| home.call("docs_read", &json!({"page": page, "format": format}));
    let markdown = home.call("docs_read", &json!({"page": "guides/board"}));
    assert_eq!(markdown, read("guides/board", "markdown"));
    assert_eq!(markdown["kind"], "guide");
    assert!(
        markdown["text"]
            .as_str()
            .unwrap()
            .starts_with("# The board\n")
    );
    assert_eq!(
        markdown["headings"][0],
        json!({"level": 1, "text": "The board", "anchor": "the-board"})
    );
    let next = markdown["next"]["path"].as_str().unwrap();
    assert_eq!(read(next, "html")["previous"]["path"], "guides/board");
    let html = read("guides/board", "html");
    let html = html["text"].as_str().unwrap();
    assert!(html.contains("<h1 id=\"the-board\">"), "{html}");
    assert!(html.contains("href=\"/docs/"), "{html}");
    let first = read("start/install", "markdown");
    assert!(first["previous"].is_null(), "{first}");

    let hits = home.call("docs_search", &json!({"query": "log.level", "limit": 3}));
    assert_eq!(hits["hits"][0]["path"], "key/log.level");
    let long = json!({"query": "x".repeat(10_000)}).to_string();
    let (code, said) = home.failure(&["call", "docs_search", &long]);
    assert_eq!(code, 2, "{said}");
    let strange = home.call(
        "docs_search",
        &json!({"query": "\u{0}\u{1b}[2J 日本 \u{202e}"}),
    );
    assert!(strange["hits"].is_array());
    let (code, said) = home.failure(&["call", "docs_read", r#"{"page": "bord_add"}"#]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("`operation/board_add`"), "{said}");
}

/// The page of an operation says how an agent calls one that is not listed.
#[test]
fn the_tool_that_calls_operations_is_named_as_it_is() {
    let page = missiond_docs::page("operation/docs_read").unwrap();
    let tool = format!(
        "{{\"arguments\":{{\"operation\":\"docs_read\",\"params\":{{\"page\":\"guides/board\"}}}},\"name\":\"{}\"}}",
        missiond_mcp::tools::CALL_OPERATION
    );
    assert!(page.markdown.contains(&tool), "{}", page.markdown);
}

/// Whoever types what the page of an operation shows is not told that it was typed wrong.
#[test]
fn every_call_that_a_page_shows_is_one_that_its_operation_takes() {
    let home = TestHome::started();
    let project = home.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        assert!(
            git.args(args)
                .current_dir(&project)
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["commit", "--quiet", "--allow-empty", "-m", "Begin"]);
    let folder = project.display().to_string();
    // What the examples speak of: T-1, and a run in the slot `hello`.
    home.json(&["task", "add", "Find the answer", "--repository", &folder]);
    let run = [
        "run",
        "say hello",
        "--engine",
        "rehearsal",
        "--name",
        "hello",
    ];
    let script = ["--cwd", &folder, "--wait", "--", "hello", "--speed", "20"];
    home.mission(&[&run[..], &script].concat());

    let typed = |name: &str| {
        let page = missiond_docs::page(&format!("operation/{name}")).unwrap();
        let begins = format!("mission call {name}");
        let line = page.markdown.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("{name} has no example"));
        let words = shlex::split(line).unwrap();
        let there = |word: &String| word.replace("/home/you/project", &folder);
        words.iter().skip(1).map(there).collect::<Vec<_>>()
    };
    // A demo has a daemon of its own; this daemon is stopped last.
    let left = ["demo_start", "daemon_control"];
    let names = CATALOGUE.iter().map(|spec| spec.name);
    let mut succeeded = 0;
    for name in names
        .filter(|name| !left.contains(name))
        .chain(["daemon_control"])
    {
        let words = typed(name);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let output = home.mission(&words);
        // Exit code 2 says that the parameters are wrong.
        let said = text(&output.stderr);
        assert_ne!(output.status.code(), Some(2), "{words:?}: {said}");
        succeeded += usize::from(output.status.success());
    }
    assert!(
        succeeded * 3 > CATALOGUE.len() * 2,
        "{succeeded} of {}",
        CATALOGUE.len()
    );
}

#[test]
fn the_page_of_the_browser_is_opened_where_it_is_wanted() {
    let home = TestHome::started();
    let link = home.json(&["docs", "--web", "board"])["link"].clone();
    let link = link.as_str().unwrap();
    assert!(link.contains("/login?to=/docs/guides/board#"), "{link}");
    // What is at the end of it is the page, though a key has a dot in its name.
    let http = Http::of(&home);
    let kind = |path: &str| {
        let answer = http.get(path, &[]);
        (
            answer.status,
            answer.header("content-type").map(str::to_owned),
        )
    };
    assert_eq!(kind("/docs/key/log.level"), kind("/"));
    assert_eq!(kind("/key/log.level").0, 404);
    let link = home.json(&["docs", "--web"])["link"].clone();
    assert!(
        link.as_str().unwrap().contains("/login?to=/docs#"),
        "{link}"
    );
}
