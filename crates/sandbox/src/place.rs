//! Where a program is to run, and the plan of the wall that follows from it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::profile::Profile;
use crate::wall::{Entry, Kind, Limits, Nesting, Network, PROXY_PORT, Wall};
use crate::{git, toolchains};

/// Parts of the system that are the same for everybody.
const SYSTEM: [&str; 12] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/opt",
    "/sbin",
    "/snap",
    "/sys/devices/system/cpu",
    "/usr",
];
/// Where names are resolved by a service of the machine.
const RESOLVER: &str = "/run/systemd/resolve";

/// Of what the system shows, what is a secret of the machine. Its root user owns them, and
/// a program of that user could read them.
const SYSTEM_SECRETS: [&str; 17] = [
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/letsencrypt",
    "/etc/ppp",
    "/etc/rancher",
    "/etc/security/opasswd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Where a program begins that has no folder of its own.
const NO_WORK: &str = "/tmp";

/// Empty, in memory, and gone afterwards.
const PRIVATE: [&str; 3] = ["/run", "/tmp", "/var/tmp"];

/// Where programs run, how thick the wall around them is, and what is let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub profile: Profile,
    /// Where the program begins, and what it may change; none for an empty folder in
    /// memory.
    pub folder: Option<PathBuf>,
    /// What it may read beside: named by the person, or by the manifest of its engine.
    pub readable: Vec<PathBuf>,
    /// What it may change beside.
    pub writable: Vec<PathBuf>,
    /// Folders that hold nothing inside but what of them is named here.
    #[serde(default)]
    pub private: Vec<PathBuf>,
    /// Files it has a copy of: what it changes in them is gone afterwards.
    #[serde(default)]
    pub copied: Vec<PathBuf>,
    /// Programs it starts, of which all that is theirs is seen.
    #[serde(default)]
    pub programs: Vec<PathBuf>,
    /// What it must never see, wherever it lies: this program's own folders.
    pub hidden: Vec<PathBuf>,
    pub network: Network,
    /// Unix sockets that it may reach, at their own paths.
    pub doors: Vec<PathBuf>,
    /// Unix sockets that answer at ports of its own loopback, where it has one.
    #[serde(default)]
    pub ports: Vec<(u16, PathBuf)>,
    pub limits: Limits,
    pub nesting: Nesting,
}

impl Place {
    #[must_use]
    pub fn new(profile: Profile, folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            ..Self::elsewhere(profile)
        }
    }

    /// A place that holds no work.
    #[must_use]
    pub fn elsewhere(profile: Profile) -> Self {
        Self {
            profile,
            folder: None,
            readable: Vec::new(),
            writable: Vec::new(),
            private: Vec::new(),
            copied: Vec::new(),
            programs: Vec::new(),
            hidden: Vec::new(),
            network: Network::Host,
            doors: Vec::new(),
            ports: Vec::new(),
            limits: Limits::default(),
            nesting: Nesting::Refused,
        }
    }

    /// The plan of the wall for a program that will have these variables, which say where
    /// its home and its toolchains are; none where the profile is that there be none.
    pub fn wall(
        &self,
        program: &Path,
        variables: &BTreeMap<String, String>,
    ) -> io::Result<Option<Wall>> {
        let profile = self.profile;
        if profile == Profile::Open {
            return Ok(None);
        }
        let folder = self.folder.as_deref().map(Path::canonicalize).transpose()?;
        let home = variables.get("HOME").map(PathBuf::from);
        let home = home.and_then(|home| Some((home.canonicalize().ok()?, home)));
        let home = home.filter(|(home, _)| home.parent().is_some());
        let is_above_home = |path: &Path| {
            home.as_ref()
                .is_some_and(|(home, _)| home.starts_with(path))
        };
        let holds_all = |folder: &&PathBuf| folder.parent().is_none() || is_above_home(folder);
        if let Some(folder) = folder.as_ref().filter(holds_all) {
            let folder = folder.display();
            return Err(io::Error::other(format!(
                "{folder} holds everything of this user, and would all be seen: choose the \
                 folder of the work"
            )));
        }
        let mut view = View::default();
        for path in SYSTEM {
            view.show(Path::new(path), Kind::Read);
        }
        for path in PRIVATE {
            view.set(Path::new(path), Kind::Private);
        }
        if self.network == Network::Host && profile != Profile::Sealed {
            view.show(Path::new(RESOLVER), Kind::Read);
        }
        let secrets = SYSTEM_SECRETS.iter().map(PathBuf::from);
        for path in secrets.chain(host_keys()) {
            view.hide(&path);
        }
        if let Some((home, called)) = &home {
            view.set(home, Kind::Private);
            view.link(called, home);
        }
        // Before toolchains: one inside the work is work.
        if let Some(folder) = &self.folder {
            view.show(folder, Kind::Write);
        }
        if let Some((home, _)) = &home {
            for path in toolchains::folders(home, variables) {
                view.show_unseen(&path);
            }
            if profile == Profile::Guarded {
                for name in toolchains::GIT_IN_HOME {
                    view.show(&home.join(name), Kind::Read);
                }
            }
        }
        let path = variables.get("PATH").map_or("", String::as_str);
        for part in std::env::split_paths(path).filter(|part| part.is_absolute()) {
            if part
                .canonicalize()
                .is_ok_and(|found| !is_above_home(&found))
            {
                view.show_unseen(&part);
            }
        }
        for program in self.programs.iter().map(PathBuf::as_path).chain([program]) {
            show_program(program, &mut view, &is_above_home);
        }
        for path in &self.private {
            // Work in it is work, and what is written there is to be found again.
            if path
                .canonicalize()
                .ok()
                .is_some_and(|found| Some(found) != folder)
            {
                view.show(path, Kind::Private);
            }
        }
        for path in &self.writable {
            view.show(path, Kind::Write);
        }
        for path in &self.readable {
            view.show(path, Kind::Read);
        }
        for path in self.copied.iter().filter(|path| path.is_file()) {
            // One that is seen already is changed where it is.
            if path.canonicalize().is_ok_and(|found| !view.shows(&found)) {
                view.show(path, Kind::Copy);
            }
        }
        for entry in folder.iter().flat_map(|folder| git::entries(folder)) {
            view.set(&entry.path, entry.kind);
        }
        // What was named lies deeper and is seen; the work may lie in one of them.
        for path in &self.hidden {
            if path.canonicalize().ok() != folder {
                view.hide(path);
            }
        }
        let network = match profile {
            Profile::Sealed => Network::None,
            Profile::Open | Profile::Guarded => self.network.clone(),
        };
        Ok(Some(Wall {
            profile,
            folder: folder.unwrap_or_else(|| PathBuf::from(NO_WORK)),
            view: view.into_entries(),
            environment: environment(profile, &network),
            network,
            doors: self.doors.clone(),
            ports: match profile {
                Profile::Sealed => Vec::new(),
                Profile::Open | Profile::Guarded => self.ports.clone(),
            },
            limits: self.limits,
            nesting: self.nesting,
            refusal_mark: format!("{:032x} ", rand::random::<u128>()),
        }))
    }
}

/// The file that makes a folder a virtual environment of Python.
const PYTHON_ENVIRONMENT: &str = "pyvenv.cfg";

/// Where the interpreter of a virtual environment is installed, with its library.
fn python_of(environment: &str) -> Option<PathBuf> {
    let mut pairs = environment.lines().filter_map(|line| line.split_once('='));
    let (_, programs) = pairs.find(|(key, _)| key.trim() == "home")?;
    let installed = Path::new(programs.trim()).parent()?;
    Some(installed.to_owned())
}

/// The file and, of a program in files of its own, those beside it: its package, its virtual
/// environment, or its folder.
fn show_program(program: &Path, view: &mut View, is_above_home: &dyn Fn(&Path) -> bool) {
    let Ok(found) = program.canonicalize() else {
        return;
    };
    view.link(program, &found);
    if view.shows(&found) {
        return;
    }
    let may_be_seen = |folder: &&Path| !is_above_home(folder) && folder.parent().is_some();
    let environment = found.parent().and_then(Path::parent);
    if let Some(environment) = environment.filter(may_be_seen)
        && let Ok(about) = std::fs::read_to_string(environment.join(PYTHON_ENVIRONMENT))
    {
        view.show(environment, Kind::Read);
        let python = python_of(&about).filter(|python| may_be_seen(&python.as_path()));
        if let Some(python) = python {
            view.show_unseen(&python);
        }
        return;
    }
    let package = found
        .ancestors()
        .skip(1)
        .filter(|one| one.ends_with("node_modules"));
    let beside = package.last().or(found.parent());
    match beside.filter(may_be_seen) {
        Some(folder) => view.show(folder, Kind::Read),
        None => view.show(&found, Kind::Read),
    }
}

fn environment(profile: Profile, network: &Network) -> BTreeMap<String, Option<String>> {
    let mut set = BTreeMap::from([
        (
            "MISSION_SANDBOX".to_owned(),
            Some(profile.name().to_owned()),
        ),
        ("TMPDIR".to_owned(), None),
    ]);
    if let Network::Proxy(_) = network {
        let address = format!("http://127.0.0.1:{PROXY_PORT}");
        for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"] {
            set.insert(name.to_owned(), Some(address.clone()));
            set.insert(name.to_lowercase(), Some(address.clone()));
        }
        for name in ["NO_PROXY", "no_proxy"] {
            set.insert(name.to_owned(), Some("localhost,127.0.0.1,::1".to_owned()));
        }
        // Node reads the others only when it is told to.
        set.insert("NODE_USE_ENV_PROXY".to_owned(), Some("1".to_owned()));
    }
    set
}

/// Keys of the machine's own SSH server.
fn host_keys() -> Vec<PathBuf> {
    let files = std::fs::read_dir("/etc/ssh")
        .into_iter()
        .flatten()
        .flatten();
    let names = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    });
    names.map(|file| file.path()).collect()
}

/// The entries so far; a later word on a path takes the place of an earlier one.
#[derive(Debug, Default)]
struct View(BTreeMap<PathBuf, Kind>);

impl View {
    fn set(&mut self, path: &Path, kind: Kind) {
        self.0.insert(path.to_owned(), kind);
    }

    /// What there is at a path, by the name it is asked for and by its own. What is not
    /// there is not shown.
    fn show(&mut self, path: &Path, kind: Kind) {
        if let Ok(found) = path.canonicalize()
            && found.parent().is_some()
        {
            self.link(path, &found);
            if !(kind == Kind::Read && self.covers(&found) == Some(&Kind::Read)) {
                self.set(&found, kind);
            }
        }
    }

    /// To read, unless it is seen already.
    fn show_unseen(&mut self, path: &Path) {
        if path.canonicalize().is_ok_and(|found| !self.shows(&found)) {
            self.show(path, Kind::Read);
        }
    }

    /// Nothing, where something would be seen.
    fn hide(&mut self, path: &Path) {
        if let Ok(found) = path.canonicalize()
            && self.shows(&found)
        {
            self.set(&found, Kind::Hidden);
        }
    }

    /// A name for what has another, unless it is seen as it is on the machine.
    fn link(&mut self, path: &Path, found: &Path) {
        let Some(link) = first_link(path) else { return };
        if let Ok(to) = std::fs::read_link(&link)
            && !self.shows(&link)
            && !self.0.contains_key(&link)
        {
            self.set(&link, Kind::Link(to.clone()));
            let next = link
                .parent()
                .map_or_else(|| to.clone(), |parent| parent.join(&to));
            if next != *found {
                self.link(&next, found);
            }
        }
    }

    fn covers(&self, path: &Path) -> Option<&Kind> {
        path.ancestors().find_map(|above| self.0.get(above))
    }

    fn shows(&self, path: &Path) -> bool {
        matches!(self.covers(path), Some(Kind::Read | Kind::Write))
    }

    /// Those above before those below.
    fn into_entries(self) -> Vec<Entry> {
        let entries = self.0.into_iter().map(|(path, kind)| Entry { path, kind });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.path.components().count());
        entries
    }
}

/// The first part of a path that is a link.
fn first_link(path: &Path) -> Option<PathBuf> {
    let mut above: Vec<_> = path.ancestors().collect();
    above.reverse();
    let link = above.into_iter().find(|part| part.is_symlink());
    link.map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_a_virtual_environment_is_seen_with_it_and_with_its_python() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for made in [
            "tools/aider/bin",
            "python/3.11/bin",
            "python/3.11/lib",
            "work",
        ] {
            std::fs::create_dir_all(home.join(made)).unwrap();
        }
        let program = home.join("tools/aider/bin/aider");
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let python = home.join("python/3.11");
        let about = format!("home = {}/bin\nversion = 3.11.7\n", python.display());
        std::fs::write(home.join("tools/aider/pyvenv.cfg"), about).unwrap();
        let variables = BTreeMap::from([("HOME".to_owned(), home.display().to_string())]);
        let place = Place::new(Profile::Guarded, &home.join("work"));
        let wall = place.wall(&program, &variables).unwrap().unwrap();
        assert!(wall.shows(&home.join("tools/aider/lib")));
        assert!(wall.shows(&python.join("lib")));
        assert!(!wall.shows(&home.join("tools/other")));
        // An environment of the whole home is none.
        std::fs::create_dir(home.join("bin")).unwrap();
        let program = home.join("bin/x");
        std::fs::write(&program, "").unwrap();
        std::fs::write(home.join("pyvenv.cfg"), "home = /\n").unwrap();
        let wall = place.wall(&program, &variables).unwrap().unwrap();
        assert!(wall.shows(&program) && !wall.shows(&home.join("tools")));
    }

    #[test]
    fn a_home_is_hidden_but_for_toolchains_and_the_work() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for made in [".cargo/registry", ".ssh", "work", "own/data", "real"] {
            std::fs::create_dir_all(home.join(made)).unwrap();
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "token").unwrap();
        std::os::unix::fs::symlink("real", home.join("called")).unwrap();
        let named = home.display().to_string();
        let variables = BTreeMap::from([("HOME".to_owned(), named)]);
        let shell = Path::new("/bin/sh");
        let mut place = Place::new(Profile::Guarded, &home.join("work"));
        place.readable.push(home.join("called"));
        place.hidden.push(home.join("own"));
        let wall = place.wall(shell, &variables).unwrap().unwrap();
        let below: Vec<_> = wall
            .view
            .iter()
            .filter(|one| one.path.starts_with(&home))
            .collect();
        let expected = [
            Entry::new(&home, Kind::Private),
            Entry::new(home.join("called"), Kind::Link("real".into())),
            Entry::new(home.join("real"), Kind::Read),
            Entry::new(home.join("work"), Kind::Write),
            Entry::new(home.join(".cargo/registry"), Kind::Read),
        ];
        assert_eq!(below, expected.iter().collect::<Vec<_>>());
        assert!(!wall.shows(&home.join(".ssh")));
        assert!(!wall.shows(Path::new("/etc/shadow")));
        assert!(wall.shows(Path::new("/etc/passwd")));
        place.profile = Profile::Sealed;
        let sealed = place.wall(shell, &variables).unwrap().unwrap();
        assert_eq!(sealed.network, Network::None);
        place.profile = Profile::Open;
        assert_eq!(place.wall(shell, &variables).unwrap(), None);
        place.profile = Profile::Guarded;
        place.folder = Some(home);
        let refused = place.wall(shell, &variables).unwrap_err();
        assert!(refused.to_string().contains("everything of this user"));
    }
}
