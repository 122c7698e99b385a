//! `mission daemon install|uninstall`: a unit for the service manager that
//! starts the daemon at login.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use missiond_core::ErrorCode;
use missiond_os::files;
use serde_json::json;

use crate::args::ServiceManager;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;

const LABEL: &str = "dev.missiond.daemon";

pub(super) fn install(
    reach: &Reach,
    print: bool,
    manager: Option<ServiceManager>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let manager = manager.unwrap_or_else(native);
    let program = missiond_os::programs::own_program()?;
    let environment = kept_environment();
    let text = unit(
        manager,
        &program,
        &environment,
        &reach.logged_home().log_dir(),
    )?;
    if print {
        output.result(&json!({"unit": text}), |output, _| {
            output.line(text.trim_end());
        });
        return Ok(ExitCode::SUCCESS);
    }
    let path = unit_path(manager)?;
    files::replace_edited(&path, text.as_bytes(), files::Mode::Kept)?;
    let enabled = enable(manager, &path);
    output.result(
        &json!({"unit": path, "enabled": enabled.is_ok()}),
        |output, _| {
            output.line(format!("Wrote {}.", path.display()));
            match &enabled {
                Ok(()) => output.line("The daemon starts at login from now on."),
                Err(command) => output.line(format!("To start it at login, run:  {command}")),
            }
        },
    );
    Ok(ExitCode::SUCCESS)
}

pub(super) fn uninstall(
    manager: Option<ServiceManager>,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let manager = manager.unwrap_or_else(native);
    let path = unit_path(manager)?;
    let existed = remove(manager)?.is_some();
    output.result(&json!({"unit": path, "removed": existed}), |output, _| {
        output.line(if existed {
            format!("Removed {}.", path.display())
        } else {
            "Nothing was installed.".to_owned()
        });
    });
    Ok(ExitCode::SUCCESS)
}

/// Takes the unit away, if there is one; its file.
fn remove(manager: ServiceManager) -> Result<Option<PathBuf>, Failure> {
    let path = unit_path(manager)?;
    if !path.exists() {
        return Ok(None);
    }
    disable(manager, &path);
    std::fs::remove_file(&path)?;
    forget(manager, &path);
    Ok(Some(path))
}

/// The unit that this system's service manager was given.
#[derive(Debug)]
pub(super) struct Service {
    manager: ServiceManager,
    pub(super) unit: PathBuf,
}

impl Service {
    pub(super) fn installed() -> Option<Self> {
        let manager = native();
        let unit = unit_path(manager).ok().filter(|unit| unit.exists())?;
        Some(Self { manager, unit })
    }

    /// Whether the service manager started this process, and would start it again.
    pub(super) fn runs(&self, pid: u32) -> bool {
        match self.manager {
            ServiceManager::Systemd => {
                let asked = ["--user", "show", "--property=MainPID", "missiond.service"];
                printed("systemctl", &asked).trim() == format!("MainPID={pid}")
            }
            ServiceManager::Launchd => {
                printed("launchctl", &["list", LABEL]).contains(&format!("\"PID\" = {pid};"))
            }
        }
    }

    /// Has the service manager start the daemon.
    pub(super) fn start(&self) -> bool {
        match self.manager {
            ServiceManager::Systemd => {
                quietly("systemctl", &["--user", "start", "missiond.service"])
            }
            ServiceManager::Launchd => quietly("launchctl", &["start", LABEL]),
        }
    }

    pub(super) fn remove(&self) -> Result<(), Failure> {
        remove(self.manager).map(drop)
    }
}

fn native() -> ServiceManager {
    if cfg!(target_os = "macos") {
        ServiceManager::Launchd
    } else {
        ServiceManager::Systemd
    }
}

fn unit_path(manager: ServiceManager) -> Result<PathBuf, Failure> {
    let folder = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let no_home = || Failure::new(ErrorCode::InvalidConfig, "no home folder: set HOME");
    match manager {
        ServiceManager::Systemd => {
            let config = folder("XDG_CONFIG_HOME")
                .or_else(|| Some(folder("HOME")?.join(".config")))
                .ok_or_else(no_home)?;
            Ok(config.join("systemd/user/missiond.service"))
        }
        ServiceManager::Launchd => {
            let home = folder("HOME").ok_or_else(no_home)?;
            Ok(home
                .join("Library/LaunchAgents")
                .join(format!("{LABEL}.plist")))
        }
    }
}

/// What decides where the home is: the service manager does not have this
/// shell's environment, and would otherwise run another daemon elsewhere.
fn kept_environment() -> Vec<(&'static str, String)> {
    let set = |name: &'static str| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some((name, value))
    };
    match set("MISSION_HOME") {
        Some(home) => vec![home],
        None => ["XDG_CONFIG_HOME", "XDG_STATE_HOME"]
            .into_iter()
            .filter_map(set)
            .collect(),
    }
}

fn unit(
    manager: ServiceManager,
    program: &Path,
    environment: &[(&str, String)],
    logs: &Path,
) -> Result<String, Failure> {
    let program = program.to_string_lossy();
    let unusable = |text: &str| text.chars().any(char::is_control);
    if unusable(&program) || environment.iter().any(|(_, value)| unusable(value)) {
        let message = "a path with control characters cannot stand in a service unit";
        return Err(Failure::new(ErrorCode::InvalidConfig, message));
    }
    Ok(match manager {
        ServiceManager::Systemd => {
            let environment: String = environment
                .iter()
                .map(|(name, value)| {
                    format!(
                        "Environment={}
",
                        systemd_quote(&format!("{name}={value}"))
                    )
                })
                .collect();
            format!(
                "[Unit]\n\
                 Description=missiond, the daemon that runs coding agents\n\n\
                 [Service]\n\
                 {environment}\
                 ExecStart={} daemon run\n\
                 ExecReload={} daemon reload\n\
                 Restart=on-failure\n\
                 RestartSec=2\n\
                 # The configuration stands in the way: to try again changes nothing.\n\
                 RestartPreventExitStatus=7\n\
                 TimeoutStopSec=15\n\
                 # The daemon ends what it has begun; nothing else is to be signalled.\n\
                 KillMode=process\n\
                 Delegate=yes\n\n\
                 [Install]\n\
                 WantedBy=default.target\n",
                // Only in commands does `$` mean something.
                systemd_quote(&program).replace('$', "$$"),
                systemd_quote(&program).replace('$', "$$")
            )
        }
        ServiceManager::Launchd => {
            let environment: String = environment
                .iter()
                .map(|(name, value)| {
                    format!(
                        "    <key>{name}</key><string>{}</string>
",
                        xml(value)
                    )
                })
                .collect();
            let errors = logs.join("launchd.log");
            format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
                 \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\">\n<dict>\n  \
                 <key>Label</key><string>{LABEL}</string>\n  \
                 <key>ProgramArguments</key>\n  <array>\n    \
                 <string>{}</string><string>daemon</string><string>run</string>\n  </array>\n\
                   \
                 <key>EnvironmentVariables</key>\n  <dict>\n{environment}  </dict>\n  \
                 <key>RunAtLoad</key><true/>\n  \
                 <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n  \
                 <key>AbandonProcessGroup</key><true/>\n  \
                 <key>StandardErrorPath</key><string>{}</string>\n\
                 </dict>\n</plist>\n",
                xml(&program),
                xml(&errors.to_string_lossy())
            )
        }
    })
}

/// Quoted for systemd, to whom `%` means something.
fn systemd_quote(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%");
    format!("\"{escaped}\"")
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Tells the service manager; on failure returns the command to run by hand.
fn enable(manager: ServiceManager, path: &Path) -> Result<(), String> {
    match manager {
        ServiceManager::Systemd => {
            let reloaded = quietly("systemctl", &["--user", "daemon-reload"]);
            let enabled =
                reloaded && quietly("systemctl", &["--user", "enable", "missiond.service"]);
            enabled
                .then_some(())
                .ok_or_else(|| "systemctl --user enable --now missiond.service".to_owned())
        }
        ServiceManager::Launchd => {
            let path = path.to_string_lossy();
            quietly("launchctl", &["load", "-w", &path])
                .then_some(())
                .ok_or_else(|| format!("launchctl load -w '{path}'"))
        }
    }
}

fn disable(manager: ServiceManager, path: &Path) {
    match manager {
        ServiceManager::Systemd => {
            quietly("systemctl", &["--user", "disable", "missiond.service"]);
        }
        ServiceManager::Launchd => {
            quietly("launchctl", &["unload", "-w", &path.to_string_lossy()]);
        }
    }
}

/// The link by which systemd would start it, which stays where it could not be asked, as
/// without a session; and what it has in mind of a unit that is gone.
fn forget(manager: ServiceManager, unit: &Path) {
    if manager == ServiceManager::Systemd {
        let name = unit.file_name().unwrap_or_default();
        let wanted = unit.with_file_name("default.target.wants");
        let _ = std::fs::remove_file(wanted.join(name));
        let _ = std::fs::remove_dir(wanted);
        quietly("systemctl", &["--user", "daemon-reload"]);
    }
}

/// What a program prints; nothing when it fails.
fn printed(program: &str, args: &[&str]) -> String {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

fn quietly(program: &str, args: &[&str]) -> bool {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_spaces_and_signs_stay_one_word() {
        let text = unit(
            ServiceManager::Systemd,
            Path::new("/opt/my $tools/100%/mission"),
            &[("MISSION_HOME", "/home/$a \"b\"".to_owned())],
            Path::new("/l"),
        )
        .unwrap();
        assert!(
            text.contains("ExecStart=\"/opt/my $$tools/100%%/mission\" daemon run\n"),
            "{text}"
        );
        assert!(
            text.contains("Environment=\"MISSION_HOME=/home/$a \\\"b\\\"\"\n"),
            "{text}"
        );
        let plist = unit(
            ServiceManager::Launchd,
            Path::new("/a&b/mission"),
            &[],
            Path::new("/l"),
        )
        .unwrap();
        assert!(
            plist.contains("<string>/a&amp;b/mission</string>"),
            "{plist}"
        );
    }

    #[test]
    fn a_line_break_cannot_smuggle_a_setting_into_the_unit() {
        let smuggled = unit(
            ServiceManager::Systemd,
            Path::new("/mission"),
            &[("MISSION_HOME", "/x\nExecStartPre=/bin/evil".to_owned())],
            Path::new("/l"),
        );
        assert!(smuggled.is_err());
    }
}
