//! `mission status --watch`: the overview on a whole terminal, kept up to date.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use missiond_api::operations::NoParams;
use missiond_api::operations::access::WebLogin;
use missiond_api::operations::attention::{QuestionAnswer, QuestionAnswerParams};
use missiond_api::operations::overview::{
    Overview, OverviewLine, OverviewParams, OverviewReport, OverviewSeen, OverviewSeenParams,
};
use missiond_api::{Client, ClientError};
use missiond_core::{ErrorCode, QuestionRef, Text, Timestamp};

use super::keys::{Key, key};
use super::screen::{self, Mode, View};
use super::selection::Selection;
use crate::commands::live::{self, Input, Lent, LiveTerminal};
use crate::commands::web::open_in_browser;
use crate::connect::Reach;
use crate::failure::Failure;
use crate::output::Output;
use crate::term::{Paint, printable};

/// What an agent writes is no event; while one works it is looked at so often.
const WHILE_WORKING: Duration = Duration::from_secs(2);
const WHILE_QUIET: Duration = Duration::from_secs(30);

enum End {
    Quit,
    Left,
    Live(live::End),
}

pub(super) fn watch(reach: &Reach, output: &mut Output) -> Result<ExitCode, Failure> {
    if !live::fits(output) {
        let message = "`--watch` fills a terminal, and this is none";
        return Err(Failure::new(ErrorCode::InvalidParams, message)
            .hint("`mission status` prints it once, `mission timeline tail` prints what happens"));
    }
    let client = reach.running()?;
    let mut watch = Watch {
        reach,
        paint: output.paint,
        client: Some(client),
        overview: None,
        trouble: String::new(),
        read_at: Instant::now(),
        selection: Selection::default(),
        mode: Mode::List,
        live: LiveTerminal::acquire()?,
    };
    let end = watch.run();
    watch.live.release();
    Ok(match end? {
        End::Quit => {
            watch.mark_seen();
            ExitCode::SUCCESS
        }
        End::Left => ExitCode::SUCCESS,
        End::Live(end) => end.into(),
    })
}

struct Watch<'a> {
    reach: &'a Reach,
    paint: Paint,
    /// None while there is no daemon.
    client: Option<Client>,
    overview: Option<OverviewReport>,
    /// Why there is none.
    trouble: String,
    /// When it was read.
    read_at: Instant,
    selection: Selection,
    mode: Mode,
    live: LiveTerminal,
}

impl Watch<'_> {
    fn run(&mut self) -> Result<End, Failure> {
        loop {
            if self.live.is_due() {
                self.read();
            }
            self.draw()?;
            for input in self.live.wait()? {
                let end = match input {
                    Input::Key(piece) => match key(&piece) {
                        Some(key) => self.handle_key(key)?,
                        None => None,
                    },
                    Input::End(end) => Some(End::Live(end)),
                };
                if let Some(end) = end {
                    return Ok(end);
                }
            }
        }
    }

    fn handle_key(&mut self, key: Key) -> Result<Option<End>, Failure> {
        if self.mode == Mode::Help && key != Key::Leave {
            self.mode = Mode::List;
            return Ok(None);
        }
        match key {
            Key::Quit => return Ok(Some(End::Quit)),
            Key::Leave => return Ok(Some(End::Left)),
            Key::Up => self.select(Selection::up),
            Key::Down => self.select(Selection::down),
            Key::First => self.select(|selection, lines| selection.select(lines, 0)),
            Key::Last => self.select(|selection, lines| selection.select(lines, usize::MAX)),
            Key::Help => self.mode = Mode::Help,
            Key::Details if self.mode == Mode::Details => self.mode = Mode::List,
            Key::Details => self.mode = Mode::Details,
            Key::Escape => self.mode = Mode::List,
            Key::Option(number) => self.answer(number),
            Key::Open => return self.open_terminal(),
            Key::Page => self.open_page(),
        }
        Ok(None)
    }

    /// Asks the daemon; without one, looks for it.
    fn read(&mut self) {
        let read = self.ask();
        self.read_at = Instant::now();
        match read {
            Ok(overview) => {
                let pause = if overview.working.is_empty() && overview.idle.is_empty() {
                    WHILE_QUIET
                } else {
                    WHILE_WORKING
                };
                self.live.was_read(pause);
                self.overview = Some(overview);
                self.select(Selection::follow);
                // That somebody asked is told too, and is not stored: to read again
                // because of what was read would never end.
                self.live.subscribe(self.reach, |event| event.seq.is_some());
            }
            Err(error) => {
                self.client = None;
                self.overview = None;
                self.live.was_not_read();
                self.trouble = said_of(&error);
            }
        }
    }

    fn ask(&mut self) -> Result<OverviewReport, ClientError> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(self.reach.running()?),
        };
        client.call::<Overview>(&OverviewParams::default())
    }

    fn lines(&self) -> Vec<&OverviewLine> {
        let overview = self.overview.as_ref();
        overview.map_or_else(Vec::new, |overview| screen::all(overview).collect())
    }

    fn current(&self) -> Option<&OverviewLine> {
        self.lines().get(self.selection.row()?).copied()
    }

    fn select(&mut self, change: impl FnOnce(&mut Selection, &[&OverviewLine])) {
        let mut selection = std::mem::take(&mut self.selection);
        change(&mut selection, &self.lines());
        self.selection = selection;
    }

    fn answer(&mut self, number: usize) {
        let Some(line) = self.current() else {
            self.say("Nothing is selected; j and k select.");
            return;
        };
        let Some(question) = line.question.clone() else {
            self.say("Nothing is asked there.");
            return;
        };
        let Some(option) = question.options.get(number - 1).cloned() else {
            let said = match question.options.len() {
                0 => format!("{} wants words: mission answer {0} \"…\"", question.number),
                n => format!("{} has the answers 1 to {n}.", question.number),
            };
            self.say(&said);
            return;
        };
        self.say(&format!("Answering {}: {option}", question.number));
        self.live.ask(&self.reach.home, move |client| {
            let answer = Text::new(number.to_string()).map_err(|error| error.to_string())?;
            let params = QuestionAnswerParams {
                question: QuestionRef::Number(question.number),
                answer,
                by: None,
                grant: None,
            };
            let result = client.call::<QuestionAnswer>(&params);
            let result = result.map_err(|error| error.to_string())?;
            let answered = format!("{} is answered: {option}", question.number);
            let held = result.held().map(|held| format!(". {held}"));
            Ok(answered + &held.unwrap_or_default())
        });
    }

    /// Gives the terminal to `mission slot attach` until that is left.
    fn open_terminal(&mut self) -> Result<Option<End>, Failure> {
        let slot = self.current().and_then(|line| line.slot.clone());
        let Some(slot) = slot else {
            self.say("It has no terminal at the moment.");
            return Ok(None);
        };
        let mut attach = Command::new(missiond_os::programs::own_program()?);
        match self.live.lend(attach.args(["slot", "attach", &slot]))? {
            Lent::Left { well: true } => {}
            Lent::Left { well: false } => {
                self.say(&format!("The terminal of {slot} could not be opened."));
            }
            Lent::NotStarted(error) => {
                self.say(&format!("The terminal of {slot} was not opened: {error}"));
            }
            Lent::End(end) => return Ok(Some(End::Live(end))),
        }
        Ok(None)
    }

    fn open_page(&mut self) {
        let Some(client) = &mut self.client else {
            return;
        };
        let opened = match client.call::<WebLogin>(&NoParams {}) {
            Ok(login) => {
                open_in_browser(&self.reach.home, &login.link).map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        self.say(&match opened {
            Ok(()) => "The board opens in your browser.".to_owned(),
            Err(why) => format!("No browser was opened ({why}): `mission open --print`"),
        });
    }

    fn mark_seen(&mut self) {
        let Some(until) = self.overview.as_ref().map(|overview| overview.at) else {
            return;
        };
        if let Some(client) = &mut self.client {
            // It is seen again next time when this does not arrive.
            let _ = client.call::<OverviewSeen>(&OverviewSeenParams { until });
        }
    }

    fn say(&mut self, sentence: &str) {
        self.live.say(sentence);
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let now = self.overview.as_ref().map_or_else(
            || Timestamp::from_micros(0),
            |overview| overview.at.plus(self.read_at.elapsed()),
        );
        let notice = self.live.notice();
        let view = View {
            overview: self.overview.as_ref(),
            trouble: &self.trouble,
            now,
            selected: self.selection.row(),
            mode: self.mode,
            notice: notice.as_deref(),
        };
        let picture = screen::draw(&view, self.live.size(), self.paint);
        self.live.draw(picture)
    }
}

/// Why there is no overview, on one line.
fn said_of(error: &ClientError) -> String {
    match error {
        ClientError::NotRunning { .. } => "The daemon is not running; waiting for it.".to_owned(),
        error => {
            let sentence = format!("Nothing can be shown: {error}; trying again.");
            printable(&missiond_core::one_line(&sentence))
        }
    }
}
