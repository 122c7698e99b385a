//! The words of a comment without the marks that make it one.

use crate::language::Language;

/// Longer comments are cut.
const LONGEST: usize = 2_000;

/// The text of comments and doc strings, their marks and indentation gone.
pub(crate) fn plain(comment: &str) -> String {
    let mut text = String::new();
    for line in comment.lines() {
        let line = unmarked(line.trim());
        if text.len() + line.len() > LONGEST {
            break;
        }
        if !line.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
    }
    text
}

fn unmarked(line: &str) -> &str {
    let line = line.strip_suffix("*/").unwrap_or(line);
    let line = ["///", "//!", "//", "/**", "/*", "\"\"\"", "'''", "#"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .unwrap_or_else(|| line.strip_prefix('*').unwrap_or(line));
    let line = line.trim_matches(|c: char| c.is_whitespace());
    let line = ["\"\"\"", "'''"]
        .iter()
        .find_map(|mark| line.strip_suffix(mark))
        .unwrap_or(line);
    line.trim_matches(|c: char| c == '*' || c.is_whitespace())
}

/// What a file says about itself at its top; a licence is not that.
pub(crate) fn of_file(language: Language, text: &str) -> String {
    let mut block = String::new();
    let mut inside: Option<&str> = None;
    for line in text.lines().take(200) {
        let trimmed = line.trim();
        if let Some(end) = inside {
            block.push_str(line);
            block.push('\n');
            if trimmed.contains(end) {
                inside = None;
            }
            continue;
        }
        if trimmed.starts_with("#!") && !trimmed.starts_with("#![") {
            continue;
        }
        if trimmed.is_empty() {
            if says_something(&block) {
                break;
            }
            block.clear();
            continue;
        }
        let opens = match language {
            Language::Rust if trimmed.starts_with("//!") => None,
            Language::Rust => break,
            Language::Python if trimmed.starts_with("\"\"\"") => Some("\"\"\""),
            Language::Python if trimmed.starts_with("'''") => Some("'''"),
            Language::Python | Language::Ruby | Language::Bash if trimmed.starts_with('#') => None,
            Language::Python | Language::Ruby | Language::Bash => break,
            _ if trimmed.starts_with("/*") => Some("*/"),
            _ if trimmed.starts_with("//") => None,
            _ => break,
        };
        block.push_str(line);
        block.push('\n');
        let marker = trimmed.get(..3).unwrap_or(trimmed);
        inside =
            opens.filter(|end| !trimmed[marker.len().min(2)..].contains(end) || trimmed == *end);
    }
    if says_something(&block) {
        plain(&block)
    } else {
        String::new()
    }
}

fn says_something(block: &str) -> bool {
    let small = block.to_lowercase();
    let legal = [
        "copyright",
        "spdx-",
        "licensed under",
        "all rights reserved",
    ];
    !block.trim().is_empty() && !legal.iter().any(|word| small.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_every_kind_are_taken_off() {
        assert_eq!(plain("/// One.\n/// Two."), "One.\nTwo.");
        assert_eq!(plain("/**\n * One.\n * Two.\n */"), "One.\nTwo.");
        assert_eq!(plain("# One.\n#\n# Two."), "One.\nTwo.");
        assert_eq!(plain("\"\"\"One.\n\n    Two.\n    \"\"\""), "One.\nTwo.");
        assert_eq!(plain("// é"), "é");
    }

    #[test]
    fn a_file_says_what_it_is_unless_it_is_a_licence() {
        let of = |language, text| of_file(language, text);
        assert_eq!(
            of(Language::Rust, "//! Reads.\n//! Writes.\n\nuse x;"),
            "Reads.\nWrites."
        );
        assert_eq!(of(Language::Rust, "/// Of the item.\nfn a() {}"), "");
        assert_eq!(
            of(
                Language::Python,
                "#!/usr/bin/env python\n\"\"\"Reads.\"\"\"\nx = 1"
            ),
            "Reads."
        );
        assert_eq!(
            of(Language::Python, "\"\"\"Reads\nand writes.\n\"\"\"\nx = 1"),
            "Reads\nand writes."
        );
        assert_eq!(
            of(
                Language::Go,
                "// Copyright me\n\n// Package a reads.\npackage a"
            ),
            "Package a reads."
        );
        assert_eq!(
            of(Language::C, "/* Reads.\n * More. */\nint a;"),
            "Reads.\nMore."
        );
        assert_eq!(of(Language::Bash, "#!/bin/sh\n# Builds.\nmake"), "Builds.");
    }
}
