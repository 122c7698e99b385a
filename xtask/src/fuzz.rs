//! `cargo xtask fuzz`: feeds the parsers what nobody would write.

use crate::run;

const TARGETS: &[&str] = &[
    "ipc_frames",
    "host_frames",
    "terminal",
    "screens",
    "shell_command",
    "policy_file",
    "proxy_head",
    "cast",
    "recording",
    "animation",
    "manifest",
    "marker",
    "journal_line",
    "task_files",
    "mcp_wire",
    "acp",
    "control",
    "model_answers",
    "knowledge",
    "secrets",
    "injection",
    "transcripts",
    "diff_text",
    "onnx",
];

const CARGO_FUZZ: &str = "0.13.2";

pub(crate) fn fuzz(arguments: &[String]) -> Result<(), String> {
    let mut seconds = 60;
    let mut targets = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().and_then(|value| value.parse().ok());
            seconds = value.ok_or("`--seconds` needs a number")?;
        } else {
            targets.push(argument.as_str());
        }
    }
    if let Some(unknown) = targets.iter().find(|target| !TARGETS.contains(target)) {
        return Err(format!(
            "no fuzz target `{unknown}`; there are {}",
            TARGETS.join(", ")
        ));
    }
    if run::output(&mut run::cargo(&["fuzz", "--version"])).is_err() {
        run::run(&mut run::cargo(&[
            "install",
            "--locked",
            "cargo-fuzz",
            "--version",
            CARGO_FUZZ,
        ]))?;
    }
    for target in if targets.is_empty() {
        TARGETS.to_vec()
    } else {
        targets
    } {
        println!("\n── {target}, {seconds} s");
        let limit = format!("-max_total_time={seconds}");
        // Without a sanitizer the stable compiler can do it; the parsers hold
        // no unsafe code for one to watch.
        let arguments = ["fuzz", "run", "--sanitizer", "none", target, "--", &limit];
        run::run(&mut run::cargo(&arguments))?;
    }
    Ok(())
}
