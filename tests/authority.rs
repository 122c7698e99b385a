//! Who may do what, as `docs/reference/authority.md` says, is what happens: for every
//! operation, every kind of caller and every way in.

mod caller;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use missiond_api::{AccessFile, CATALOGUE, authority_table};
use serde_json::json;

use crate::attacks::quoted;
use crate::harness::{TestHome, binary, wait_for};
use crate::http::{Http, token};

use caller::{Answers, Came, Place, TAKE, Things};

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/authority.md"
);
/// Set to write the table instead of comparing it.
const WRITE: &str = "MISSION_WRITE_DOCUMENTS";

type Declared = BTreeMap<String, Vec<String>>;

/// The cells of the page by operation: a person, a token, a person's agent, an agent in a
/// slot, everybody else.
fn declared() -> Declared {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let mut cells = row
            .trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned());
        let name = cells.next().unwrap().trim_matches('`').to_owned();
        (name, cells.collect())
    })
    .collect()
}

#[test]
fn the_page_is_what_the_catalogue_declares() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, table) = page.split_once("| operation |").unwrap();
    let table = format!("| operation |{table}");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(PAGE, format!("{before}{}", authority_table())).unwrap();
        return;
    }
    let what = format!("{PAGE} is not what the catalogue declares; {WRITE}=1 writes it");
    assert!(table == authority_table(), "{what}");
    assert_eq!(declared().len(), CATALOGUE.len());
}

/// Who asks, as the columns of the page have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Person,
    Agent,
    Untold,
}

/// A home with somebody in every place, and what lets them in.
struct Everybody {
    home: TestHome,
    tokens: BTreeMap<String, String>,
}

const SCOPES: [&str; 4] = ["read", "work", "terminals", "manage"];

impl Everybody {
    fn new() -> Self {
        let home = TestHome::with_config("[http]\nrequests_per_second = 100000\n");
        home.start();
        let argv = json!(["cat"]);
        home.call("slot_spawn", &json!({ "argv": argv, "name": "sibling" }));
        let task = json!({ "task": { "title": "The person's", "isolation": "none" } });
        home.call("board_add", &task);
        let scoped = |scope: &str| {
            let made = home.json(&["token", "create", scope, "--scope", scope]);
            (scope.to_owned(), made["token"].as_str().unwrap().to_owned())
        };
        let mut tokens: BTreeMap<_, _> = SCOPES.map(scoped).into();
        tokens.insert("every".to_owned(), token(&home, "every"));
        Self { home, tokens }
    }

    fn place(&self) -> Place {
        let http = Http::of(&self.home);
        let login = http.log_in(&self.home);
        Place {
            home: self.home.path().to_owned(),
            program: binary(),
            socket: self.home.home().socket(),
            http: http.address,
            tokens: self.tokens.clone(),
            cookie: login.cookie,
            csrf: login.csrf,
            hook: None,
            things: BTreeMap::new(),
        }
    }

    /// A file with this place, for whoever asks elsewhere.
    fn hand_over(&self, place: &Place) -> PathBuf {
        let file = self.home.path().join("place.json");
        std::fs::write(&file, json!(place).to_string()).unwrap();
        file
    }

    /// Starts a run of the rehearsal agent and gives its number.
    fn run(&self, name: &str, steps: &str) -> String {
        let script = format!("rehearsal: 1\nturns:\n  - uses: always\n    steps:\n{steps}");
        let file = self.home.path().join(format!("{name}.yaml"));
        std::fs::write(&file, script).unwrap();
        let params = json!({
            "engine": "rehearsal", "cwd": self.home.path(), "signals": "mcp", "name": name,
            "args": [file], "prompt": "go",
        });
        let started = self.home.call("execution_start", &params);
        started["execution"].as_str().unwrap().to_owned()
    }

    fn hook_of(&self, execution: &str) -> (String, String) {
        let launches = self.home.home().run_dir().join("launches");
        let file = launches.join(execution).join("access.json");
        wait_for("its access", || file.exists());
        let access = AccessFile::read(&file).unwrap();
        let token = json!(access.token).as_str().unwrap().to_owned();
        (execution.to_owned(), token)
    }
}

fn answers(place: &Path) -> Answers {
    let file = place.with_extension("answers");
    wait_for("every answer", || file.exists());
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// A command of a shell that asks on every way.
fn asking(place: &Path) -> String {
    format!(
        "AUTHORITY={} {} --ignored --exact authority::caller::from_inside --nocapture > {} 2>&1",
        quoted(&place.display().to_string()),
        quoted(&std::env::current_exe().unwrap().display().to_string()),
        quoted(&place.with_extension("log").display().to_string()),
    )
}

/// What the page says that comes of a call.
fn expected(declared: &Declared, asks: Asks, way: &str, name: &str) -> Came {
    let (face, shows) = way.split_once(' ').unwrap_or((way, ""));
    if name == TAKE {
        // Whoever may press the keys of a slot may take its terminal over.
        let is_person = asks == Asks::Person && shows == "page";
        assert_eq!(
            declared["slot_keys"],
            ["yes", "no token has it", "no", "no", "no"]
        );
        return if is_person {
            Came::Allowed
        } else {
            Came::Refused
        };
    }
    if face == "hook" || face == "terminal" {
        return Came::NoWay;
    }
    if face != "socket" && face != "bridge" && shows.is_empty() {
        return Came::Unknown;
    }
    let (operation, about) = name.split_once(" of ").unwrap_or((name, ""));
    let cells = &declared[operation];
    let is_model = face == "mcp" || face == "bridge";
    let is_token = !["", "page"].contains(&shows);
    let may_by_kind = match asks {
        Asks::Person if is_model => cells[2] == "yes",
        Asks::Person => cells[0] == "yes",
        Asks::Agent => match cells[3].as_str() {
            "yes" => true,
            "no" => false,
            _ => about.starts_with("its"),
        },
        Asks::Untold => cells[4] == "yes",
    };
    let may_by_token = !is_token || cells[1] == shows || (shows == "every" && is_scope(&cells[1]));
    if may_by_kind && may_by_token {
        Came::Allowed
    } else {
        Came::Refused
    }
}

fn is_scope(cell: &str) -> bool {
    SCOPES.contains(&cell)
}

fn compare(asks: Asks, answers: &Answers) {
    // The three ways of one connection, HTTP with nothing, the page, and each token, on the
    // two faces, and the two terminals.
    assert_eq!(answers.len(), 3 + 1 + 2 * (1 + SCOPES.len() + 1) + 2);
    let declared = declared();
    let mut differ = Vec::new();
    for (way, answers) in answers {
        assert!(answers.len() >= CATALOGUE.len(), "{way}");
        for (name, came) in answers {
            let expected = expected(&declared, asks, way, name);
            if *came != expected {
                differ.push(format!("{way}: {name}: {came:?}, not {expected:?}"));
            }
        }
    }
    assert!(differ.is_empty(), "{asks:?}:\n{}", differ.join("\n"));
}

/// And what they let in: programs by their tokens, their own agents on both faces for models.
#[test]
fn a_person_may_what_the_page_says_on_every_way_in() {
    let everybody = Everybody::new();
    let quiet = everybody.run("quiet", "      - say: Nothing.\n");
    let mut place = everybody.place();
    place.hook = Some(everybody.hook_of(&quiet));
    compare(Asks::Person, &place.ask_everywhere());
}

#[test]
fn the_agent_of_a_slot_may_what_the_page_says_on_every_way_in() {
    let everybody = Everybody::new();
    let others = everybody.run("others", "      - say: Nothing.\n");
    let mut place = everybody.place();
    // It asks as soon as it knows what is its own, which it makes before.
    let file = everybody.home.path().join("place.json");
    let mission = quoted(&binary().display().to_string());
    let task = quoted(r#"{"task":{"title":"Its own","isolation":"none"}}"#);
    let slot = quoted(r#"{"argv":["cat"],"name":"child"}"#);
    let run = json!({
        "engine": "rehearsal", "cwd": everybody.home.path(), "name": "grandchild",
        "args": [everybody.home.path().join("others.yaml")],
    });
    let run = quoted(&run.to_string());
    let script = format!(
        "export MISSION_HOME={}\n{mission} call board_add {task} > added && {mission} call slot_spawn {slot} > spawned && \
         {mission} call execution_start {run} > started; mv started made\n\
         while ! test -f place.json; do sleep 0.05; done\n{}\n",
        quoted(&everybody.home.path().display().to_string()),
        asking(&file)
    );
    std::fs::write(everybody.home.path().join("asks.sh"), script).unwrap();
    let own = everybody.run("asker", "      - run: {argv: [sh, asks.sh]}\n");
    let made = everybody.home.path().join("made");
    wait_for("what is its own", || made.exists());
    let read = |name: &str, pointer: &str| {
        let file = std::fs::read(everybody.home.path().join(name)).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&file).unwrap();
        let found = json.pointer(pointer).and_then(|found| found.as_str());
        found.unwrap_or_else(|| panic!("{json}")).to_owned()
    };
    let (task, run) = (read("added", "/task/number"), read("made", "/execution"));
    let things = |parameter: &str, own: &[&str], others: &[&str]| Things {
        parameter: parameter.to_owned(),
        own: own.iter().map(|&own| own.to_owned()).collect(),
        others: others.iter().map(|&other| other.to_owned()).collect(),
    };
    for (operation, cells) in declared() {
        let things = match cells[3].as_str() {
            "yes" | "no" => continue,
            "its own slot or one it started" => things("slot", &["asker", "child"], &["sibling"]),
            "a slot it started" => things("slot", &["child"], &["asker", "sibling"]),
            "its own run or one it started" => things("execution", &[&own, &run], &[&others]),
            "a run it started" => things("execution", &[&run], &[&own, &others]),
            "a task it put on the board" => things("task", &[&task], &["T-1"]),
            // The configuration gives it none.
            "a tool that its slot is given" => things("tool", &[], &["any__tool"]),
            other => panic!("{operation}: {other}"),
        };
        place.things.insert(operation, things);
    }
    place.hook = Some(everybody.hook_of(&own));
    // Written whole, because it is waited for.
    let unfinished = everybody.home.path().join("unfinished.json");
    std::fs::write(&unfinished, json!(place).to_string()).unwrap();
    std::fs::rename(unfinished, &file).unwrap();
    compare(Asks::Agent, &answers(&file));
}

/// A tool server, which the daemon starts, is no person's doing, nor that of an agent.
#[test]
fn what_the_daemon_starts_may_only_look_on_every_way_in() {
    let everybody = Everybody::new();
    let quiet = everybody.run("quiet", "      - say: Nothing.\n");
    let mut place = everybody.place();
    place.hook = Some(everybody.hook_of(&quiet));
    let file = everybody.hand_over(&place);
    let script = format!("{}; sleep 60", asking(&file));
    let server = json!({ "name": "nosy", "command": "sh", "args": ["-c", script] });
    everybody.home.call("mcp_server_add", &server);
    let _ = everybody
        .home
        .mission(&["mcp", "health", "nosy", "--restart"]);
    compare(Asks::Untold, &answers(&file));
}

/// The agent of a slot is nobody to the daemon of another home.
#[test]
fn the_agent_of_another_home_may_only_look_on_every_way_in() {
    let (everybody, elsewhere) = (Everybody::new(), TestHome::started());
    let quiet = everybody.run("quiet", "      - say: Nothing.\n");
    let mut place = everybody.place();
    place.hook = Some(everybody.hook_of(&quiet));
    let file = everybody.hand_over(&place);
    let argv = json!(["sh", "-c", format!("{}; cat", asking(&file))]);
    elsewhere.call("slot_spawn", &json!({ "argv": argv, "name": "stranger" }));
    compare(Asks::Untold, &answers(&file));
}
