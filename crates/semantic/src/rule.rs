//! Rules: conditions over a screen, and the state they stand for.

use std::cell::OnceCell;
use std::ops::Range;
use std::time::Duration;

use missiond_core::PtyState;
use regex::Regex;

use crate::dialog::{Dialog, find_dialog};
use crate::fingerprint::Fingerprint;
use crate::keys::{KeyTest, KeysSent};
use crate::manifest::Manifest;
use crate::paste::Paste;
use crate::reading::{Evidence, WaitingFor};
use crate::region::{RegionId, Regions, flowing_text};
use crate::screen::{Screen, Style};
use crate::tool::{ToolLine, ToolPhase, find_tool};

#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) state: PtyState,
    pub(crate) priority: i32,
    pub(crate) confidence: f32,
    pub(crate) reason: String,
    pub(crate) waiting_for: Option<WaitingFor>,
    pub(crate) when: Condition,
    pub(crate) line: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Rows {
        region: RegionId,
        test: RowTest,
    },
    Title(Regex),
    Status(Regex),
    Progress(Vec<String>),
    Alternate(bool),
    CursorVisible(bool),
    CursorIn(RegionId),
    Paste(Vec<Paste>),
    /// The rows of a region changed within this time. The number is the index
    /// of its tracker in the reader.
    Changed {
        region: RegionId,
        within: Duration,
        tracker: usize,
    },
    Was(Vec<PtyState>),
    Dialog(bool),
    Tool(ToolPhase),
    Fingerprint {
        name: String,
        region: RegionId,
        hash: Fingerprint,
    },
    /// Such a key was sent to the program within this time.
    Sent {
        test: KeyTest,
        within: Duration,
    },
    /// A text and Enter were sent to the prompt this long ago, and nothing on
    /// the screen has answered them.
    Unanswered {
        after: Duration,
        within: Duration,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum RowTest {
    Exists,
    /// Some row matches, and carries the style if one is asked for.
    Has(Regex, Option<Style>),
    /// The first row that holds anything matches.
    First(Regex),
    /// The last row that holds anything matches.
    Last(Regex),
    /// The words of the region, joined across rows, match.
    Says(Regex),
}

/// What a single screen cannot tell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past {
    /// The reading before.
    pub(crate) state: PtyState,
    pub(crate) keys: KeysSent,
    pub(crate) paste: Paste,
}

/// Everything a condition may look at. What takes work to find is found when
/// first asked for.
pub(crate) struct View<'a> {
    pub(crate) manifest: &'a Manifest,
    pub(crate) screen: &'a Screen,
    pub(crate) regions: &'a Regions,
    pub(crate) at: Duration,
    pub(crate) changes: &'a [Option<Duration>],
    pub(crate) past: Past,
    dialog: OnceCell<Option<Dialog>>,
    tool: OnceCell<Option<ToolLine>>,
    words: Vec<OnceCell<String>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(
        manifest: &'a Manifest,
        screen: &'a Screen,
        regions: &'a Regions,
        at: Duration,
        changes: &'a [Option<Duration>],
        past: Past,
    ) -> Self {
        let words = vec![OnceCell::new(); manifest.regions.len()];
        let (dialog, tool) = (OnceCell::new(), OnceCell::new());
        Self {
            manifest,
            screen,
            regions,
            at,
            changes,
            past,
            dialog,
            tool,
            words,
        }
    }

    pub(crate) fn dialog(&self) -> Option<&Dialog> {
        let permission = self.manifest.permission.as_ref();
        let find = |rule| find_dialog(rule, permission, self.screen, self.regions);
        self.dialog
            .get_or_init(|| self.manifest.dialog.iter().find_map(find))
            .as_ref()
    }

    pub(crate) fn tool(&self) -> Option<&ToolLine> {
        let find = || find_tool(&self.manifest.tools, self.screen, self.regions);
        self.tool.get_or_init(find).as_ref()
    }

    fn name(&self, region: RegionId) -> &str {
        &self.manifest.region_names[region.0]
    }

    /// The words of a region that is on the screen.
    fn words(&self, region: RegionId, rows: Range<usize>) -> &str {
        self.words[region.0].get_or_init(|| flowing_text(&self.screen.rows[rows]))
    }
}

/// A fact found while testing a condition, before a rule claims it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) source: String,
    pub(crate) row: Option<usize>,
    pub(crate) text: String,
}

impl Fact {
    pub(crate) fn of_rule(self, rule: &str) -> Evidence {
        Evidence {
            rule: rule.to_owned(),
            source: self.source,
            row: self.row,
            text: self.text,
        }
    }
}

impl Condition {
    /// Whether it holds; facts that made it hold are added to `facts`.
    pub(crate) fn holds(&self, view: &View<'_>, facts: &mut Vec<Fact>) -> bool {
        let fact = |source: &str, text: &str| Fact {
            source: source.to_owned(),
            row: None,
            text: text.to_owned(),
        };
        match self {
            Self::All(all) => {
                let mark = facts.len();
                let holds = all.iter().all(|condition| condition.holds(view, facts));
                if !holds {
                    facts.truncate(mark);
                }
                holds
            }
            Self::Any(any) => any.iter().any(|condition| condition.holds(view, facts)),
            Self::Not(inner) => !inner.holds(view, &mut Vec::new()),
            Self::Rows { region, test } => test.holds(*region, view, facts),
            Self::Title(pattern) => {
                let holds = pattern.is_match(&view.screen.title);
                if holds {
                    facts.push(fact("title", &view.screen.title));
                }
                holds
            }
            Self::Status(pattern) => {
                let Some(status) = &view.screen.status else {
                    return false;
                };
                let summary = status.summary();
                let holds = pattern.is_match(&summary);
                if holds {
                    facts.push(fact("status", &summary));
                }
                holds
            }
            Self::Progress(names) => {
                let Some(progress) = view.screen.progress else {
                    return false;
                };
                let holds = names.iter().any(|name| name == progress.name());
                if holds {
                    facts.push(fact("progress", progress.name()));
                }
                holds
            }
            Self::Alternate(wanted) => view.screen.alternate == *wanted,
            Self::CursorVisible(wanted) => view.screen.cursor.visible == *wanted,
            Self::CursorIn(region) => view
                .regions
                .rows(*region)
                .is_some_and(|rows| rows.contains(&view.screen.cursor.row)),
            Self::Paste(wanted) => {
                let holds = wanted.contains(&view.past.paste);
                if holds {
                    facts.push(fact("paste", view.past.paste.describe()));
                }
                holds
            }
            Self::Changed {
                region,
                within,
                tracker,
            } => {
                let last = view.changes.get(*tracker).copied().flatten();
                let holds = last.is_some_and(|last| view.at < last + *within);
                if holds {
                    facts.push(fact(view.name(*region), "is changing"));
                }
                holds
            }
            Self::Was(states) => states.contains(&view.past.state),
            Self::Dialog(wanted) => {
                if let Some(dialog) = view.dialog().filter(|_| *wanted) {
                    facts.push(Fact {
                        source: "dialog".to_owned(),
                        row: dialog.options.first().map(|option| option.row),
                        text: dialog.question.clone(),
                    });
                }
                view.dialog().is_some() == *wanted
            }
            Self::Tool(phase) => {
                let Some(tool) = view.tool().filter(|tool| tool.phase == *phase) else {
                    return false;
                };
                facts.push(Fact {
                    source: "tool".to_owned(),
                    row: Some(tool.row),
                    text: view.screen.rows[tool.row].text.clone(),
                });
                true
            }
            Self::Fingerprint { name, region, hash } => {
                let Some(rows) = view.regions.rows(*region) else {
                    return false;
                };
                let holds = Fingerprint::of(&view.screen.rows[rows]) == *hash;
                if holds {
                    facts.push(fact("fingerprint", name));
                }
                holds
            }
            Self::Sent { test, within } => {
                let last = view.past.keys.last(*test);
                last.is_some_and(|last| view.at < last + *within)
            }
            Self::Unanswered { after, within } => {
                let waiting = |sent: Duration| (sent + *after..sent + *within).contains(&view.at);
                let holds = view.past.keys.unanswered.is_some_and(waiting);
                if holds {
                    facts.push(fact("keys", "Enter was sent"));
                }
                holds
            }
        }
    }

    /// This condition and every one inside it.
    pub(crate) fn visit(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match self {
            Self::All(inner) | Self::Any(inner) => {
                inner.iter().for_each(|condition| condition.visit(visit));
            }
            Self::Not(inner) => inner.visit(visit),
            _ => {}
        }
    }

    /// The conditions that must all hold, for telling which one failed.
    pub(crate) fn parts(&self) -> &[Condition] {
        match self {
            Self::All(all) => all,
            other => std::slice::from_ref(other),
        }
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        let list = |conditions: &[Self]| {
            conditions
                .iter()
                .map(|c| c.describe(names))
                .collect::<Vec<_>>()
                .join("; ")
        };
        match self {
            Self::All(all) => format!("all of ({})", list(all)),
            Self::Any(any) => format!("any of ({})", list(any)),
            Self::Not(inner) => format!("not ({})", inner.describe(names)),
            Self::Rows { region, test } => test.describe(&names[region.0]),
            Self::Title(pattern) => format!("title matches `{pattern}`"),
            Self::Status(pattern) => format!("program status matches `{pattern}`"),
            Self::Progress(states) => format!("progress is {}", states.join(" or ")),
            Self::Alternate(wanted) => format!("alternate screen is {wanted}"),
            Self::CursorVisible(wanted) => format!("cursor visible is {wanted}"),
            Self::CursorIn(region) => format!("cursor is in {}", names[region.0]),
            Self::Paste(wanted) => {
                let wanted: Vec<_> = wanted.iter().map(|paste| paste.describe()).collect();
                wanted.join(" or ")
            }
            Self::Changed { region, within, .. } => {
                format!(
                    "{} changed within {} ms",
                    names[region.0],
                    within.as_millis()
                )
            }
            Self::Was(states) => {
                let states: Vec<_> = states.iter().map(|state| state.as_str()).collect();
                format!("the state before was {}", states.join(" or "))
            }
            Self::Dialog(wanted) => format!("a dialog with options is shown: {wanted}"),
            Self::Tool(phase) => format!("the latest tool line is {phase:?}").to_lowercase(),
            Self::Fingerprint { name, region, .. } => {
                format!("{} has the fingerprint {name}", names[region.0])
            }
            Self::Sent { test, within } => {
                format!("a key ({test:?}) was sent within {} ms", within.as_millis()).to_lowercase()
            }
            Self::Unanswered { after, within } => format!(
                "a text sent {} to {} ms ago has not been answered",
                after.as_millis(),
                within.as_millis()
            ),
        }
    }
}

impl RowTest {
    fn holds(&self, region: RegionId, view: &View<'_>, facts: &mut Vec<Fact>) -> bool {
        let Some(rows) = view.regions.rows(region) else {
            return false;
        };
        let all = &view.screen.rows;
        let used = |row: &usize| !all[*row].is_blank();
        let matches = |pattern: &Regex, row: usize| pattern.is_match(&all[row].text);
        let matching = match self {
            Self::Exists => Some(rows.start),
            Self::Has(pattern, style) => rows.into_iter().find(|&row| {
                matches(pattern, row) && style.is_none_or(|style| all[row].has(style))
            }),
            Self::First(pattern) => rows
                .into_iter()
                .find(used)
                .filter(|&row| matches(pattern, row)),
            Self::Last(pattern) => rows
                .into_iter()
                .rev()
                .find(used)
                .filter(|&row| matches(pattern, row)),
            Self::Says(pattern) => {
                let start = rows.start;
                let text = view.words(region, rows);
                let Some(found) = pattern.find(text) else {
                    return false;
                };
                let source = view.name(region).to_owned();
                facts.push(Fact {
                    source,
                    row: Some(start),
                    text: found.as_str().to_owned(),
                });
                return true;
            }
        };
        let Some(row) = matching else { return false };
        facts.push(Fact {
            source: view.name(region).to_owned(),
            row: Some(row),
            text: all[row].text.trim().to_owned(),
        });
        true
    }

    fn describe(&self, region: &str) -> String {
        match self {
            Self::Exists => format!("{region} is on the screen"),
            Self::Has(pattern, _) => format!("a row of {region} matches `{pattern}`"),
            Self::First(pattern) => format!("the first row of {region} matches `{pattern}`"),
            Self::Last(pattern) => format!("the last row of {region} matches `{pattern}`"),
            Self::Says(pattern) => format!("the text of {region} matches `{pattern}`"),
        }
    }
}
