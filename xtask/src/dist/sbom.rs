//! The software bill of materials: every crate, npm package and system library that is
//! inside the program, in CycloneDX 1.5.
//!
//! `cargo tree` says what is linked, with the features that `mission` alone asks for:
//! `cargo metadata` would unite them with those of tests and tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::at_path;
use super::release::{Release, timestamp};
use super::target::Linkage;
use crate::run;

/// What `web/scripts/packages.ts` writes: the packages that are in the page.
const PACKAGES: &str = "packages.json";

pub(super) fn name(release: &Release) -> String {
    format!("mission-{}.cdx.json", release.version)
}

/// One part of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Component {
    purl: String,
    name: String,
    version: String,
    licence: String,
}

/// Parts by their purl, and which of them each one needs.
type Needs = BTreeMap<String, BTreeSet<String>>;

pub(super) fn document(release: &Release) -> Result<Vec<u8>, String> {
    let mut arguments = vec!["tree", "--package", "mission", "--edges"];
    arguments.extend(["normal,no-proc-macro", "--prefix", "depth", "--locked"]);
    arguments.extend(["--format", "|{p}|{l}"]);
    for program in &release.programs {
        arguments.extend(["--target", program.target.triple]);
    }
    let (mut components, needs) = crates(&run::output(&mut run::cargo(&arguments))?)?;
    let own = components.remove(0);
    let web = run::root().join("web");
    let read = |file: PathBuf| fs::read_to_string(&file).map_err(|error| at_path(&file, &error));
    // A program that was built without the page has nothing of npm in it.
    if web.join("dist/index.html").is_file() {
        let inside = read(web.join("dist").join(PACKAGES))?;
        components.extend(page(&inside, &read(web.join("package-lock.json"))?)?);
    }
    components.extend(system(release));
    components.sort_by(|one, other| one.purl.cmp(&other.purl));
    let described: Vec<_> = components.iter().map(Component::described).collect();
    let dependencies: Vec<_> = needs
        .iter()
        .map(|(purl, needed)| json!({ "ref": purl, "dependsOn": needed }))
        .collect();
    let mut subject = own.described();
    subject["type"] = json!("application");
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(release.epoch),
            "tools": { "components": [{ "type": "application", "name": "cargo xtask dist" }] },
            "component": subject,
        },
        "components": described,
        "dependencies": dependencies,
    });
    let mut bytes = serde_json::to_vec_pretty(&document).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Component {
    fn described(&self) -> Value {
        json!({
            "type": "library",
            "bom-ref": self.purl,
            "name": self.name,
            "version": self.version,
            "licenses": [{ "expression": self.licence }],
            "purl": self.purl,
        })
    }
}

/// Reads what `cargo tree --prefix depth --format "|{p}|{l}"` prints; the first is the
/// program itself. What was printed in full before ends with ` (*)`.
fn crates(tree: &str) -> Result<(Vec<Component>, Needs), String> {
    let mut components: Vec<Component> = Vec::new();
    let mut needs = Needs::new();
    let mut path: Vec<String> = Vec::new();
    for line in tree.lines().filter(|line| !line.is_empty()) {
        let odd = || format!("cargo tree prints a line that is not understood: {line}");
        let mut fields = line.splitn(3, '|');
        let (Some(depth), Some(package), Some(licence)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(odd());
        };
        let depth: usize = depth.parse().map_err(|_| odd())?;
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            return Err(odd());
        };
        let version = version.trim_start_matches('v');
        let licence = licence.trim_end_matches(" (*)");
        if licence.is_empty() {
            return Err(format!("{name} {version} names no licence"));
        }
        let purl = format!("pkg:cargo/{name}@{version}");
        path.truncate(depth);
        if let Some(parent) = path.last() {
            needs
                .entry(parent.clone())
                .or_default()
                .insert(purl.clone());
        }
        path.push(purl.clone());
        if needs.contains_key(&purl) {
            continue;
        }
        needs.insert(purl.clone(), BTreeSet::new());
        components.push(Component {
            purl,
            name: name.to_owned(),
            version: version.to_owned(),
            // The form with a slash is older than SPDX expressions.
            licence: licence.replace(" / ", "/").replace('/', " OR "),
        });
    }
    if components.is_empty() {
        return Err("cargo tree prints nothing".to_owned());
    }
    Ok((components, needs))
}

/// What the build of the page found in it, with the licences that the lock file names.
fn page(inside: &str, lock: &str) -> Result<Vec<Component>, String> {
    let parsed = |json: &str| -> Result<Value, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    };
    let (inside, lock) = (parsed(inside)?, parsed(lock)?);
    let licence = |name: &str, version: &str| {
        let packages = lock["packages"].as_object().into_iter().flatten();
        let mut own = packages.filter(|(path, package)| {
            let last = path.rsplit_once("node_modules/").map(|(_, last)| last);
            last == Some(name) && package["version"] == version
        });
        own.find_map(|(_, package)| package["license"].as_str())
    };
    let inside = inside.as_array().into_iter().flatten();
    inside
        .map(|package| {
            let text = |key: &str| package[key].as_str().unwrap_or_default();
            let (name, version) = (text("name"), text("version"));
            let licence = licence(name, version)
                .ok_or_else(|| format!("{name} {version} has no licence in package-lock.json"))?;
            Ok(Component {
                purl: format!("pkg:npm/{}@{version}", name.replace('@', "%40")),
                name: name.to_owned(),
                version: version.to_owned(),
                licence: licence.to_owned(),
            })
        })
        .collect()
}

/// Rust's own library, and the C library where it is linked into the program.
fn system(release: &Release) -> Vec<Component> {
    let version = |program: &str, take: fn(&str) -> Option<&str>| {
        let said = run::output(Command::new(program).arg("--version")).ok()?;
        take(said.lines().next()?).map(str::to_owned)
    };
    let rust = version("rustc", |line| line.split(' ').nth(1)).map(|version| Component {
        purl: format!("pkg:github/rust-lang/rust@{version}"),
        name: "rust-std".to_owned(),
        version,
        licence: "MIT OR Apache-2.0".to_owned(),
    });
    let is_static = |linkage| linkage == Linkage::Static;
    let linked = release
        .programs
        .iter()
        .any(|program| is_static(program.linkage));
    let glibc = linked
        .then(|| version("ldd", |line| line.rsplit(' ').next()))
        .flatten()
        .map(|version| Component {
            purl: format!("pkg:generic/glibc@{version}"),
            name: "glibc".to_owned(),
            version,
            licence: "LGPL-2.1-or-later".to_owned(),
        });
    rust.into_iter().chain(glibc).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(purl: &str, name: &str, version: &str, licence: &str) -> Component {
        Component {
            purl: purl.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
        }
    }

    #[test]
    fn crates_are_named_once_with_what_they_need() {
        let tree = "0|mission v0.1.0 (/src/cli)|MIT\n\
                    1|a v1.0.0|MIT/Apache-2.0\n\
                    2|b v2.0.0|ISC\n\
                    1|b v2.0.0|ISC\n\
                    1|a v1.0.0|MIT/Apache-2.0 (*)\n";
        let (components, needs) = crates(tree).unwrap();
        assert_eq!(
            components,
            [
                component("pkg:cargo/mission@0.1.0", "mission", "0.1.0", "MIT"),
                component("pkg:cargo/a@1.0.0", "a", "1.0.0", "MIT OR Apache-2.0"),
                component("pkg:cargo/b@2.0.0", "b", "2.0.0", "ISC"),
            ]
        );
        let needed = |purl: &str| needs[purl].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(
            needed("pkg:cargo/mission@0.1.0"),
            ["pkg:cargo/a@1.0.0", "pkg:cargo/b@2.0.0"]
        );
        assert_eq!(needed("pkg:cargo/a@1.0.0"), ["pkg:cargo/b@2.0.0"]);
        assert!(needed("pkg:cargo/b@2.0.0").is_empty());
        assert!(crates("0|x v1|").is_err());
    }

    #[test]
    fn what_the_page_holds_is_named_and_what_only_builds_it_is_not() {
        let inside = json!([
            { "name": "@scope/name", "version": "1.0.0" },
            { "name": "b", "version": "2.0.0" },
        ]);
        let lock = json!({ "packages": {
            "": { "version": "0.0.0" },
            "node_modules/@scope/name": { "version": "1.0.0", "license": "MIT" },
            "node_modules/b": { "version": "1.0.0", "license": "MIT" },
            "node_modules/a/node_modules/b": { "version": "2.0.0", "license": "ISC" },
            "node_modules/not-bundled": { "version": "1.0.0", "license": "MIT" },
            "node_modules/vite": { "version": "8.0.0", "license": "MIT", "dev": true },
        }});
        assert_eq!(
            page(&inside.to_string(), &lock.to_string()).unwrap(),
            [
                component("pkg:npm/%40scope/name@1.0.0", "@scope/name", "1.0.0", "MIT"),
                component("pkg:npm/b@2.0.0", "b", "2.0.0", "ISC"),
            ]
        );
        let unknown = json!([{ "name": "b", "version": "3.0.0" }]);
        assert!(page(&unknown.to_string(), &lock.to_string()).is_err());
    }
}
