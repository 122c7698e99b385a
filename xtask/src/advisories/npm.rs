//! The npm packages in the page, by what `npm audit` says of them. Those that only
//! build and test it are left out: they are not in the program.

use std::process::Command;

use serde_json::Value;

use crate::report::Ran;
use crate::run;

pub(crate) fn check() -> Result<Ran, String> {
    if !run::exists("npm") {
        return Ok(Ran::skipped(
            "the packages of the page were not looked up: there is no `npm`",
        ));
    }
    // It fails when it finds something, too: what it prints tells the two apart.
    let audit = Command::new("npm")
        .args(["audit", "--omit=dev", "--json"])
        .current_dir(run::root().join("web"))
        .env("npm_config_fetch_retries", "1")
        .env("npm_config_fetch_timeout", "20000")
        .env("npm_config_update_notifier", "false")
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    match verdict(&String::from_utf8_lossy(&audit.stdout)) {
        Verdict::Clean(packages) => {
            println!("{packages} npm packages in the page, no advisory");
            Ok(Ran::default())
        }
        Verdict::Vulnerable(found) => Err(format!(
            "{} known weaknesses of packages in the page:\n  {}",
            found.len(),
            found.join("\n  ")
        )),
        Verdict::Unknown(why) => Ok(Ran::skipped(format!(
            "the advisories of npm could not be had ({why})"
        ))),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// How many packages were looked up.
    Clean(u64),
    Vulnerable(Vec<String>),
    Unknown(String),
}

fn verdict(printed: &str) -> Verdict {
    let Ok(report) = serde_json::from_str::<Value>(printed) else {
        return Verdict::Unknown("npm printed no JSON".to_owned());
    };
    let Some(found) = report["vulnerabilities"].as_object() else {
        let said = report["message"]
            .as_str()
            .or(report["error"]["summary"].as_str());
        return Verdict::Unknown(said.unwrap_or("npm gave no reason").to_owned());
    };
    let lines: Vec<_> = found
        .iter()
        .map(|(name, one)| {
            // Where it is about a package below this one, that is named in its place.
            let about = one["via"].as_array().into_iter().flatten().map(|via| {
                let url = via["url"].as_str().unwrap_or_default();
                match via["title"].as_str() {
                    Some(title) => format!("{title} {url}"),
                    None => format!("by {}", via.as_str().unwrap_or("another package")),
                }
            });
            let severity = one["severity"].as_str().unwrap_or("unknown");
            format!(
                "{name} ({severity}): {}",
                about.collect::<Vec<_>>().join("; ")
            )
        })
        .collect();
    if lines.is_empty() {
        Verdict::Clean(
            report["metadata"]["dependencies"]["prod"]
                .as_u64()
                .unwrap_or(0),
        )
    } else {
        Verdict::Vulnerable(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_npm_prints_is_told_apart() {
        let clean = r#"{"vulnerabilities": {}, "metadata": {"dependencies": {"prod": 14}}}"#;
        assert_eq!(verdict(clean), Verdict::Clean(14));
        let found = r#"{"vulnerabilities": {"leaky": {"severity": "high", "via": [
            {"title": "It leaks", "url": "https://example.org/1"}]},
            "user": {"severity": "high", "via": ["leaky"]}}}"#;
        let lines = [
            "leaky (high): It leaks https://example.org/1",
            "user (high): by leaky",
        ];
        assert_eq!(
            verdict(found),
            Verdict::Vulnerable(lines.map(str::to_owned).to_vec())
        );
        for (printed, why) in [
            (
                r#"{"message": "405 Method Not Allowed"}"#,
                "405 Method Not Allowed",
            ),
            (r#"{"error": {"summary": "no lock file"}}"#, "no lock file"),
            ("npm is confused", "npm printed no JSON"),
        ] {
            assert_eq!(verdict(printed), Verdict::Unknown(why.to_owned()));
        }
    }
}
