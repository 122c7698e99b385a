//! `cargo xtask house`: whether the code is built as `docs/ARCHITECTURE.md` says.
//!
//! Five rules: a crate uses only crates of lower floors; few files of one crate
//! import each other in a circle; no crate is large without a reason; the types of
//! operations are named only where they are answered or presented; the files that
//! the document names are there. What counts as an import is said in [`modules`].

mod circles;
mod floors;
mod modules;
mod source;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::floors::Plan;
use self::modules::Modules;
use crate::run;

/// The most files that may import each other in one circle.
const LARGEST_CIRCLE: usize = 6;

/// The most lines without tests that a crate may have without a reason.
const LARGEST_CRATE: usize = 10_000;

/// Where parameters and results of operations are declared.
const WIRE_TYPES: [&str; 2] = ["missiond_api", "operations"];

/// The crates that may name them beside the one that declares them: the one that
/// answers operations, and those that present or call them. Components below have
/// types of their own.
const MAY_NAME_WIRE_TYPES: [&str; 8] = [
    "mission",
    "missiond-acp",
    "missiond-bench",
    "missiond-console",
    "missiond-mcp",
    "missiond-operations",
    "missiond-server",
    "semantic-terminal-napi",
];

/// The state of the whole repository.
#[derive(Debug)]
struct House {
    crates: Vec<Crate>,
    arrows_up: Vec<Arrow>,
    /// Crates the table does not name.
    unplanned: Vec<String>,
    /// Crates the table names and nobody has written.
    missing: Vec<String>,
    /// Files the document names and that are not there.
    missing_files: Vec<String>,
}

#[derive(Debug)]
struct Crate {
    name: String,
    floor: Option<u32>,
    lines: usize,
    /// The files of its largest circle, as paths in the repository.
    circle: Vec<String>,
    /// Why it may be large.
    argued: Option<String>,
    /// The files that name types of operations, as paths in the repository.
    wire_files: Vec<String>,
}

/// A dependency that does not lead to a lower floor.
#[derive(Debug)]
struct Arrow {
    from: String,
    from_floor: u32,
    to: String,
    to_floor: u32,
}

/// A package of the workspace, as cargo describes it.
#[derive(Debug)]
struct Package {
    name: String,
    /// The root files of its library and programs.
    roots: Vec<PathBuf>,
    /// What it is built with, without what only its tests use.
    uses: BTreeSet<String>,
}

pub(crate) fn house(arguments: &[String]) -> Result<(), String> {
    let as_json = match arguments {
        [] => false,
        [only] if only == "--json" => true,
        [other, ..] => return Err(format!("`cargo xtask house` takes no `{other}`")),
    };
    let house = House::measure()?;
    if as_json {
        // Whoever reads it may have seen enough.
        let _ = writeln!(std::io::stdout(), "{:#}", house.json());
    } else {
        house.print();
    }
    house.verdict()
}

impl House {
    fn measure() -> Result<Self, String> {
        let document = run::root().join("docs/ARCHITECTURE.md");
        let text = std::fs::read_to_string(&document)
            .map_err(|error| format!("{}: {error}", document.display()))?;
        let plan = Plan::read(&text);
        if plan.floors.is_empty() {
            return Err("docs/ARCHITECTURE.md has no table of floors".to_owned());
        }
        let packages = packages()?;
        let crates = packages
            .iter()
            .map(|package| Crate::measure(package, &plan))
            .collect::<Result<Vec<_>, _>>()?;
        let there: BTreeSet<_> = packages.iter().map(|package| &package.name).collect();
        Ok(Self {
            arrows_up: arrows_up(&packages, &plan),
            unplanned: crates
                .iter()
                .filter(|each| each.floor.is_none())
                .map(|each| each.name.clone())
                .collect(),
            missing: plan
                .floors
                .keys()
                .filter(|name| !there.contains(name))
                .cloned()
                .collect(),
            missing_files: plan
                .files
                .iter()
                .filter(|file| !run::root().join("crates").join(file).is_file())
                .cloned()
                .collect(),
            crates,
        })
    }

    fn largest_circle(&self) -> Option<&Crate> {
        self.crates
            .iter()
            .max_by_key(|each| each.circle.len())
            .filter(|each| !each.circle.is_empty())
    }

    fn large(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|each| each.lines > LARGEST_CRATE)
    }

    /// The crates that name types of operations and may not.
    fn with_wire_types(&self) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(|each| {
            !each.wire_files.is_empty() && !MAY_NAME_WIRE_TYPES.contains(&each.name.as_str())
        })
    }

    fn json(&self) -> Value {
        let arrows: Vec<_> = self.arrows_up.iter().map(ToString::to_string).collect();
        let circle = self.largest_circle();
        let large: Vec<_> = self
            .large()
            .map(|each| json!({"crate": each.name, "lines": each.lines, "argued": each.argued}))
            .collect();
        let wire_types: Vec<_> = self
            .with_wire_types()
            .map(|each| json!({"crate": each.name, "files": each.wire_files}))
            .collect();
        let crates: Vec<_> = self
            .crates
            .iter()
            .map(|each| {
                json!({
                    "crate": each.name,
                    "floor": each.floor,
                    "lines": each.lines,
                    "largest_circle": each.circle.len(),
                })
            })
            .collect();
        json!({
            "arrows_up": arrows.len(),
            "arrows": arrows,
            "largest_circle": circle.map_or(0, |each| each.circle.len()),
            "circle": {
                "crate": circle.map(|each| &each.name),
                "files": circle.map(|each| each.circle.as_slice()).unwrap_or_default(),
            },
            "large_crates": large,
            "wire_types": wire_types,
            "not_in_the_table": self.unplanned,
            "not_in_the_workspace": self.missing,
            "files_not_there": self.missing_files,
            "crates": crates,
        })
    }

    fn print(&self) {
        println!(
            "{:>5}  {:<28}{:>8}{:>8}",
            "floor", "crate", "lines", "circle"
        );
        let mut crates: Vec<_> = self.crates.iter().collect();
        crates.sort_by_key(|each| (std::cmp::Reverse(each.floor), each.name.as_str()));
        for each in crates {
            let floor = each.floor.map_or("-".to_owned(), |floor| floor.to_string());
            let circle = each.circle.len();
            println!("{floor:>5}  {:<28}{:>8}{circle:>8}", each.name, each.lines);
        }
        if let Some(largest) = self.largest_circle() {
            println!("\nthe largest circle is in {}:", largest.name);
            for file in &largest.circle {
                println!("  {file}");
            }
        }
    }

    /// A sentence for each rule that is broken.
    fn verdict(&self) -> Result<(), String> {
        let mut broken = Vec::new();
        for arrow in &self.arrows_up {
            broken.push(format!(
                "{arrow}: a crate may use lower floors only; move the code, or the crate"
            ));
        }
        for name in &self.unplanned {
            broken.push(format!(
                "{name} is not in the table of docs/ARCHITECTURE.md"
            ));
        }
        for name in &self.missing {
            broken.push(format!(
                "docs/ARCHITECTURE.md names {name}, which is not in the workspace"
            ));
        }
        for file in &self.missing_files {
            broken.push(format!(
                "docs/ARCHITECTURE.md names crates/{file}, which is not there"
            ));
        }
        for each in &self.crates {
            if each.circle.len() > LARGEST_CIRCLE {
                broken.push(format!(
                    "{} files of {} import each other in a circle, at most {LARGEST_CIRCLE} may: {}",
                    each.circle.len(),
                    each.name,
                    each.circle.join(", ")
                ));
            }
        }
        for each in self.with_wire_types() {
            broken.push(format!(
                "{} names missiond_api::operations in {}: a component speaks in types of its own; \
                 convert them in missiond-operations",
                each.name,
                each.wire_files.join(", ")
            ));
        }
        for each in self.large().filter(|each| each.argued.is_none()) {
            broken.push(format!(
                "{} has {} lines without tests, at most {LARGEST_CRATE} are allowed: split it, or \
                 say why not in the table of docs/ARCHITECTURE.md",
                each.name, each.lines
            ));
        }
        if broken.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "the house is not as planned:\n  {}",
                broken.join("\n  ")
            ))
        }
    }
}

impl Crate {
    fn measure(package: &Package, plan: &Plan) -> Result<Self, String> {
        let root = run::root().canonicalize().unwrap_or_else(|_| run::root());
        let load = |path: &Path| std::fs::read_to_string(path).ok();
        let mut lines = 0;
        let mut circle = Vec::new();
        let mut wire_files = Vec::new();
        for file in &package.roots {
            let modules = Modules::read(file, &load)?;
            lines += modules.lines();
            let shown = |index: &usize| {
                let path = modules.file(*index);
                path.strip_prefix(&root)
                    .unwrap_or(path)
                    .display()
                    .to_string()
            };
            wire_files.extend(modules.files_naming(&WIRE_TYPES).iter().map(shown));
            let found = circles::largest(&modules.imports());
            if found.len() > circle.len() {
                circle = found.iter().map(shown).collect();
            }
        }
        Ok(Self {
            floor: plan.floors.get(&package.name).copied(),
            argued: plan.may_be_large.get(&package.name).cloned(),
            name: package.name.clone(),
            lines,
            circle,
            wire_files,
        })
    }
}

impl std::fmt::Display for Arrow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} (floor {}) uses {} (floor {})",
            self.from, self.from_floor, self.to, self.to_floor
        )
    }
}

fn arrows_up(packages: &[Package], plan: &Plan) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    for package in packages {
        for used in &package.uses {
            let floors = (plan.floors.get(&package.name), plan.floors.get(used));
            if let (Some(&from_floor), Some(&to_floor)) = floors
                && to_floor >= from_floor
            {
                arrows.push(Arrow {
                    from: package.name.clone(),
                    from_floor,
                    to: used.clone(),
                    to_floor,
                });
            }
        }
    }
    arrows
}

/// The packages under `crates/`: the developer commands are beside the house.
fn packages() -> Result<Vec<Package>, String> {
    let metadata = run::metadata()?;
    let below = run::root().join("crates");
    let below = below.canonicalize().unwrap_or(below);
    let described = metadata["packages"].as_array();
    Ok(described
        .into_iter()
        .flatten()
        .filter(|package| {
            let manifest = package["manifest_path"].as_str().unwrap_or_default();
            Path::new(manifest).starts_with(&below)
        })
        .map(Package::described)
        .collect())
}

impl Package {
    fn described(package: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let product = |target: &Value| {
            let kinds = ["lib", "bin", "cdylib", "rlib", "proc-macro"];
            let kind = &target["kind"][0];
            kind.as_str().is_some_and(|kind| kinds.contains(&kind))
        };
        let targets = list(&package["targets"]);
        let uses = list(&package["dependencies"]);
        Self {
            name: text(&package["name"]),
            roots: targets
                .iter()
                .filter(|target| product(target))
                .map(|target| PathBuf::from(text(&target["src_path"])))
                .collect(),
            uses: uses
                .iter()
                .filter(|used| used["kind"] != "dev")
                .map(|used| text(&used["name"]))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(name: &str, dependencies: &Value) -> Package {
        Package::described(&json!({
            "name": name,
            "dependencies": dependencies,
            "targets": [
                {"kind": ["lib"], "src_path": "/r/lib.rs"},
                {"kind": ["test"], "src_path": "/r/tests/all.rs"},
            ],
        }))
    }

    #[test]
    fn an_arrow_that_does_not_lead_down_is_found_and_a_test_may_use_anything() {
        let plan = Plan::read("| 1 | `top`, `beside` | |\n| 0 | `base` | |\n");
        let packages = [
            described(
                "top",
                &json!([
                    {"name": "base", "kind": null},
                    {"name": "serde", "kind": null},
                    {"name": "beside", "kind": "dev"},
                ]),
            ),
            described("base", &json!([{"name": "top", "kind": "build"}])),
            described("beside", &json!([{"name": "top", "kind": null}])),
        ];
        assert_eq!(packages[0].roots, vec![PathBuf::from("/r/lib.rs")]);
        let found: Vec<_> = arrows_up(&packages, &plan)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "base (floor 0) uses top (floor 1)",
                "beside (floor 1) uses top (floor 1)"
            ]
        );
    }

    #[test]
    fn every_broken_rule_is_a_sentence() {
        let one = |name: &str, lines, argued: Option<&str>, circle: usize| Crate {
            name: name.to_owned(),
            floor: Some(0),
            lines,
            circle: (0..circle).map(|file| format!("f{file}.rs")).collect(),
            argued: argued.map(str::to_owned),
            wire_files: Vec::new(),
        };
        let mut house = House {
            crates: vec![one("argued", 12_000, Some("two databases"), 6)],
            arrows_up: Vec::new(),
            unplanned: Vec::new(),
            missing: Vec::new(),
            missing_files: Vec::new(),
        };
        let naming = |name: &str| Crate {
            wire_files: vec![format!("{name}/src/lib.rs")],
            ..one(name, 100, None, 0)
        };
        house.crates.push(naming("missiond-operations"));
        assert_eq!(house.verdict(), Ok(()));
        house.crates.push(naming("kitchen"));
        house.crates.push(one("hall", 10_001, None, 7));
        house.unplanned.push("new".to_owned());
        house.missing.push("old".to_owned());
        house.missing_files.push("old/src/lib.rs".to_owned());
        let said = house.verdict().unwrap_err();
        assert_eq!(said.lines().count(), 7, "{said}");
        let sentence = "kitchen names missiond_api::operations in kitchen/src/lib.rs: ";
        assert!(said.contains(sentence), "{said}");
        assert_eq!(house.json()["largest_circle"], 7);
        assert_eq!(house.json()["large_crates"][1]["crate"], "hall");
    }
}
