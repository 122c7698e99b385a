//! The packages, tried: made twice and compared, the recipes parsed by their own languages,
//! then each package installed in a Debian without anything, used and removed. Part of `cargo xtask test`.

mod inside;
mod parsed;

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use serde_json::Value;

use super::archive::Effort;
use super::build::Facts;
use super::clean_root::{self, CleanRoot};
use super::options::Options;
use super::release::{Documents, Release};
use super::target::Target;
use super::{at_path, build, differences, package, release, sbom};
use super::{deb, npm, oci, tarball};
use crate::report::Ran;
use crate::run;
use inside::{Trial, Tried};
use parsed::Parsed;

/// Packs a program the tests have built, and tries what comes of it.
pub(crate) fn test(mission: &Path) -> Result<Ran, String> {
    let folder = run::target_folder()?.join("packages");
    let program = folder.join("mission");
    let target = Target::of_this_machine()?;
    build::stripped(target, mission, &program)?;
    let mission = mission.display().to_string();
    let options = ["--binary", &mission, "--url", "https://missiond.invalid"].map(str::to_owned);
    let release = Release {
        effort: Effort::Fast,
        ..release(
            &Options::parse(&options)?,
            &Facts {
                epoch: release::epoch()?,
                commit: None,
                key: None,
            },
            &[(target, program.clone())],
            Documents::of(&program)?,
        )?
    };
    let [first, second] = ["first", "second"].map(|name| folder.join(name));
    package::package(&release, &first, None)?;
    package::package(&release, &second, None)?;
    let different = differences(&first, &second)?;
    if !different.is_empty() {
        return Err(format!(
            "packed twice, not the same: {}",
            different.join(", ")
        ));
    }
    let document = sbom_in(&release, &first)?;
    names_every_crate(&release, &document)?;
    names_the_page(&document)?;
    let mut said = vec![
        "packed twice: the same bytes; the SBOM names every crate, and of npm what is in the page"
            .to_owned(),
    ];
    let mut passed = 3;
    for (file, found) in parsed::recipes(&first)? {
        passed += u64::from(found == Parsed::Whole);
        said.push(format!("{file}: {found}"));
    }
    match clean_root::find()? {
        CleanRoot::Impossible(reason) => {
            said.push(format!("the packages were not installed: {reason}"));
        }
        CleanRoot::At(root) => {
            for (name, tried) in try_all(&release, &first, &folder, &root)? {
                passed += 1;
                said.push(format!("{name}: {tried}"));
            }
        }
    }
    println!("\n── packages\n{}", said.join("\n"));
    Ok(Ran::passed(passed))
}

/// Each kind of package, all at once: the demo mostly waits.
fn try_all(
    release: &Release,
    packages: &Path,
    folder: &Path,
    root: &Path,
) -> Result<Vec<(&'static str, Tried)>, String> {
    let program = &release.programs[0];
    let layer = folder.join("layer.tar.gz");
    oci::take_layer(&packages.join(oci::name(release)), &layer)?;
    let of = |name: String| packages.join(name);
    let (deb, archive) = (deb::name(release, program), tarball::name(release, program));
    let npm = npm::name(release, program);
    let readme = run::root().join("README.md");
    let readme = std::fs::read_to_string(&readme).map_err(|error| at_path(&readme, &error))?;
    let typed = |row: &str, begins: &str, file: &str| {
        let command = typed(&readme, row, begins, file);
        command.ok_or_else(|| format!("the README has no `{begins} …` for {row}"))
    };
    let trials = [
        Trial {
            kind: "deb",
            install: typed("Debian, Ubuntu", "sudo apt", &deb)?,
            uninstalled: String::new(),
            file: of(deb),
        },
        Trial {
            kind: "archive",
            install: typed("an archive", "mkdir", &archive)?,
            uninstalled: String::new(),
            file: of(archive),
        },
        Trial {
            kind: "npm",
            install: typed("npm", "npm install", &npm)?,
            uninstalled: typed("npm", "npx", &npm)?,
            file: of(npm),
        },
        Trial {
            kind: "image",
            install: String::new(),
            uninstalled: String::new(),
            file: layer,
        },
    ];
    let linkage = program.linkage;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = trials
            .iter()
            .map(|trial| {
                let work = folder.join(trial.kind);
                let running = scope.spawn(move || inside::run(trial, linkage, root, &work));
                (trial.kind, running)
            })
            .collect();
        threads
            .into_iter()
            .map(|(kind, thread)| (kind, thread.join()))
            .collect()
    });
    results
        .into_iter()
        .map(|(kind, result)| {
            let tried = result
                .map_err(|_| "the command itself failed, see above".to_owned())
                .and_then(|tried| tried?.checked(&release.version, linkage))
                .map_err(|error| format!("{kind}: {error}"))?;
            Ok((kind, tried))
        })
        .collect()
}

/// The command of a row of the README's table that begins so, as root types it, with the
/// file of this machine and version.
fn typed(readme: &str, row: &str, begins: &str, file: &str) -> Option<String> {
    let start = format!("| {row} | ");
    let row = readme.lines().find_map(|line| line.strip_prefix(&start))?;
    // Every second piece is between backticks.
    let mut commands = row.split('`').skip(1).step_by(2);
    let command = commands.find(|command| command.starts_with(begins))?;
    let words = command.split(' ').filter(|word| *word != "sudo");
    let words = words.map(|word| match word.contains("VERSION") {
        true if word.starts_with("./") => format!("./{file}"),
        true => file.to_owned(),
        false => word.to_owned(),
    });
    Some(words.collect::<Vec<_>>().join(" "))
}

fn sbom_in(release: &Release, packages: &Path) -> Result<Value, String> {
    let file = packages.join(sbom::name(release));
    let document = std::fs::read(&file).map_err(|error| at_path(&file, &error))?;
    serde_json::from_slice(&document).map_err(|error| error.to_string())
}

/// Holds the SBOM against what the page says it needs: all of that is in it, and nothing
/// that builds and tests it. A program without the page has neither.
fn names_the_page(document: &Value) -> Result<(), String> {
    let web = run::root().join("web");
    if !web.join("dist/index.html").is_file() {
        return Ok(());
    }
    let file = web.join("package.json");
    let about = std::fs::read(&file).map_err(|error| at_path(&file, &error))?;
    let about: Value = serde_json::from_slice(&about).map_err(|error| error.to_string())?;
    let components = document["components"].as_array().into_iter().flatten();
    let is_npm = |part: &&Value| {
        let purl = part["purl"].as_str();
        purl.is_some_and(|purl| purl.starts_with("pkg:npm/"))
    };
    let named: BTreeSet<_> = components
        .filter(is_npm)
        .filter_map(|part| part["name"].as_str())
        .collect();
    let names = |key: &str| about[key].as_object().into_iter().flatten();
    let absent = names("dependencies").find(|(name, _)| !named.contains(name.as_str()));
    let built_with = names("devDependencies").find(|(name, _)| named.contains(name.as_str()));
    match (absent, built_with) {
        (Some((name, _)), _) => Err(format!(
            "the SBOM does not name {name}, which is in the page"
        )),
        (_, Some((name, _))) => Err(format!("the SBOM names {name}, which only builds the page")),
        (None, None) => Ok(()),
    }
}

/// Holds the SBOM against the program itself: where code of a crate can panic, the
/// program has the path of its source, and with it name and version.
fn names_every_crate(release: &Release, document: &Value) -> Result<(), String> {
    let components = document["components"].as_array().into_iter().flatten();
    let named: BTreeSet<String> = components
        .filter_map(|part| {
            Some(format!(
                "{}-{}",
                part["name"].as_str()?,
                part["version"].as_str()?
            ))
        })
        .collect();
    let inside = crates_in(&release.programs[0].bytes);
    if inside.is_empty() {
        return Err("the program has no path of a crate in it".to_owned());
    }
    let missing: Vec<_> = inside.difference(&named).map(String::as_str).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("the SBOM does not name {}", missing.join(", ")))
    }
}

/// Names with versions of the crates whose paths are in a program.
fn crates_in(program: &[u8]) -> BTreeSet<String> {
    const REGISTRY: &str = "/registry/src/";
    let text = String::from_utf8_lossy(program);
    let mut found = BTreeSet::new();
    for (place, _) in text.match_indices(REGISTRY) {
        let mut parts = text[place + REGISTRY.len()..].split('/').skip(1);
        if let Some(name) = parts.next() {
            found.insert(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_the_readme_s_with_the_file_there_is() {
        let readme = "| with |\n| an archive | `mkdir -p ~/.local && tar -xzf m-VERSION-x.tar.gz -C \
                      ~/.local`, and more |\n| npm | `npm install ./m-VERSION.tgz`; or `npx \
                      ./m-VERSION.tgz demo` |\n| Debian | `sudo apt install ./m_VERSION.deb` |\n";
        let typed = |row, begins, file| typed(readme, row, begins, file);
        assert_eq!(
            typed("an archive", "mkdir", "m-1.tar.gz").unwrap(),
            "mkdir -p ~/.local && tar -xzf m-1.tar.gz -C ~/.local"
        );
        assert_eq!(
            typed("Debian", "sudo apt", "m_1.deb").unwrap(),
            "apt install ./m_1.deb"
        );
        assert_eq!(
            typed("npm", "npx", "m-1.tgz").unwrap(),
            "npx ./m-1.tgz demo"
        );
        assert_eq!(typed("npm", "yarn", "m-1.tgz"), None);
        assert_eq!(typed("Nix", "nix", "m"), None);
    }

    #[test]
    fn crates_are_found_by_the_paths_of_their_sources() {
        let program = b"\xff/c/registry/src/index-1/a-1.0.0/src/lib.rs\0\
                        /c/registry/src/index-1/b-c-2.0.0-rc.1/src/lib.rs/registry/src/";
        let expected = ["a-1.0.0", "b-c-2.0.0-rc.1"].map(str::to_owned);
        assert_eq!(crates_in(program), BTreeSet::from(expected));
    }
}
