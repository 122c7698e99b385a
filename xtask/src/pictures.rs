//! `cargo xtask pictures`: the pictures of the README, made by the program itself.
//!
//! The moving one is a recording of a real `mission demo`, typed into a real shell in a
//! slot. The others are the page in a browser, with agents at work in two repositories.
//! They are committed with the version they are of; a test checks that they are there, are of
//! this version and show what they should.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{run, web};

const COMMAND: &str = "mission demo";
/// What the demo shows when all of it was shown.
const END: &str = "Press Enter to end the demo";
const SIZE: &str = "96x24";
const PATIENCE: Duration = Duration::from_secs(300);

/// Which version the pictures show; a test compares it with that of the sources.
const VERSION: &str = "version.txt";

/// With a program built for release, or the one that MISSION names.
pub(crate) fn pictures(arguments: &[String]) -> Result<(), String> {
    if let Some(unknown) = arguments.first() {
        return Err(format!("`cargo xtask pictures` takes no `{unknown}`"));
    }
    let program = web::program()?;
    let folder = run::root().join("docs/pictures");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    // Short: the path of a socket has its limit.
    let home = std::env::temp_dir().join(format!("mission-pictures-{}", std::process::id()));
    let recorder = Recorder::prepare(&program, &home)?;
    let recorded = recorder.record(&folder.join("demo.svg"));
    recorder.end();
    recorded?;
    web::take_pictures(&program, &folder)?;
    // Last: pictures that are only partly new are still of the version before.
    let says = run::output(Command::new(&program).args(["--json", "version"]))?;
    let says: Value = serde_json::from_str(&says).map_err(|error| error.to_string())?;
    let version = says["version"]
        .as_str()
        .ok_or("the program has no version")?;
    let file = folder.join(VERSION);
    std::fs::write(&file, format!("{version}\n"))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// A daemon with a home of its own.
struct Recorder<'a> {
    program: &'a Path,
    home: &'a Path,
}

impl<'a> Recorder<'a> {
    fn prepare(program: &'a Path, home: &'a Path) -> Result<Self, String> {
        let bin = home.join("bin");
        let named = bin.join("mission");
        std::fs::create_dir_all(&bin)
            .and_then(|()| std::os::unix::fs::symlink(program, named))
            .map_err(|error| format!("{}: {error}", bin.display()))?;
        Ok(Self { program, home })
    }

    fn record(&self, picture: &Path) -> Result<(), String> {
        let home = self.home.display().to_string();
        let path = std::env::var("PATH").map_err(|error| format!("PATH: {error}"))?;
        let path = format!("PATH={home}/bin:{path}");
        self.mission(&["daemon", "start"])?;
        self.mission(&[
            "slot", "spawn", "--name", "demo", "--size", SIZE, "--cwd", &home, "--env", "PS1=$ ",
            "--env", &path, "--", "/bin/sh", "-i",
        ])?;
        self.wait_for("$")?;
        // Key by key, as a person types.
        for key in COMMAND.chars() {
            self.mission(&send(&key.to_string(), &["--no-enter"]))?;
        }
        self.mission(&send("", &[]))?;
        self.wait_for(END)?;
        let slots = self.mission(&["slot", "list", "--json"])?;
        let slots: Value = serde_json::from_str(&slots).map_err(|error| error.to_string())?;
        let recording = slots["slots"][0]["program"]["recording"]
            .as_str()
            .ok_or("the slot of the demo has no recording")?;
        let picture = picture.display().to_string();
        let made = self.mission(&["semantic", "animate", recording, "-o", &picture])?;
        print!("{made}");
        Ok(())
    }

    fn wait_for(&self, wanted: &str) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let screen = self.mission(&["slot", "read", "demo"])?;
            if screen.contains(wanted) {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("`{wanted}` was not shown; this was:\n{screen}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn mission(&self, arguments: &[&str]) -> Result<String, String> {
        run::output(
            Command::new(self.program)
                .args(arguments)
                .env("MISSION_HOME", self.home)
                .env("HOME", self.home)
                .env_remove("NO_COLOR"),
        )
    }

    /// Leaves nothing running. What cannot be ended ended by itself.
    fn end(&self) {
        let _ = self.mission(&send("", &[]));
        let _ = self.wait_for("Everything is left to be looked at");
        let _ = self.mission(&["slot", "kill", "demo", "--grace", "0"]);
        let _ = self.mission(&["down"]);
        let _ = std::fs::remove_dir_all(self.home);
    }
}

/// Types into the slot whatever it shows.
fn send<'a>(text: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["slot", "send", "demo", text, "--now", "--force"], more].concat()
}
