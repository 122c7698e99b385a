//! The colours of a moving picture, as classes of its style sheet.
//!
//! What the program named by its value stays as it is. What it left to the terminal is
//! the theme's: one for dark surroundings, one for light ones, or whichever the
//! viewer's system asks for.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::screenshot::picture::{Hue, Tint};
use crate::screenshot::svg::hex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnimationTheme {
    Light,
    Dark,
    /// As the viewer's system is set.
    Auto,
}

struct Colours {
    foreground: &'static str,
    background: &'static str,
    named: [&'static str; 16],
}

const DARK: Colours = Colours {
    foreground: "#d8d8d8",
    background: "#181818",
    named: [
        "#181818", "#e06c6c", "#90a959", "#f4bf75", "#6a9fb5", "#aa759f", "#75b5aa", "#d8d8d8",
        "#8b8b8b", "#e58585", "#aac474", "#feca88", "#82b8c8", "#c28cb8", "#93d3c3", "#f8f8f8",
    ],
};

/// Each readable on white.
const LIGHT: Colours = Colours {
    foreground: "#24292f",
    background: "#ffffff",
    named: [
        "#24292f", "#c21f2c", "#116329", "#7d4e00", "#0759b8", "#7340c8", "#136a70", "#5c656e",
        "#57606a", "#a40e26", "#1a7f37", "#633c01", "#0b63c5", "#8250df", "#1b7c83", "#6e7781",
    ],
};

/// The attribute that gives an element this colour.
pub(super) fn attribute(tint: Tint) -> String {
    let colour = match tint.hue {
        Hue::Foreground => "class='f'".to_owned(),
        Hue::Background => "class='b'".to_owned(),
        Hue::Named(index) => format!("class='c{index}'"),
        Hue::Exact(rgb) => format!("color='{}'", hex(rgb)),
    };
    if tint.dim {
        format!("{colour} opacity='.7'")
    } else {
        colour
    }
}

/// The rules for the classes that a drawing uses.
pub(super) fn rules(theme: AnimationTheme, drawing: &str) -> String {
    let used: BTreeSet<usize> = (0..16)
        .filter(|index| drawing.contains(&format!("class='c{index}'")))
        .collect();
    match theme {
        AnimationTheme::Light => LIGHT.rules(&used),
        AnimationTheme::Dark => DARK.rules(&used),
        AnimationTheme::Auto => format!(
            "{}@media(prefers-color-scheme:dark){{{}}}",
            LIGHT.rules(&used),
            DARK.rules(&used)
        ),
    }
}

impl Colours {
    fn rules(&self, used: &BTreeSet<usize>) -> String {
        let (foreground, background) = (self.foreground, self.background);
        let mut rules = format!(".f{{color:{foreground}}}.b{{color:{background}}}");
        for index in used {
            let _ = write!(rules, ".c{index}{{color:{}}}", self.named[*index]);
        }
        rules
    }
}
