//! Reads the lines in which an agent shows its tool calls.

use regex::Regex;
use serde::Serialize;

use crate::region::{RegionId, Regions};
use crate::screen::Screen;

/// A tool call as the screen shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolLine {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    pub phase: ToolPhase,
    pub row: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolPhase {
    Running,
    Finished,
}

impl ToolPhase {
    pub(crate) const NAMES: [(&'static str, Self); 2] =
        [("running", Self::Running), ("finished", Self::Finished)];
}

impl ToolLine {
    /// What makes it another call for someone who follows readings.
    pub(crate) fn identity(&self) -> (&str, &str, ToolPhase) {
        (&self.name, &self.arguments, self.phase)
    }
}

/// One way an engine draws tool calls. `name` and `args` are named groups of
/// the pattern; without a `name` group the fixed name is used.
#[derive(Debug, Clone)]
pub(crate) struct ToolPattern {
    pub(crate) region: RegionId,
    pub(crate) pattern: Regex,
    pub(crate) phase: ToolPhase,
    pub(crate) name: Option<String>,
}

/// The lowest tool line on the screen: the latest call.
pub(crate) fn find_tool(
    patterns: &[ToolPattern],
    screen: &Screen,
    regions: &Regions,
) -> Option<ToolLine> {
    let mut best: Option<ToolLine> = None;
    for tool in patterns {
        let Some(rows) = regions.rows(tool.region) else {
            continue;
        };
        let found = rows.rev().find_map(|row| {
            let captures = tool.pattern.captures(&screen.rows[row].text)?;
            let group = |name| {
                captures
                    .name(name)
                    .map(|text| text.as_str().trim().to_owned())
            };
            let name = group("name")
                .or_else(|| tool.name.clone())
                .unwrap_or_default();
            let arguments = group("args").unwrap_or_default();
            Some(ToolLine {
                name,
                arguments,
                phase: tool.phase,
                row,
            })
        });
        if let Some(found) = found
            && best.as_ref().is_none_or(|best| found.row > best.row)
        {
            best = Some(found);
        }
    }
    best
}
